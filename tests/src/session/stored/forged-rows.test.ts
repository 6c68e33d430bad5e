import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type Json, RlmError } from "../../../../runtime/index.ts";
import { describeSession } from "../../../../src/history/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { findingsIn, shareStore } from "../../../../src/store/index.ts";
import { unpackText } from "../../../../src/store/rows/pack.ts";
import { type Field, type Row, seal } from "../../../../src/store/rows/row.ts";
import { SESSION_COLUMNS } from "../../../../src/store/rows/session.ts";
import { openScripted, promptOf, using } from "../../../support/scripted-session.ts";
import { seededRandom } from "../../../support/seeded-random.ts";
import { folderWith } from "../../../support/tree.ts";

// Rows whose seals somebody has made anew: each command refuses them by name, and `verify` finds what a command refuses.

const HOSTILE: readonly Json[] = [null, "x", -1, 1e300, [], {}, [null], { x: [null] }, true];
const SEED = 7;
const FORGED = Number(process.env.BELAY_FORGED ?? 45);

/** Fields under the seal of a row, by its table. */
const SEALED: Readonly<Record<string, (row: Row, texts: (column: string) => string) => readonly Field[]>> = {
  journal: (row, text) => [row.session ?? null, row.seq ?? null, row.kind ?? null, text("content")],
  sessions: (row) => SESSION_COLUMNS.map((column) => row[column] ?? null),
  contexts: (row, text) => [row.hash ?? null, row.parts ?? null, text("facts")],
  checkpoints: (row, text) => [
    ...["n", "id", "session", "parent", "base", "exec_id", "kind", "seq"].map((column) => row[column] ?? null),
    ...[text("meta"), text("beside")],
    ...["chain_length", "chain_bytes", "pages", "stored_bytes", "at", "parts"].map((column) => row[column] ?? null),
  ],
};
const COLUMNS = [
  ...([
    ["journal", "content"],
    ["journal", "content"],
    ["journal", "content"],
    ["checkpoints", "beside"],
  ] as const),
  ...([
    ["checkpoints", "meta"],
    ["sessions", "facts"],
    ["sessions", "settings"],
    ["contexts", "facts"],
  ] as const),
  ["contexts", "parts"] as const,
];

/** Copies of a value, each with one part of it replaced or left out. */
function changed(value: Json, random: () => number): Json {
  const hostile = HOSTILE[Math.floor(random() * HOSTILE.length)] ?? null;
  if (typeof value !== "object" || value === null || random() < 0.1) return hostile;
  const names = Object.keys(value);
  const name = names[Math.floor(random() * names.length)];
  if (name === undefined) return hostile;
  const copy = structuredClone(value);
  if (random() < 0.15) Reflect.deleteProperty(copy, name);
  else Reflect.set(copy, name, random() < 0.5 ? hostile : changed(Reflect.get(value, name), random));
  return copy;
}

interface Forgery {
  readonly table: string;
  readonly column: string;
  readonly row: Row;
  readonly next: string;
}

/** Puts another value into a row, with its seal made anew. Returns what undoes it. */
function forge(database: DatabaseSync, { table, column, row, next }: Forgery): () => void {
  const text = (of: string) => (of === column ? next : (unpackText(row, of) ?? ""));
  const sha = seal(SEALED[table]?.({ ...row, [column]: next }, text) ?? []);
  const put = database.prepare(`UPDATE ${table} SET ${column} = ?, sha256 = ? WHERE sha256 = ?`);
  put.run(next, sha, row.sha256 ?? null);
  return () => void put.run(row[column] ?? null, row.sha256 ?? null, sha);
}

test("figures of forged rows are bounded before they are used, and a schema that is not ours is refused", async () => {
  const folder = folderWith();
  const store = await shareStore(folder);
  const session = await openSessionWith({ session: "s" }, { store });
  await session.load({ text: "alpha beta\n", name: "words" });
  await session.exec("var kept = P.length");
  await session.close();
  const database = new DatabaseSync(join(folder, "belay.db"));
  const last: Row = database.prepare("SELECT * FROM checkpoints ORDER BY n DESC LIMIT 1").get() ?? {};
  const exec = async (code: string) => {
    await using again = await openSessionWith({ session: "s" }, { store });
    return again.exec(code);
  };
  const withMeta = (more: object) => {
    const next = JSON.stringify({ ...JSON.parse(unpackText(last, "meta") ?? ""), ...more });
    return forge(database, { table: "checkpoints", column: "meta", row: last, next });
  };

  const undoBase = forge(database, { table: "checkpoints", column: "base", row: last, next: String(last.id) });
  await expect(store.image(String(last.id))).rejects.toMatchObject({ code: "checkpoint_lost" });
  expect(await findingsIn(store)).toContainEqual(expect.stringContaining("is missing, or newer"));
  undoBase();
  const undoMemory = withMeta({ linearBytes: 2 ** 32 });
  expect(await exec("kept")).toMatchObject({ success: false, error_code: "memory_limit_exceeded" });
  undoMemory();

  const context: Row = database.prepare("SELECT * FROM contexts").get() ?? {};
  database.exec("INSERT INTO parts (hash, bytes) VALUES ('zeros', 120000000), ('less', -90000000)");
  const twice = { table: "contexts", column: "parts", row: context, next: '["zeros","zeros","less"]' };
  const undoParts = forge(database, twice);
  const tooLarge = expect.stringContaining("its parts are larger than a context can be");
  await expect(store.context(String(context.hash))).rejects.toMatchObject({ code: "context_lost", message: tooLarge });
  expect(await findingsIn(store)).toContainEqual(tooLarge);
  undoParts();

  // What an image says that it was granted does not raise the limit of the heap.
  withMeta({ granted: 2 ** 31 });
  const grown = await exec("const more = []; for (;;) more.push(new ArrayBuffer(1 << 20))");
  expect(grown).toMatchObject({ success: false, error_code: "memory_limit_exceeded" });
  await store[Symbol.asyncDispose]();

  database.exec(`CREATE TRIGGER evil BEFORE INSERT ON journal BEGIN SELECT count(*) FROM
    (WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r); END`);
  database.close();
  const evil = expect.stringContaining("evil is not what Belay makes there");
  await expect(shareStore(folder)).rejects.toMatchObject({ code: "store_corrupt", message: evil });
});

test(`${FORGED} forged rows end as errors by name, and verify finds each that a command refuses`, async () => {
  const folder = folderWith();
  const cells = ["print(P.length); print(await llm_query('plain', { tools: [] }))", "answer('done')"];
  await using store = await shareStore(folder);
  const { session } = await openScripted(
    (request) => {
      const turn = request.messages.filter(({ role }) => role === "assistant").length;
      return promptOf(request) === "plain" ? "yes" : using("rlm_exec", { code: cells[turn] ?? "" });
    },
    { session: "s" },
    undefined,
    { store },
  );
  await session.load({ text: "alpha ".repeat(40), name: "words" });
  await session.ask("How long?");
  await session.exec("throw new Error('no')");
  await session.memory.put("key", { a: [1] });
  const { id } = session;
  await session.close();

  using database = new DatabaseSync(join(folder, "belay.db"));
  const random = seededRandom(SEED);
  const problems: string[] = [];
  for (let forged = 0; forged < FORGED; forged++) {
    const [table, column] = COLUMNS[forged % COLUMNS.length] ?? ["journal", "content"];
    const rows: readonly Row[] = database.prepare(`SELECT * FROM ${table}`).all();
    const row = rows[Math.floor(random() * rows.length)] ?? {};
    const whole = unpackText(row, column) ?? "";
    const next = random() < 0.05 ? whole.slice(0, -1) : JSON.stringify(changed(JSON.parse(whole), random));
    const undo = forge(database, { table, column, row, next });
    const refused: string[] = [];
    const attempts = {
      list: () => store.list({ after: null, limit: 10 }),
      describe: () => describeSession(store, id, { children: 2 }),
      partly: () => describeSession(store, id, { children: 2, partly: true }),
      open: async () => (await openSessionWith({ session: id }, { store })).close(),
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      const error: unknown = await attempt().then(
        () => null,
        (thrown: unknown) => thrown,
      );
      if (error === null) continue;
      // A build that noted no skipped files is no damage.
      if (error instanceof RlmError && error.message.endsWith("earlier build of Belay")) continue;
      if (error instanceof RlmError) refused.push(`${name}: ${error.code}`);
      else problems.push(`${table}.${column} ${name}: ${String(error)} by ${next.slice(0, 300)}`);
    }
    const isFound = async () => (await findingsIn(store)).some((line) => !line.startsWith("info:"));
    if (refused.length > 0 && !(await isFound()))
      problems.push(`${table}.${column} not found: ${refused} by ${next.slice(0, 300)}`);
    undo();
  }
  expect(problems).toEqual([]);
});
