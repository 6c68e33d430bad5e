import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../../src/store/open.ts";
import { VERIFY_PARTS } from "../../../../src/store/port.ts";
import type { Plan } from "../../../../src/store/sql/sql.ts";
import { verify } from "../../../../src/store/sql/verify.ts";
import { openDatabase } from "../../../../src/store/sqlite/open-database.ts";
import { findingsIn } from "../../../../src/store/whole-reads.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";
import { folderWith } from "../../../support/tree.ts";
import { checkpointOf, contextOf, pagesOf, recordOf, sessionOf } from "../sample.ts";

const TABLES = ["sessions", "checkpoints", "contexts", "cache", "runs", "jobs", "batch_requests", "provider_batches"];

test("a row that has gone between the look for its key and the look at it is no finding", async () => {
  const folder = join(folderWith(), "store");
  const store = await openStore(folder);
  await store.putContext(contextOf("a"));
  await store.keepText("a".repeat(64), "text", 1);
  await store.create(sessionOf("S1"));
  await store.commit("S1", {
    checkpoint: checkpointOf("C1", { pages: pagesOf([1], 1) }),
    records: [recordOf("E1", 1)],
  });
  const limits = { nanodollars: null, tokens: null, sub_calls: null };
  await store.jobs.open({ id: "R1", name: "r", queue: "q", share: 1, spec: {}, hash: "h", limits });
  await store.jobs.add("R1", [{ id: "one", session: "J1", input: "1", context: null }]);
  const request = { session: "J1", call: "c", root: "J1", run: null, account: "a", model: "m", body: 1, proof: "" };
  for (const k of [0, 1]) await store.batches.keep({ ...request, k });
  await store.batches.lease("a");
  await store.batches.close(request, 0, { requests: 1, bytes: 9 });
  await store[Symbol.asyncDispose]();

  const database = openDatabase(folder);
  const own = { texts: null, busy: () => false, messageOf: String };
  // Rows that change between the two looks are still found.
  for (const { by, finds } of [
    { by: "UPDATE TABLE SET", finds: 1 },
    { by: "DELETE FROM TABLE", finds: 0 },
  ]) {
    for (const part of VERIFY_PARTS) {
      const found: string[] = [];
      const change = () => {
        for (const table of TABLES) database.exec(by.replace("TABLE", table).replace(/SET$/, `SET ${DAMAGED[table]}`));
      };
      database.exec("BEGIN");
      await database.perform(between(verify(part, null, own, found), change));
      database.exec("ROLLBACK");
      const paged = !["file", "texts", "run answers", "sums", "strays"].includes(part);
      if (paged) expect([part, found.length > 0 ? 1 : 0]).toEqual([part, finds]);
    }
  }
  await database.close();
});

const DAMAGED: Readonly<Record<string, string>> = {
  sessions: "facts = '{}'",
  checkpoints: "meta = '{}'",
  contexts: "facts = '{}'",
  cache: "at = 2",
  runs: "spec = '{'",
  jobs: "input = '2'",
  batch_requests: "model = 'n'",
  provider_batches: "batch = 'b'",
};

/** The plan, with something that is done after its first answer. */
function* between<T>(plan: Plan<T>, meanwhile: () => void): Plan<T> {
  let step = plan.next();
  for (let isFirst = true; !step.done; isFirst = false) {
    const answer = yield step.value;
    if (isFirst) meanwhile();
    step = plan.next(answer);
  }
  return step.value;
}

test.skipIf(NO_POSTGRES)(
  "verify finds nothing on a server whose sessions are written, forked and removed",
  async () => {
    const url = await freshStoreUrl();
    await using writer = await openStore(url);
    await using reader = await openStore(url);
    const writing = { isOver: false };
    const write = async () => {
      for (let n = 0; n < 6; n++) {
        await writer.create(sessionOf(`S${n}`));
        for (let at = 0; at < 5; at++) {
          const checkpoint = checkpointOf(`C${n}-${at}`, { pages: pagesOf([at], n), kind: "end" });
          const drop = at > 1 ? [`C${n}-${at - 2}`] : [];
          await writer.commit(`S${n}`, { checkpoint, records: [recordOf("E1", at)], drop });
        }
        await writer.fork(`S${n}`, null, sessionOf(`F${n}`));
        await writer.remove(`S${n}`);
        await writer.remove(`F${n}`);
      }
    };
    const written = write().finally(() => {
      writing.isOver = true;
    });
    const found: string[] = [];
    while (!writing.isOver) found.push(...(await findingsIn(reader)));
    await written;
    expect(found).toEqual([]);
  },
  60_000,
);
