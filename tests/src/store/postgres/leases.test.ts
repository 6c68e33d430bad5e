import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../../../src/store/open.ts";
import type { Store } from "../../../../src/store/port.ts";
import { findingsIn } from "../../../../src/store/whole-reads.ts";
import { startCluster } from "../../../support/postgres/cluster.ts";
import { startProxy } from "../../../support/postgres/proxy.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";
import { askServer, openSql } from "../../../support/postgres/sql.ts";
import { checkpointOf, pagesOf, recordOf, sessionOf } from "../sample.ts";

const LEASE_MS = 1000;

const seqs = async (store: Store, id: string) => (await store.journal(id)).map(({ record }) => record.exec_id);
const lapse = (url: string) => askServer(url, "UPDATE leases SET until = clock_timestamp() - interval '1 s'");
const aborted = (signal: AbortSignal) =>
  signal.aborted || new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));

describe.skipIf(NO_POSTGRES !== null)("leases on a server", () => {
  const before = process.env.BELAY_LEASE_MS;
  beforeAll(() => {
    process.env.BELAY_LEASE_MS = String(LEASE_MS);
  });
  afterAll(() => {
    process.env.BELAY_LEASE_MS = before ?? "";
  });

  test("of stores that race for a session one gets it, and the others are told who has it", async () => {
    const url = await freshStoreUrl();
    const stores = await Promise.all(Array.from({ length: 5 }, () => openStore(url)));
    const [first] = stores;
    await first?.create(sessionOf("S1"));
    await first?.release("S1");
    const takes = await Promise.allSettled(stores.map((store) => store.lease("S1")));
    const lost = takes.filter((take) => take.status === "rejected").map(({ reason }) => reason);
    expect(takes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(lost).toHaveLength(4);
    for (const reason of lost) {
      expect(reason).toMatchObject({
        code: "session_busy",
        message: expect.stringMatching(
          /^session S1 is held by process \d+ on .+; its lease ends in [01] s unless it renews it$/,
        ),
      });
    }
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  });

  test("a holder that was replaced is refused and told; the journal has the new holder's records alone", async () => {
    const url = await freshStoreUrl();
    await using old = await openStore(url);
    await using next = await openStore(url);
    const lease = await old.create(sessionOf("S1"));
    await old.commit("S1", { records: [recordOf("E1", 1)] });
    await askServer(url, "DELETE FROM leases");
    const taken = await next.lease("S1");
    expect(taken.fence).toBe(lease.fence + 1);
    await next.commit("S1", { records: [recordOf("E2", 2)] });
    const late = checkpointOf("C1", { pages: pagesOf([0], 1) });
    await expect(old.commit("S1", { records: [recordOf("E3", 3)], checkpoint: late })).rejects.toMatchObject({
      code: "lease_lost",
    });
    await aborted(lease.lost);
    expect(lease.lost.reason).toMatchObject({ code: "lease_lost" });
    expect(await seqs(next, "S1")).toEqual(["E1", "E2"]);
    expect(await next.checkpoints("S1")).toEqual([]);
    expect(await findingsIn(next)).toEqual([]);
  });

  test("a holder past its deadline whom nobody replaced still commits", async () => {
    const url = await freshStoreUrl();
    await using store = await openStore(url);
    await store.create(sessionOf("S1"));
    await lapse(url);
    await store.commit("S1", { records: [recordOf("E1", 1)] });
    expect(await seqs(store, "S1")).toEqual(["E1"]);
  });

  test("a beat that misses a session tells the holder; a holder without a server is told by its own clock", async () => {
    const url = await freshStoreUrl();
    await using proxy = await startProxy(url);
    await using store = await openStore(proxy.url);
    const missed = await store.create(sessionOf("S1"));
    const cut = await store.create(sessionOf("S2"));
    await askServer(url, "DELETE FROM leases WHERE session = 'S1'");
    await aborted(missed.lost);
    expect(cut.lost.aborted).toBe(false);
    // A beat may take any of the store's connections.
    proxy.open = false;
    await aborted(cut.lost);
    expect(cut.lost.reason).toMatchObject({ code: "lease_lost" });
    proxy.open = true;
  });

  test("a lease that is lost before its taker has it is refused", async () => {
    const url = await freshStoreUrl();
    await using store = await openStore(url);
    await store.create(sessionOf("S1"));
    await store.create(sessionOf("S2"));
    await store.release("S1");
    await using sql = await openSql(url);
    const until = async (id: string) =>
      (await sql.query(`SELECT until FROM STORE.leases WHERE session = '${id}'`))[0]?.until;
    await using lock = await openSql(url);
    await lock.query("BEGIN");
    // The lease is taken before it is looked up what the session can reach.
    await lock.query("LOCK TABLE STORE.reach IN ACCESS EXCLUSIVE MODE");
    const taking = expect(store.lease("S1")).rejects.toMatchObject({ code: "lease_lost" });
    while ((await until("S1")) === undefined);
    await sql.query("DELETE FROM STORE.leases WHERE session = 'S1'");
    // A beat that began after that has learnt it.
    for (let beats = 0, last = await until("S2"); beats < 2; ) {
      const now = await until("S2");
      if (String(now) !== String(last)) beats++;
      last = now;
    }
    await lock.query("ROLLBACK");
    await taking;
    expect((await store.lease("S1")).lost.aborted).toBe(false);
  });

  test("a lease whose release failed is not kept alive", async () => {
    const url = await freshStoreUrl();
    await using proxy = await startProxy(url);
    await using store = await openStore(proxy.url);
    await using next = await openStore(url);
    await store.create(sessionOf("S1"));
    const kept = await store.create(sessionOf("S2"));
    proxy.cutAt("DELETE FROM leases", "before");
    await expect(store.release("S1")).rejects.toMatchObject({ code: "store_failed" });
    const until = performance.now() + 20 * LEASE_MS;
    let taken = await next.lease("S1").catch(() => null);
    while (!taken && performance.now() < until) taken = await next.lease("S1").catch(() => null);
    expect(taken?.id).toBe("S1");
    expect(kept.lost.aborted).toBe(false);
    await expect(next.lease("S2")).rejects.toMatchObject({ code: "session_busy" });
  });

  test.for(["before", "after"] as const)(
    "a commit whose connection is cut %s it arrived is kept once",
    async (when) => {
      const url = await freshStoreUrl();
      await using proxy = await startProxy(url);
      await using store = await openStore(proxy.url);
      await store.create(sessionOf("S1"));
      proxy.cutAt("commit_step", when);
      await store.commit("S1", {
        records: [recordOf("E1", 1)],
        checkpoint: checkpointOf("C1", { pages: pagesOf([0], 1) }),
      });
      await store.commit("S1", { records: [recordOf("E2", 2)] });
      expect(await seqs(store, "S1")).toEqual(["E1", "E2"]);
      expect(await store.checkpoints("S1")).toHaveLength(1);
      expect(await findingsIn(store)).toEqual([]);
    },
  );

  test("a commit of a checkpoint alone, whose answer was cut off, is kept once", async () => {
    const url = await freshStoreUrl();
    await using proxy = await startProxy(url);
    await using store = await openStore(proxy.url);
    await store.create(sessionOf("S1"));
    proxy.cutAt("commit_step", "after");
    await store.commit("S1", { checkpoint: checkpointOf("C1", { pages: pagesOf([0], 1) }) });
    await store.commit("S1", { records: [recordOf("E1", 1)] });
    expect((await store.checkpoints("S1")).map(({ id }) => id)).toEqual(["C1"]);
    expect(await findingsIn(store)).toEqual([]);
  });

  test("a commit in the middle of a restart is kept, and the store goes on", async () => {
    await using cluster = await startCluster({ settings: ["fsync=on"] });
    await using store = await openStore(cluster.url);
    await store.create(sessionOf("S1"));
    await store.commit("S1", { records: [recordOf("E1", 1)] });
    await cluster.stop("immediate");
    const committing = store.commit("S1", { records: [recordOf("E2", 2)] });
    await cluster.start();
    await committing;
    expect(await seqs(store, "S1")).toEqual(["E1", "E2"]);
    expect(await findingsIn(store)).toEqual([]);
  });
});

test.skipIf(NO_POSTGRES)("a commit is one round trip, whatever is in it", async () => {
  await using proxy = await startProxy(await freshStoreUrl());
  await using store = await openStore(proxy.url);
  await store.create(sessionOf("S1"));
  const records = [recordOf("E1", 1), recordOf("E1", 2)];
  const before = proxy.trips;
  await store.commit("S1", { records: [recordOf("E1", 0)] });
  await store.commit("S1", { records, checkpoint: checkpointOf("C1", { pages: pagesOf([0, 1], 1) }), facts: { a: 1 } });
  const next = checkpointOf("C2", { pages: pagesOf([2], 1) });
  await store.commit("S1", { checkpoint: next, drop: ["C1"], cache: [{ key: "k", value: 1, at: 5 }] });
  expect(proxy.trips - before).toBe(3);
});

describe.skipIf(NO_POSTGRES !== null)("a server that cannot be used", () => {
  test("a store of a later version, and a schema of another program, are left as they are", async () => {
    const url = await freshStoreUrl();
    await (await openStore(url))[Symbol.asyncDispose]();
    await askServer(url, "UPDATE meta SET version = 99");
    await expect(openStore(url)).rejects.toMatchObject({
      code: "store_too_new",
      message: expect.stringContaining("is of version 99; this build reads versions up to "),
    });
    const foreign = await freshStoreUrl();
    const schema = new URL(foreign).searchParams.get("schema");
    await askServer(foreign, `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.mine (a int)`);
    await expect(openStore(foreign)).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining(`the schema ${schema} on `),
    });
    const tables = `SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`;
    expect(await askServer(foreign, tables)).toEqual([{ tablename: "mine" }]);
  });

  test("what is wrong with a URL or a server is told without the password", async () => {
    const refused = async (url: string) => openStore(url).catch((error: Error) => `${error.message} ${error.stack}`);
    const there = new URL(await freshStoreUrl());
    there.password = "s3cret";
    there.pathname = "/nowhere";
    const told = [
      await refused("postgres://me:s3cret@127.0.0.1:1/db"),
      await refused("postgres://me:s3cret@127.0.0.1/db?schema=A-B"),
      await refused(there.href),
    ];
    expect(told[0]).toContain("the store on postgres://me:***@127.0.0.1:1/db: connect ECONNREFUSED");
    expect(told[1]).toContain('"A-B" is not a name of a schema');
    expect(told[2]).toContain("nowhere");
    expect(told.join()).not.toContain("s3cret");
  });
});
