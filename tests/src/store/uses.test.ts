import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { run } from "../../../scripts/process.ts";
import type { GcRule, Store } from "../../../src/store/port.ts";
import { gc } from "../../../src/store/sqlite/gc.ts";
import { openLeases } from "../../../src/store/sqlite/lease.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { openStore } from "../../../src/store/thread/thread.ts";
import { findingsIn } from "../../../src/store/verify-store.ts";
import { folderWith } from "../../support/tree.ts";
import { EDITED, type EditedKind } from "./edited.ts";
import { checkpointOf, contextOf, pagesOf, recordOf, sessionOf } from "./sample.ts";
import { folderOfVersion1 } from "./version-one.ts";

const [A, B, C] = [contextOf("a"), contextOf("b"), contextOf("c")];
const ALL: GcRule = { now: 1000, anonymousMs: 1e9, namedMs: null, pi: false, dryRun: false };

/** S1 has loaded A, then B; S2 is its fork before B. Nobody uses C. */
async function sample(store: Store): Promise<void> {
  for (const context of [A, B, C]) await store.putContext(context);
  await store.create(sessionOf("S1"));
  for (const [at, { key: hash }] of [A, B].entries()) {
    await store.commit("S1", {
      checkpoint: checkpointOf(`K${at}`, { pages: pagesOf([at], 1), kind: "end" }),
      records: [recordOf("E1", at, { context_hash: hash })],
    });
  }
  await store.fork("S1", "K0", sessionOf("S2"));
  await store.release("S1");
}

/** Tables that a store of an earlier build lacks. */
const LATER_TABLES = ["parcels", "shipments", "answers"];
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
  await store.commit("S2", { records: [recordOf("E2", 3, { context_hash: A.key })] });
  await store.release("S2");
  expect(await findingsIn(store)).toEqual([]);

  await store.remove("S1");
  expect([await store.gc(ALL), await there(store)]).toMatchObject([{ contexts: 1 }, [true, false, false]]);
  await store.remove("S2");
  expect([await store.gc(ALL), await there(store)]).toMatchObject([{ contexts: 1 }, [false, false, false]]);
  expect(await usesIn(of, place)).toEqual([]);
});

test.for(EDITED)(
  "$kind: a store of an earlier build learns at its opening what its sessions use",
  async (of, { skip }) => {
    skip(of.skipped !== null, of.skipped ?? "");
    const place = await of.place();
    const before = await openStore(place);
    await sample(before);
    await before[Symbol.asyncDispose]();
    const uses = await usesIn(of, place);
    expect(uses).toHaveLength(3);
    await of.change(place, "DROP TABLE STORE.uses");
    await of.change(place, "ALTER TABLE STORE.jobs DROP COLUMN sha256");
    await of.change(place, "ALTER TABLE STORE.jobs DROP COLUMN asked");
    await of.change(place, "ALTER TABLE STORE.jobs DROP COLUMN model");
    for (const index of ["script", "table"]) await of.change(place, `DROP INDEX STORE.runs_by_${index}`);
    for (const column of ["script_file", "table_file", "fresh"]) {
      await of.change(place, `ALTER TABLE STORE.runs DROP COLUMN ${column}`);
    }
    for (const table of of.kind === "in a folder" ? LATER_TABLES : [...LATER_TABLES, "accounts"]) {
      await of.change(place, `DROP TABLE STORE.${table}`);
    }
    await of.change(place, of.kind === "in a folder" ? "PRAGMA user_version = 4" : "UPDATE STORE.meta SET version = 1");
    await using store = await openStore(place);
    expect(await usesIn(of, place)).toEqual(uses);
    expect(await findingsIn(store)).toEqual([]);
    expect(await store.gc(ALL)).toMatchObject({ contexts: 1 });
  },
);

test("gc asks a file for no text of journals or checkpoints", () => {
  const database = openDatabase(null);
  const prepared = vi.spyOn(DatabaseSync.prototype, "prepare");
  using leases = openLeases(null);
  gc(database, leases, ALL);
  const asked = prepared.mock.calls.map(([sql]) => sql);
  prepared.mockRestore();
  expect(asked.filter((sql) => /\bcontexts\b/.test(sql))).not.toEqual([]);
  expect(asked.filter((sql) => /\b(journal|content|beside|meta)\b/.test(sql))).toEqual([]);
  database.close();
});

test("a process that is killed while it brings a store up to date leaves the version that was there", async () => {
  const folder = folderOfVersion1();
  const path = join(folder, "belay.db");
  const opening = new URL("../../../src/store/sqlite/open-database.ts", import.meta.url).href;
  // What is to be kept is written, and the process ends before it is.
  const script = `const { DatabaseSync, StatementSync } = await import("node:sqlite");
    const { prepare } = DatabaseSync.prototype;
    DatabaseSync.prototype.prepare = function (sql) {
      if (sql !== "COMMIT") return prepare.call(this, sql);
      console.log(this.prepare("SELECT count(*) AS n FROM uses").get().n);
      return { run: () => process.kill(process.pid, "SIGKILL") };
    };
    (await import(${JSON.stringify(opening)})).openDatabase(${JSON.stringify(folder)});`;
  const killed = await run(process.execPath, ["script.mjs"], { cwd: folderWith({ "script.mjs": script }) });
  expect(killed).toMatchObject({ stdout: "2\n", code: null });
  const versionOf = () => {
    using database = new DatabaseSync(path);
    const tables = database.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'uses'").get();
    return [database.prepare("PRAGMA user_version").get()?.user_version, tables?.n];
  };
  expect(versionOf()).toEqual([1, 0]);
  openDatabase(folder).close();
  expect(versionOf()).toEqual([SCHEMA_VERSION, 1]);
});
