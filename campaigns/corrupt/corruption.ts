import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { RlmError } from "../../runtime/index.ts";
import { openSqliteStore } from "../../src/store/sqlite/sqlite.ts";
import type { SyncStore } from "../../src/store/thread/methods.ts";
import {
  checkpointOf,
  contextOf,
  META,
  pagesOf,
  plain,
  range,
  recordOf,
  sessionOf,
} from "../../tests/src/store/sample.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";

export interface Corruption {
  /** An empty folder. */
  readonly folder: string;
  /** Bits flipped, half of them in values, half in the bytes of the file. */
  readonly flips: number;
  readonly seed: number;
  /** Each blob is cut at every n-th length, and the file at every n-th eighth of a page. */
  readonly cutEvery: number;
}

export interface Tally {
  readonly damages: number;
  /** At least one thing that a resume reads was refused with an RlmError, and all others were as they had been. */
  readonly refused: number;
  /** All that a resume reads was as it had been. */
  readonly unharmed: number;
  /** Something was read that had never been written. */
  readonly wrong: number;
  /** Something failed that is not an RlmError. */
  readonly crashed: number;
  readonly lines: readonly string[];
}

/** Damages a store in many ways, one at a time, and reads it anew each time. */
export function corrupt({ folder, flips, seed, cutEvery }: Corruption): Tally {
  const random = seededRandom(seed);
  const path = join(folder, "belay.db");
  const original = join(folder, "original.db");
  makeStore(folder);
  copyFileSync(path, original);
  const expected = readAll(folder);
  if (expected.some(({ kind }) => kind !== "value")) throw new Error("the store cannot be read before it is damaged");
  const values = valuesOf(original);
  const counts = { refused: 0, unharmed: 0, wrong: 0, crashed: 0 };
  const told: string[] = [];

  function judge(name: string, damage: () => void): void {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
    copyFileSync(original, path);
    damage();
    const outcome = compare(expected, readAll(folder));
    counts[outcome.kind] += 1;
    if (outcome.kind === "wrong" || outcome.kind === "crashed") told.push(`${outcome.kind}: ${name}: ${outcome.what}`);
  }

  const flippable = values.filter(({ bytes }) => bytes.byteLength > 0);
  for (let flip = 0; flip < flips; flip += 1) {
    if (flip % 2 === 0) {
      const value = flippable[Math.floor(random() * flippable.length)];
      if (!value) break;
      const bit = Math.floor(random() * value.bytes.byteLength * 8);
      judge(`bit ${bit} of ${value.name}`, () => write(path, value, flipped(value.bytes, bit)));
    } else {
      const bytes = readFileSync(original);
      const bit = Math.floor(random() * bytes.byteLength * 8);
      judge(`bit ${bit} of the file`, () => writeFileSync(path, flipped(bytes, bit)));
    }
  }
  let cuts = 0;
  for (const value of values.filter(({ isBlob }) => isBlob)) {
    for (let length = 0; length < value.bytes.byteLength; length += cutEvery) {
      judge(`${value.name} cut to ${length}`, () => write(path, value, value.bytes.slice(0, length)));
      cuts += 1;
    }
  }
  const size = readFileSync(original).byteLength;
  for (let length = 0; length < size; length += FILE_CUT_BYTES * cutEvery) {
    judge(`the file cut to ${length}`, () => truncateSync(path, length));
    cuts += 1;
  }
  const damages = flips + cuts;
  const { refused, unharmed, wrong, crashed } = counts;
  const summary = `flips ${flips} · cuts ${cuts} · refused ${refused} · unharmed ${unharmed} · wrong ${wrong} · crashed ${crashed}`;
  return { damages, ...counts, lines: [...told, summary] };
}

/** The file is cut at every such length, times `cutEvery`: an eighth of a page. */
const FILE_CUT_BYTES = 512;

/** A store with all kinds of rows that a resume reads. */
function makeStore(folder: string): void {
  using store = openSqliteStore(folder, { pid: 1, host: "here" });
  store.putContext(contextOf("A context in two parts, which zstd makes smaller. ".repeat(40), "The second part."));
  store.putBaseline("B", META, pagesOf(range(0, 12), 1));
  store.create(sessionOf("S1", { name: "first" }));
  const long = { text: "An answer that is long enough to be packed. ".repeat(200) };
  store.commit("S1", {
    checkpoint: checkpointOf("C1", { pages: pagesOf([1, 2, 30], 2), base: "B", chain: { length: 1, bytes: 61_440 } }),
    records: [recordOf("E1", 5), recordOf("E1", 6, long)],
    facts: { status: "running" },
  });
  const end = checkpointOf("C2", { pages: pagesOf([2, 63], 3), base: "C1", parent: "C1", kind: "end", extras: long });
  store.commit("S1", { checkpoint: end, records: [recordOf("E1", 7)], facts: { status: "idle" } });
  const whole = checkpointOf("C3", { pages: pagesOf(range(0, 8), 4), parent: "C2", kind: "end", exec_id: "E2" });
  store.commit("S1", { checkpoint: whole, records: [recordOf("E2", 8)], cache: [{ key: "k", value: long, at: 8 }] });
  store.release("S1");
  store.fork("S1", "C2", sessionOf("S2", { name: "second" }));
}

type Reading =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "refused" | "crashed"; readonly why: string };

/** Each of the things that a resume reads, on its own. */
function readAll(folder: string): Reading[] {
  let store: SyncStore | undefined;
  const opened = attempt(() => {
    store = openSqliteStore(folder, { pid: 2, host: "there" });
    return "open";
  });
  const readings = store ? readingsOf(store).map(attempt) : [];
  const closed = attempt(() => store?.[Symbol.dispose]());
  return [opened, ...readings, ...(closed.kind === "crashed" ? [closed] : [])];
}

function readingsOf(store: SyncStore): (() => unknown)[] {
  const context = contextOf("A context in two parts, which zstd makes smaller. ".repeat(40), "The second part.");
  const session = (name: string) => {
    const row = store.find(name);
    if (!row) throw new RlmError("session_not_found", `no session ${name}`, { suggestion: "None." });
    // What a resume does not read: figures for people.
    const { bytes: _, holder: __, ...rest } = row;
    return rest;
  };
  const answer = () => store.cached("k") ?? refuse();
  return [
    () => session("first"),
    () => session("second"),
    () => store.journal("S1"),
    () => store.journal("S1", 3),
    () => store.journal("S2"),
    () => store.checkpoints("S1"),
    () => store.checkpoints("S2"),
    ...["C1", "C2", "C3"].map((id) => () => store.checkpoint(id)),
    ...["B", "C1", "C2", "C3"].map((id) => () => store.image(id)),
    () => plain(store.context(context.hash)),
    answer,
  ];
}

/** A damaged answer is none: the model is asked again. */
function refuse(): never {
  throw new RlmError("store_corrupt", "no answer", { suggestion: "None." });
}

function attempt(read: () => unknown): Reading {
  try {
    return { kind: "value", value: read() };
  } catch (error) {
    if (error instanceof RlmError) return { kind: "refused", why: `${error.code}: ${error.message}` };
    return { kind: "crashed", why: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function compare(expected: readonly Reading[], found: readonly Reading[]) {
  const crashed = found.find((one) => one.kind === "crashed");
  if (crashed?.kind === "crashed") return { kind: "crashed" as const, what: crashed.why };
  for (const [index, one] of found.entries()) {
    if (one.kind === "value" && !isDeepStrictEqual(one, expected[index])) {
      return { kind: "wrong" as const, what: `reading ${index} gave ${JSON.stringify(one.value).slice(0, 400)}` };
    }
  }
  const all = found.length === expected.length && found.every(({ kind }) => kind === "value");
  return { kind: all ? ("unharmed" as const) : ("refused" as const), what: "" };
}

interface Value {
  readonly name: string;
  readonly table: string;
  readonly column: string;
  /** Condition that finds the row. */
  readonly where: string;
  readonly bytes: Uint8Array;
  readonly isBlob: boolean;
  /** All numbers of the sample are whole: they are 64 bits of an integer. */
  readonly type: "text" | "blob" | "number";
}

/** Every value of every row, as bytes. */
function valuesOf(path: string): Value[] {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => String(name));
  return tables.flatMap((table) => {
    const keys = database
      .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0`)
      .all()
      .map(({ name }) => String(name));
    return database
      .prepare(`SELECT * FROM ${table}`)
      .all()
      .flatMap((row) => {
        const where = keys.map((key) => `${key} = ${literal(row[key] ?? null)}`).join(" AND ");
        return Object.entries(row).flatMap(([column, value]) => {
          const bytes = bytesOf(value);
          if (!bytes) return [];
          const name = `${table}.${column} where ${where}`;
          const type = typeof value === "string" ? "text" : typeof value === "number" ? "number" : "blob";
          return [{ name, table, column, where, bytes, isBlob: type === "blob", type } as const];
        });
      });
  });
}

function write(path: string, { table, column, where, type }: Value, bytes: Uint8Array): void {
  using database = new DatabaseSync(path);
  database.exec("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF");
  const value =
    type === "blob" ? bytes : type === "text" ? Buffer.from(bytes).toString() : Buffer.from(bytes).readBigInt64LE();
  try {
    database.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where}`).run(value);
  } catch {
    // A constraint refuses it: the row stays as it was.
  }
}

function literal(value: SQLOutputValue): string {
  return typeof value === "string" ? `'${value}'` : String(value);
}

function bytesOf(value: SQLOutputValue): Uint8Array | null {
  if (typeof value === "string") return Buffer.from(value);
  if (typeof value === "number") {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(value));
    return bytes;
  }
  return value instanceof Uint8Array ? value : null;
}

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice();
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}
