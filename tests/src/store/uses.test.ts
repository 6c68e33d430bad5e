import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { openStore } from "../../../src/store/open.ts";
import type { GcRule, Store } from "../../../src/store/port.ts";
import { gc } from "../../../src/store/sqlite/gc.ts";
import { openLeases } from "../../../src/store/sqlite/leases.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { openOwnTexts } from "../../../src/store/sqlite/texts.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { EDITED, type EditedKind } from "./edited.ts";
import { checkpointOf, contextOf, pagesOf, recordOf, sessionOf } from "./sample.ts";

const [A, B, C] = [contextOf("a"), contextOf("b"), contextOf("c")];
const ALL: GcRule = { now: 1000, anonymousMs: 1e9, namedMs: null, pi: false, dryRun: false };

/** S1 has loaded A, then B; S2 is its fork before B. Nobody uses C. */
async function sample(store: Store): Promise<void> {
  for (const context of [A, B, C]) await store.putContext(context);
  await store.create(sessionOf("S1"));
  for (const [at, { key: hash }] of [A, B].entries()) {
    await store.commit("S1", {
      checkpoint: checkpointOf(`K${at}`, { pages: pagesOf([at], 1), kind: "end" }),
      records: [recordOf("E1", at, { context_key: hash })],
    });
  }
  await store.fork("S1", "K0", sessionOf("S2"));
  await store.release("S1");
}

const there = (store: Store) => Promise.all([A, B, C].map(({ key }) => store.hasContext(key)));
const usesIn = async (of: EditedKind, place: string) =>
  (await of.change(place, "SELECT session, hash FROM STORE.uses ORDER BY session, hash")).map((row) => ({ ...row }));
const use = (session: string, { key }: { readonly key: string }) => ({ session, hash: key });

test.for(EDITED)("$kind: gc keeps the contexts that sessions use, and reads no texts for it", async (of, { skip }) => {
  skip(of.skipped !== null, of.skipped ?? "");
  const place = await of.place();
  await using store = await openStore(place);
  await sample(store);
  const uses = [use("S1", A), use("S1", B), use("S2", A)].toSorted((a, b) =>
    `${a.session}${a.hash}` < `${b.session}${b.hash}` ? -1 : 1,
  );
  expect(await usesIn(of, place)).toEqual(uses);
  expect(await findingsIn(store)).toEqual([]);

  await of.change(place, "CREATE TABLE STORE.kept AS SELECT * FROM STORE.journal");
  await of.change(place, "DELETE FROM STORE.journal");
  expect(await store.gc({ ...ALL, dryRun: true })).toMatchObject({ contexts: 1 });
  expect(await store.gc(ALL)).toMatchObject({ contexts: 1 });
  expect(await there(store)).toEqual([true, true, false]);
  await of.change(place, "INSERT INTO STORE.journal SELECT * FROM STORE.kept");

  await of.change(place, "DELETE FROM STORE.uses WHERE session = 'S2'");
  expect(await findingsIn(store)).toEqual([expect.stringContaining(`session S2: its journal names contexts`)]);
  // The next commit that names it mends this.
  await store.lease("S2");
  await store.commit("S2", { records: [recordOf("E2", 3, { context_key: A.key })] });
  await store.release("S2");
  expect(await findingsIn(store)).toEqual([]);

  await store.remove("S1");
  expect([await store.gc(ALL), await there(store)]).toMatchObject([{ contexts: 1 }, [true, false, false]]);
  await store.remove("S2");
  expect([await store.gc(ALL), await there(store)]).toMatchObject([{ contexts: 1 }, [false, false, false]]);
  expect(await usesIn(of, place)).toEqual([]);
});

test.for(EDITED)(
  "$kind: a store of a build before 0.1.0 is refused by name, and stays as it is",
  async (of, { skip }) => {
    skip(of.skipped !== null, of.skipped ?? "");
    const place = await of.place();
    await (await openStore(place))[Symbol.asyncDispose]();
    const isFile = of.kind === "in a folder";
    await of.change(place, isFile ? "PRAGMA user_version = 9" : "UPDATE STORE.meta SET version = 6");
    await expect(openStore(place)).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("was made by a build before 0.1.0"),
      suggestion: expect.stringMatching(isFile ? /^Move the file away/ : /^Name another schema/),
    });
    const version = isFile
      ? "SELECT user_version AS version FROM pragma_user_version"
      : "SELECT version FROM STORE.meta";
    expect(await of.change(place, version)).toMatchObject([{ version: isFile ? 9 : 6 }]);
  },
);

test("gc asks a file for no text of journals or checkpoints", async () => {
  const database = openDatabase(null);
  const prepared = vi.spyOn(DatabaseSync.prototype, "prepare");
  using leases = openLeases(null);
  using texts = openOwnTexts();
  await gc({ database, leases, texts }, ALL);
  const asked = prepared.mock.calls.map(([sql]) => sql);
  prepared.mockRestore();
  expect(asked.filter((sql) => /\bcontexts\b/.test(sql))).not.toEqual([]);
  expect(asked.filter((sql) => /\b(journal|content|beside|meta)\b/.test(sql))).toEqual([]);
  await database.close();
});
