import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { seededRandom } from "../../tests/support/seeded-random.ts";

/** How a store is damaged. */
export interface Damaging {
  /** Bits flipped, half of them in values, half in the bytes of the file. */
  readonly flips: number;
  readonly seed: number;
  /** Each blob is cut at every n-th length, and the file at every n-th eighth of a page. */
  readonly cutEvery: number;
  /** Values are damaged in these tables alone; default: in all. */
  readonly tables?: readonly string[];
  /** Changes a value; default: one of its bits is flipped. */
  readonly change?: Change;
  /** Asked before each damage, with how many were done of how many; false: no more are done. */
  goesOn?(done: number, of: number): boolean;
}

/** A value of a row, as bytes. */
export interface Stored {
  readonly table: string;
  readonly column: string;
  readonly bytes: Uint8Array;
}

/** What a value becomes, which is one of `all`; null: NULL. */
export type Change = <Value extends Stored>(
  random: () => number,
  value: Value,
  all: readonly Value[],
) => Uint8Array | null;

const flip: Change = (random, { bytes }) => flipped(bytes, Math.floor(random() * bytes.byteLength * 8));

/** One thing that is done to a store. */
export interface Damage {
  readonly name: string;
  readonly kind: "flip" | "cut";
  /** Does it to the file at this path, a copy of the whole one. */
  apply(path: string): void;
}

/** Damages of the store in this file, each of which is done to a copy of it. */
export function* damagesOf(original: string, damaging: Damaging): Iterable<Damage> {
  const { cutEvery, flips, tables, goesOn = () => true } = damaging;
  const values = valuesOf(original).filter(({ table }) => tables === undefined || tables.includes(table));
  const bytes = readFileSync(original);
  const blobs = values.filter(({ isBlob }) => isBlob);
  const cuts = blobs.reduce((sum, value) => sum + Math.ceil(value.bytes.byteLength / cutEvery), 0);
  const all = flips + cuts + Math.ceil(bytes.byteLength / (FILE_CUT_BYTES * cutEvery));
  let done = 0;
  for (const damage of allDamages(values, bytes, damaging)) {
    if (!goesOn(done, all)) return;
    yield damage;
    done += 1;
  }
}

function* allDamages(
  values: readonly Value[],
  bytes: Buffer,
  { flips, seed, cutEvery, change = flip }: Damaging,
): Iterable<Damage> {
  const random = seededRandom(seed);
  const flippable = values.filter((value) => value.bytes.byteLength > 0);
  for (let done = 0; done < flips; done += 1) {
    const value = done % 2 === 0 ? flippable[Math.floor(random() * flippable.length)] : undefined;
    if (value) {
      const changed = change(random, value, values);
      const name = `${value.name} changed to ${shown(changed)}`;
      yield { name, kind: "flip", apply: (path) => write(path, value, changed) };
      continue;
    }
    const bit = Math.floor(random() * bytes.byteLength * 8);
    yield {
      name: `bit ${bit} of the file`,
      kind: "flip",
      apply: (path) => writeFileSync(path, flipped(bytes, bit)),
    };
  }
  for (const value of values.filter(({ isBlob }) => isBlob)) {
    for (let length = 0; length < value.bytes.byteLength; length += cutEvery) {
      const cut = value.bytes.slice(0, length);
      yield { name: `${value.name} cut to ${length}`, kind: "cut", apply: (path) => write(path, value, cut) };
    }
  }
  for (let length = 0; length < bytes.byteLength; length += FILE_CUT_BYTES * cutEvery) {
    yield {
      name: length === 0 ? EMPTIED : `the file cut to ${length}`,
      kind: "cut",
      apply: (path) => truncateSync(path, length),
    };
  }
}

export const EMPTIED = "the file cut to 0";

/** The beginning of a value, for messages. */
export const shown = (bytes: Uint8Array | null) => bytes && JSON.stringify(Buffer.from(bytes).toString().slice(0, 60));

/** Puts a damaged copy of the store in the place of what is there. */
export function putDamaged(original: string, path: string, damage: Damage): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  copyFileSync(original, path);
  damage.apply(path);
}

/** The file is cut at every such length, times `cutEvery`: an eighth of a page. */
const FILE_CUT_BYTES = 512;

interface Value extends Stored {
  readonly name: string;
  /** Condition that finds the row. */
  readonly where: string;
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
    const primary = database
      .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0`)
      .all()
      .map(({ name }) => String(name));
    const keys = primary.length > 0 ? primary : ["rowid"];
    return database
      .prepare(`SELECT ${primary.length > 0 ? "*" : "rowid, *"} FROM ${table}`)
      .all()
      .flatMap((row) => {
        const where = keys.map((key) => `${key} = ${literal(row[key] ?? null)}`).join(" AND ");
        return Object.entries(row).flatMap(([column, value]) => {
          if (column === "rowid") return [];
          const bytes = bytesOf(value);
          if (!bytes) return [];
          const name = `${table}.${column} where ${where}`;
          const type = typeof value === "string" ? "text" : typeof value === "number" ? "number" : "blob";
          return [{ name, table, column, where, bytes, isBlob: type === "blob", type } as const];
        });
      });
  });
}

function write(path: string, { table, column, where, type }: Value, bytes: Uint8Array | null): void {
  using database = new DatabaseSync(path);
  database.exec("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF");
  const value = bytes && type !== "blob" ? (type === "text" ? Buffer.from(bytes).toString() : wholeOf(bytes)) : bytes;
  try {
    database.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where}`).run(value);
  } catch {
    // A constraint refuses it: the row stays as it was.
  }
}

const wholeOf = (bytes: Uint8Array) => Buffer.concat([bytes, Buffer.alloc(8)]).readBigInt64LE();

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
