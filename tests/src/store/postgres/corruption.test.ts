import { expect, test } from "vitest";
import { corruptServer } from "../../../../campaigns/corrupt/server.ts";
import { changed } from "../../../../campaigns/fuzz/surfaces/rows.ts";
import { openStore } from "../../../../src/store/open.ts";
import type { Store } from "../../../../src/store/port.ts";
import { findingsIn } from "../../../../src/store/whole-reads.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../../support/postgres/server.ts";
import { openSql } from "../../../support/postgres/sql.ts";
import { checkpointOf, contextOf, META, pagesOf, recordOf, sessionOf } from "../sample.ts";

const CONTEXT = contextOf("some text");
const FLIP = (column: string) => `${column} = set_byte(${column}, 0, get_byte(${column}, 0) # 1)`;

interface Damage {
  readonly of: string;
  readonly sql: string;
  readonly code: string;
  read(store: Store): Promise<unknown>;
}

const journal = (store: Store) => store.journal("S1");
const find = (store: Store) => store.find("S1");
const checkpoint = (store: Store) => store.checkpoint("C2");
const image = (store: Store) => store.image("C2");
const context = (store: Store) => store.context(CONTEXT.key);

const DAMAGES: readonly Damage[] = [
  { of: "a session's facts", sql: "UPDATE sessions SET facts = '{}'", code: "store_corrupt", read: find },
  { of: "a session's head", sql: "UPDATE sessions SET head = 'C1'", code: "store_corrupt", read: find },
  {
    of: "a record's text",
    sql: `UPDATE journal SET ${FLIP("content")} WHERE seq = 1`,
    code: "store_corrupt",
    read: journal,
  },
  { of: "a record's kind", sql: "UPDATE journal SET kind = 'x' WHERE seq = 2", code: "store_corrupt", read: journal },
  { of: "a record that is gone", sql: "DELETE FROM journal WHERE seq = 1", code: "store_corrupt", read: journal },
  { of: "the last record, gone", sql: "DELETE FROM journal WHERE seq = 2", code: "store_corrupt", read: journal },
  {
    of: "records that changed places",
    sql: "UPDATE journal SET seq = 3 - seq + 10; UPDATE journal SET seq = seq - 10",
    code: "store_corrupt",
    read: journal,
  },
  {
    of: "a checkpoint's meta",
    sql: `UPDATE checkpoints SET ${FLIP("meta")} WHERE id = 'C2'`,
    code: "checkpoint_lost",
    read: checkpoint,
  },
  {
    of: "a checkpoint's extras",
    sql: `UPDATE checkpoints SET ${FLIP("beside")} WHERE id = 'C2'`,
    code: "checkpoint_lost",
    read: checkpoint,
  },
  { of: "a base that is gone", sql: "DELETE FROM checkpoints WHERE id = 'B1'", code: "checkpoint_lost", read: image },
  { of: "pages", sql: `UPDATE pages SET ${FLIP("bytes")}`, code: "checkpoint_lost", read: image },
  { of: "numbers of pages", sql: `UPDATE pages SET ${FLIP("numbers")}`, code: "checkpoint_lost", read: image },
  { of: "pages that are gone", sql: "DELETE FROM pages", code: "checkpoint_lost", read: image },
  { of: "a context's index", sql: `UPDATE contexts SET ${FLIP("facts")}`, code: "context_lost", read: context },
  { of: "a part of a context", sql: `UPDATE chunks SET ${FLIP("bytes")}`, code: "context_lost", read: context },
  { of: "a part's length", sql: "UPDATE parts SET bytes = 1e15", code: "context_lost", read: context },
];

test.skipIf(NO_POSTGRES)(
  "rows that were changed on a server are refused by name, and verify tells of each",
  async () => {
    const url = await freshStoreUrl();
    await using store = await openStore(url);
    await store.putBaseline("B1", META, pagesOf([1], 1));
    await store.putContext(CONTEXT);
    await store.create(sessionOf("S1"));
    const records = [recordOf("E1", 1), recordOf("E2", 2)];
    await store.commit("S1", {
      checkpoint: checkpointOf("C2", { pages: pagesOf([2], 2), base: "B1", kind: "end" }),
      records,
      facts: { execs: 2 },
    });
    expect(await findingsIn(store)).toEqual([]);

    await using server = await openSql(url);
    const tables = ["sessions", "journal", "checkpoints", "pages", "contexts", "parts", "chunks"];
    for (const table of tables) await server.query(`CREATE TABLE kept_${table} AS TABLE ${table}`);
    for (const { of, sql, code, read } of DAMAGES) {
      await server.query(sql);
      await expect(read(store), of).rejects.toMatchObject({ code, message: expect.stringMatching(NAMED) });
      expect(await findingsIn(store), of).not.toEqual([]);
      for (const table of tables) {
        await server.query(`DELETE FROM ${table}; INSERT INTO ${table} OVERRIDING SYSTEM VALUE TABLE kept_${table}`);
      }
    }
    expect(await findingsIn(store)).toEqual([]);
  },
);

test.skipIf(NO_POSTGRES)("values that were changed by chance on a server are refused or do no harm", async () => {
  const tally = await corruptServer({ url: await freshStoreUrl(), flips: 30, seed: 7, change: changed });
  expect(tally.refused).toBeGreaterThan(tally.damages / 4);
  expect(tally.lines).toHaveLength(1);
  expect({ wrong: tally.wrong, crashed: tally.crashed }).toEqual({ wrong: 0, crashed: 0 });
});

/** What each message names. */
const NAMED = new RegExp(`S1|C2|${CONTEXT.key}`);
