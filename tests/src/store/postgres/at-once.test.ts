import { describe, expect, test } from "vitest";
import { openStore } from "../../../../src/store/open.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";
import { openSql } from "../../../support/postgres/sql.ts";
import { checkpointOf, pagesOf, recordOf, sessionOf } from "../sample.ts";

/** A transaction of another process, which ends when the test says so. */
async function openTransaction(url: string) {
  const sql = await openSql(url);
  await sql.query("BEGIN");
  return {
    run: sql.query,
    /** Resolves when the work is over, or waits for this transaction. */
    async until(work: Promise<unknown>): Promise<void> {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      work.then(over, over);
      const waits = "SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))";
      while (!isOver && (await sql.query(waits)).length === 0);
    },
    async commit() {
      await sql.query("COMMIT");
      await sql[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(NO_POSTGRES !== null)("several processes at once on a server", () => {
  test("a fork waits for a commit of its parent, and shares no checkpoint that it drops", async () => {
    const url = await freshStoreUrl();
    await using store = await openStore(url);
    await store.create(sessionOf("S1"));
    const end = (id: string) => checkpointOf(id, { pages: pagesOf([0], 1), kind: "end" });
    await store.commit("S1", { checkpoint: end("C1"), records: [recordOf("E1", 1)] });
    await store.commit("S1", { checkpoint: end("C2"), records: [recordOf("E2", 2)] });
    const other = await openTransaction(url);
    await other.run("UPDATE sessions SET fence = fence WHERE id = 'S1'");
    await other.run("DELETE FROM reach USING checkpoints c WHERE c.n = checkpoint AND c.id = 'C1'");
    await other.run("SELECT drop_unneeded('C1')");
    const forking = store.fork("S1", "C1", sessionOf("S2"));
    const refused = expect(forking).rejects.toBeDefined();
    await other.until(forking);
    await other.commit();
    await refused;
    expect(await store.find("S2")).toBeNull();
  });

  test("gc leaves a session that somebody takes meanwhile", async () => {
    const url = await freshStoreUrl();
    await using store = await openStore(url);
    await store.create(sessionOf("S1"));
    await store.commit("S1", { records: [recordOf("E1", 1)] });
    await store.release("S1");
    const other = await openTransaction(url);
    await other.run("INSERT INTO leases VALUES ('S1', 'another', clock_timestamp() + interval '1 h')");
    await other.run("UPDATE sessions SET fence = fence + 1 WHERE id = 'S1'");
    const collecting = store.gc({ now: 1e6, anonymousMs: 1, namedMs: null, pi: false, dryRun: false });
    await other.until(collecting);
    await other.commit();
    expect((await collecting).sessions).toEqual([]);
    expect(await store.find("S1")).toMatchObject({ busy: true, last_seq: 1 });
    expect(await store.journal("S1")).toHaveLength(1);
  });
});
