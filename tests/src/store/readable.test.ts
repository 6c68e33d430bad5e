import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openStore } from "../../../src/store/index.ts";
import { folderWith } from "../../support/tree.ts";
import { checkpointOf, pagesOf, recordOf, sessionOf } from "./sample.ts";

/** The folder of a store whose session S1 has eight records and three checkpoints, to which this SQL was done. */
async function damagedBy(sql: string): Promise<string> {
  const folder = join(folderWith(), "store");
  await using store = await openStore(folder);
  await store.create(sessionOf("S1"));
  for (const at of [1, 2, 3]) {
    const checkpoint = checkpointOf(`C${at}`, { pages: pagesOf([at], at) });
    await store.commit("S1", { records: [recordOf("E1", 2 * at), recordOf("E1", 2 * at + 1)], checkpoint });
  }
  await store.commit("S1", { records: [recordOf("E2", 8), recordOf("E2", 9)] });
  await store[Symbol.asyncDispose]();
  const database = new DatabaseSync(join(folder, "belay.db"));
  database.exec(sql);
  database.close();
  return folder;
}

test.each([
  ["", [1, 2, 3, 4, 5, 6, 7, 8], ["C1", "C2", "C3"], []],
  [
    "UPDATE journal SET content = replace(content, 'E1', 'E9') WHERE seq = 2",
    [1, 3, 4, 5, 6, 7, 8],
    ["C1", "C2", "C3"],
    ["record 2 of session S1 is missing or damaged"],
  ],
  [
    "DELETE FROM journal WHERE seq IN (1, 4, 5, 8); UPDATE journal SET kind = 'x' WHERE seq = 6",
    [2, 3, 7],
    ["C1", "C2", "C3"],
    [
      "record 1 of session S1 is missing or damaged",
      "records 4 to 6 of session S1 are missing or damaged",
      "record 8 of session S1 is missing or damaged",
    ],
  ],
  [
    "UPDATE journal SET seq = 90 WHERE seq = 8",
    [1, 2, 3, 4, 5, 6, 7],
    ["C1", "C2", "C3"],
    ["record 8 of session S1 is missing or damaged", "session S1 has 1 records behind its last one"],
  ],
  [
    "UPDATE checkpoints SET at = 99 WHERE id = 'C2'",
    [1, 2, 3, 4, 5, 6, 7, 8],
    ["C1", "C3"],
    ["checkpoint C2 is damaged"],
  ],
  [
    "DELETE FROM checkpoints WHERE id = 'C2'",
    [1, 2, 3, 4, 5, 6, 7, 8],
    ["C1", "C3"],
    ["session S1 has 2 checkpoints, not 3"],
  ],
])("after %j what is whole is read, and the rest is named", async (sql, seqs, ids, damaged) => {
  await using store = await openStore(await damagedBy(sql));
  const found = await store.readable("S1");
  expect(found.records.map(({ seq }) => seq)).toEqual(seqs);
  expect(found.checkpoints.map(({ id }) => id)).toEqual(ids);
  expect(found.damaged).toEqual(damaged);
  const [first] = damaged;
  const whole = Promise.all([store.journal("S1"), store.checkpoints("S1")]);
  if (first === undefined) await expect(whole).resolves.toEqual([found.records, found.checkpoints]);
  else
    await expect(whole).rejects.toMatchObject({
      message: expect.stringContaining(first.includes("C2") ? "C2" : first),
    });
});
