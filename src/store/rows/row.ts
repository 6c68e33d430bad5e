import { createHash, type Hash, hash } from "node:crypto";
import { messageOf } from "../../platform/errors.ts";
import { cutText } from "../../platform/visible.ts";
import { corrupt } from "../failure.ts";
import type { DamagedRow } from "../job-store.ts";

/** A value of a column. */
export type Field = null | number | bigint | string | Uint8Array;

/** A row as a database gives it. Nothing in it is trusted before its seal is. */
export type Row = Readonly<Record<string, Field>>;

/** SHA-256 over the fields of a row: their order, types, lengths and values. */
export function seal(fields: readonly Field[]): Buffer {
  // Texts that follow each other are hashed in one call, and most rows have nothing else.
  let hashed: Hash | undefined;
  let texts = "";
  for (const field of fields) {
    if (ArrayBuffer.isView(field)) {
      hashed ??= createHash("sha256");
      hashed.update(`${texts}object ${field.byteLength}\n`).update(field);
      texts = "";
    } else {
      const content = String(field);
      texts += `${field === null ? "null" : typeof field} ${Buffer.byteLength(content)}\n${content}`;
    }
  }
  return hashed ? hashed.update(texts).digest() : sha256(texts);
}

/** SHA-256 of a content, in memory that Node shares among small buffers: one of its own costs as much as the hash. */
export function sha256(content: string | Uint8Array): Buffer {
  return Buffer.from(hash("sha256", content, "binary"), "binary");
}

/** True if the row's `sha256` is that of these fields. */
export function isSealed(row: Row, fields: readonly Field[]): boolean {
  return row.sha256 instanceof Uint8Array && seal(fields).equals(row.sha256);
}

export function anyColumn(row: Row, column: string): Field {
  return row[column] ?? null;
}

export function textColumn(row: Row, column: string): string {
  const found = row[column];
  if (typeof found !== "string") throw misfit(column, found);
  return found;
}

/** The name of a session or a run. */
export function nameColumn(row: Row, column: string): string {
  const found = textColumn(row, column);
  if (found.length <= MOST_NAME_UNITS) return found;
  throw corrupt(`a row's column ${column} has ${found.length} characters`);
}

export const nameColumnOrNull = (row: Row, column: string) => (row[column] === null ? null : nameColumn(row, column));

/** More than names of children have, which begin with the id of their parent. */
const MOST_NAME_UNITS = 1000;

export function textColumnOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : textColumn(row, column);
}

export function numberColumn(row: Row, column: string): number {
  const found = row[column];
  if (typeof found !== "number") throw misfit(column, found);
  return found;
}

/** A number that cannot be negative or beyond what is counted exactly. */
export function countColumn(row: Row, column: string): number {
  const found = numberColumn(row, column);
  if (found < 0 || found > Number.MAX_SAFE_INTEGER) throw corrupt(`a row's column ${column} is ${found}`);
  return found;
}

/** An instant that a date can be, ms since the epoch. */
export function instantColumn(row: Row, column: string): number {
  const found = numberColumn(row, column);
  if (!isInstant(found)) throw corrupt(`a row's column ${column} is ${found}, which is no instant`);
  return found;
}

export const instantColumnOrNull = (row: Row, column: string) =>
  row[column] === null ? null : instantColumn(row, column);

export const isInstant = (ms: unknown) => typeof ms === "number" && Math.abs(ms) <= MOST_MS;

/** Dates of JavaScript end here. */
const MOST_MS = 8.64e15;

export function numberColumnOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : numberColumn(row, column);
}

export function bytesColumn(row: Row, column: string): Uint8Array {
  const found = row[column];
  if (!(found instanceof Uint8Array)) throw misfit(column, found);
  return found;
}

/** Reads a column of something, such as `a job`, that has one of these words. */
export function wordColumn<const Word extends string>(of: string, words: readonly Word[]) {
  return (row: Row, column: string): Word => {
    const known = words.find((word) => word === row[column]);
    if (known !== undefined) return known;
    throw corrupt(`${of}'s ${column} is ${row[column]}`);
  };
}

type Reader = (row: Row, column: string) => Field;

/**
 * Columns of a row, each as its reader gives it.
 *
 * @param label what messages call the row
 * @throws RlmError `store_corrupt`
 */
export function columnsOf<Readers extends Readonly<Record<string, Reader>>>(
  row: Row,
  readers: Readers,
  label?: string,
): { [Name in keyof Readers]: ReturnType<Readers[Name]> };
export function columnsOf(row: Row, readers: Readonly<Record<string, Reader>>, label?: string): object {
  const columns: Record<string, Field> = {};
  try {
    for (const [column, read] of Object.entries(readers)) columns[column] = read(row, column);
  } catch (error) {
    throw label === undefined ? error : corrupt(`${cutText(label, 300)}: ${messageOf(error)}`);
  }
  return columns;
}

function misfit(column: string, found: unknown): Error {
  if (typeof found === "bigint") return corrupt(`a row's column ${column} is ${found}`);
  return corrupt(`a row's column ${column} is of type ${found === null ? "null" : typeof found}`);
}

/**
 * Those rows that cannot be read.
 * @param named what messages call the row
 * @param read throws if the row is damaged
 */
export function damagedAmong<Key>(
  keys: Iterable<Key>,
  read: (key: Key) => unknown,
  named: (key: Key) => { readonly id: string; readonly label: string },
): DamagedRow[] {
  const damaged: DamagedRow[] = [];
  for (const key of keys) {
    try {
      read(key);
    } catch (error) {
      const { id, label: whole } = named(key);
      const label = cutText(whole, 300);
      const problem = messageOf(error);
      damaged.push({ id, problem: problem.includes(label) ? problem : `${label}: ${problem}` });
    }
  }
  return damaged;
}
