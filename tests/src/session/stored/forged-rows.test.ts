import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type Json, RlmError } from "../../../../runtime/index.ts";
import { describeSession } from "../../../../src/session/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { findingsIn, shareStore } from "../../../../src/store/index.ts";
import { unpackText } from "../../../../src/store/rows/pack.ts";
import { type Field, type Row, seal } from "../../../../src/store/rows/seal.ts";
import { SESSION_COLUMNS } from "../../../../src/store/rows/session.ts";
import { openScripted, promptOf, using } from "../../../support/scripted-session.ts";
import { seededRandom } from "../../../support/seeded-random.ts";
import { folderWith } from "../../../support/tree.ts";

// Rows whose seals somebody has made anew: each command refuses them by name, and `verify` finds what a command refuses.

const HOSTILE: readonly Json[] = [null, "x", -1, 1e300, [], {}, [null], { x: [null] }, true];
const SEED = 7;
const FORGED = Number(process.env.BELAY_FORGED ?? 72);

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
    const text = (of: string) => unpackText(row, of) ?? "";
    const whole = text(column);
    const next = random() < 0.05 ? whole.slice(0, -1) : JSON.stringify(changed(JSON.parse(whole), random));
    const isOther = (of: string) => (of === column ? next : text(of));
    const sha = seal(SEALED[table]?.({ ...row, [column]: next }, isOther) ?? []);
    const put = database.prepare(`UPDATE ${table} SET ${column} = ?, sha256 = ? WHERE sha256 = ?`);
    put.run(next, sha, row.sha256 ?? null);
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
    put.run(row[column] ?? null, row.sha256 ?? null, sha);
  }
  expect(problems).toEqual([]);
});
