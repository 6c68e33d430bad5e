import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { SmallContext } from "../../../../src/context/index.ts";
import type { Loss, Place } from "../../../../src/documents/growing.ts";
import { HAND_MADE } from "./hand-made.ts";

/** A statement about the text of an input. All its fields must hold. */
export interface Statement {
  readonly id: string;
  /** Name of the input. */
  readonly file: string;
  /** The words of a person who looks at the document. */
  readonly says: string;
  /** Texts that the text of the document has. */
  readonly has?: string | readonly string[];
  /** Texts that it does not have. */
  readonly hasNot?: string | readonly string[];
  /** A whole line of it. */
  readonly line?: string;
  /** A regular expression (flags `mu`) that it matches. */
  readonly matches?: string;
  /** Texts that stand in it in this order. */
  readonly order?: readonly string[];
  /** A text that it has just once. */
  readonly once?: string;
  /** The label of the place at which a text stands first. */
  readonly place?: readonly [label: string, text: string];
  /** The kind of a loss that must be told. */
  readonly lost?: string;
  /** True if nothing is lost. */
  readonly isWhole?: true;
  /** Words of the error by which the input is refused. */
  readonly refused?: string;
  /** The kind of a loss that names what is wrong: with it, the statement is right although it fails. */
  readonly orLost?: string;
  /** The reader cannot do it yet: it is counted, and not required. */
  readonly open?: true;
}

/** The text, places and losses that an engine gives for an input. */
export interface ReadInput {
  readonly text: string;
  /** Places with a label, from left to right. */
  readonly places: readonly Place[];
  readonly lost: readonly Loss[];
  /** The error, if the input has no text. */
  readonly refused?: string;
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** All inputs, by name: files of `files/`, unpacked, and those that `hand-made.ts` puts together. */
export function inputs(): Readonly<Record<string, Uint8Array>> {
  const files = readdirSync(at("files")).map((name) => {
    const bytes = readFileSync(at(`files/${name}`));
    return name.endsWith(".gz") ? ([name.slice(0, -3), gunzipSync(bytes)] as const) : ([name, bytes] as const);
  });
  const made = Object.entries(HAND_MADE).map(([name, make]) => [name, make()] as const);
  return Object.fromEntries([...files, ...made]);
}

/** All statements, by the kind whose file in `statements/` has them. */
export function statements(): Readonly<Record<string, readonly Statement[]>> {
  const kinds = readdirSync(at("statements")).map((name) => {
    const lines = readFileSync(at(`statements/${name}`), "utf8").split("\n");
    const said = lines.filter((line) => line.trim() !== "").map((line): Statement => JSON.parse(line));
    return [name.replace(/\.jsonl$/, ""), said] as const;
  });
  return Object.fromEntries(kinds);
}

/** The reading of an input by Belay, from the context that holds it. */
export function readIn({ text, documents, stats }: SmallContext, name: string): ReadInput {
  const found = documents.find(({ id }) => id === name);
  if (!found) {
    const skipped = stats.skipped.files.find(({ path }) => path === name);
    return { text: "", places: [], lost: [], refused: skipped?.reason ?? "it is not in the context" };
  }
  const places = (found.places ?? []).filter(([, label]) => label !== "");
  return { text: text.slice(found.start, found.end), places, lost: found.lost ?? [] };
}

/** The fault in words; undefined if the statement is right. */
export function wrongIn(statement: Statement, read: ReadInput): string | undefined {
  if (statement.orLost !== undefined && isLost(read, statement.orLost)) return undefined;
  if (statement.refused !== undefined) {
    return read.refused?.includes(statement.refused) ? undefined : `it is not refused so: ${read.refused}`;
  }
  if (read.refused !== undefined) return `it is refused: ${read.refused}`;
  return wrongText(statement, read.text) ?? wrongFacts(statement, read);
}

function wrongText(statement: Statement, text: string): string | undefined {
  const { has = [], hasNot = [], line, matches, order, once } = statement;
  const missing = [has].flat().find((part) => !text.includes(part));
  if (missing !== undefined) return `it lacks ${JSON.stringify(missing)}`;
  const unwanted = [hasNot].flat().find((part) => text.includes(part));
  if (unwanted !== undefined) return `it has ${JSON.stringify(unwanted)}`;
  if (line !== undefined && !text.split("\n").includes(line)) return `no line is ${JSON.stringify(line)}`;
  if (matches !== undefined && !new RegExp(matches, "mu").test(text)) return `it does not match ${matches}`;
  if (order && !areInOrder(order, text)) return `not in this order: ${JSON.stringify(order)}`;
  if (once !== undefined && text.split(once).length !== 2) return `not just once: ${JSON.stringify(once)}`;
  return undefined;
}

function wrongFacts({ place, lost, isWhole }: Statement, read: ReadInput): string | undefined {
  if (place) {
    const [label, said] = place;
    const start = read.text.indexOf(said);
    const found = read.places.findLast(([from]) => from <= start)?.[1];
    if (start === -1 || found !== label) return `${JSON.stringify(said)} is at ${found}`;
  }
  if (lost !== undefined && !isLost(read, lost)) return `no loss "${lost}": ${JSON.stringify(read.lost)}`;
  return isWhole && read.lost.length > 0 ? `it has losses: ${JSON.stringify(read.lost)}` : undefined;
}

function isLost({ lost }: ReadInput, kind: string): boolean {
  return lost.some((loss) => loss.kind === kind);
}

function areInOrder(parts: readonly string[], text: string): boolean {
  let from = 0;
  return parts.every((part) => {
    const found = text.indexOf(part, from);
    from = found + part.length;
    return found !== -1;
  });
}
