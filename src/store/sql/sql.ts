import { FailedStatement } from "../failure.ts";
import { packedBytes, packText } from "../rows/pack.ts";
import type { Row } from "../rows/row.ts";

/** A statement for both databases: its text, with values and differing words between its pieces. */
export interface Statement {
  readonly pieces: readonly string[];
  readonly parts: readonly Part[];
}

/**
 * The part between two pieces: a value, another statement, or something that the dialects write
 * differently.
 */
export type Part = Value | Statement | Spelled | Packed | OneOf;

export type Value = null | number | string | Uint8Array;

export interface Spelled {
  readonly sqlite: Statement;
  readonly postgres: Statement;
}

export interface Packed {
  readonly packed: string | Uint8Array;
}

interface OneOf {
  readonly oneOf: readonly string[] | readonly number[];
}

export function sql(pieces: TemplateStringsArray, ...parts: Part[]): Statement {
  return { pieces, parts };
}

/** Text without values, such as names of tables and columns. */
export const raw = (text: string): Statement => ({ pieces: [text], parts: [] });
/**
 * Words that each database spells in its own way. A function that needs two of them is written once
 * for each database.
 */
export const spelled = (sqlite: Statement, postgres: Statement): Spelled => ({ sqlite, postgres });
/** A text that is compressed if it is long. */
export const packed = (content: string): Packed => ({ packed: packText(content) });
/** Follows a column, and is true if the column has one of these values. */
export const oneOf = (values: Iterable<string> | readonly number[]): OneOf => ({
  oneOf: [...values] as OneOf["oneOf"],
});
/** Parts with commas between them. */
export const list = (parts: readonly Part[]): Statement => ({
  pieces: ["", ...parts.slice(1).map(() => ", "), ""],
  parts,
});

/** Spells statements for one database, whose client takes values of type `V`. */
interface Spelling<V> {
  readonly name: keyof Spelled;
  /** The place of the value with this number, counted from 1. */
  place(n: number): string;
  oneOf(place: string): string;
  list(values: OneOf["oneOf"]): V;
  packed(content: Packed["packed"]): V;
}

export const SQLITE: Spelling<Value> = {
  name: "sqlite",
  place: () => "?",
  oneOf: (place) => `IN (SELECT value FROM json_each(${place}))`,
  list: (values) => JSON.stringify(values),
  packed: (content) => content,
};

export const POSTGRES: Spelling<Value | OneOf["oneOf"]> = {
  name: "postgres",
  place: (n) => `$${n}`,
  oneOf: (place) => `= ANY(${place})`,
  list: (values) => values,
  packed: packedBytes,
};

/** A statement as the client of a database takes it. */
export function rendered<V>(statement: Statement, spelling: Spelling<Value | V>) {
  const values: (Value | V)[] = [];
  return { text: write(statement, spelling, values), values };
}

function write<V>({ pieces, parts }: Statement, spelling: Spelling<Value | V>, values: (Value | V)[]): string {
  let text = pieces[0] ?? "";
  parts.forEach((part, at) => {
    text += put(part, spelling, values) + pieces[at + 1];
  });
  return text;
}

function put<V>(part: Part, spelling: Spelling<Value | V>, values: (Value | V)[]): string {
  if (part === null || typeof part !== "object" || part instanceof Uint8Array) return spelling.place(values.push(part));
  if ("pieces" in part) return write(part, spelling, values);
  if ("packed" in part) return spelling.place(values.push(spelling.packed(part.packed)));
  if ("oneOf" in part) return spelling.oneOf(spelling.place(values.push(spelling.list(part.oneOf))));
  return write(part[spelling.name], spelling, values);
}

/**
 * Work with a database, statement by statement. `yield*` replaces `await`: SQLite answers at once,
 * and PostgreSQL is waited for. A call without `yield*` does nothing.
 */
export type Plan<T> = Generator<Asked, T, Answer>;

/** A statement with what is wanted of its answer, a turn for the other work of the thread, or the end of work elsewhere. */
export type Asked =
  | { readonly wants: "one" | "all" | "changes"; readonly statement: Statement }
  | { readonly wants: "turn" }
  | { readonly wants: "end"; readonly of: Promise<unknown> };

/** Rows and the number of rows that changed; or what the database threw, and at which text. */
export type Answer =
  | { readonly rows: readonly Row[]; readonly changes: number }
  | { readonly text: string; readonly cause: unknown };

/** The answer to what is no statement. */
export const NO_ROWS: Answer = { rows: [], changes: 0 };

/**
 * Stands in long work between statements: the thread does other work here, if that has waited for
 * long.
 */
export function* pause(): Plan<void> {
  yield { wants: "turn" };
}

/** Stands where work that others do must have ended. */
export function* until(work: Promise<unknown>): Plan<void> {
  yield { wants: "end", of: work };
}

export function* get(statement: Statement): Plan<Row | undefined> {
  return whole(yield { wants: "one", statement }).rows[0];
}

export function* all(statement: Statement): Plan<readonly Row[]> {
  return whole(yield { wants: "all", statement }).rows;
}

/** The sum of a column. Rows of another user may make one that no integer of a database is. */
export const summed = (column: string) => raw(`coalesce(sum(CAST(${column} AS double precision)), 0)`);

/** Returns the number of rows that changed. */
export function* run(statement: Statement): Plan<number> {
  return whole(yield { wants: "changes", statement }).changes;
}

/**
 * @throws FailedStatement, here and not where plans are performed: its stack names the generators
 * that asked
 */
function whole(answer: Answer) {
  if ("rows" in answer) return answer;
  throw new FailedStatement(answer.text, answer.cause);
}
