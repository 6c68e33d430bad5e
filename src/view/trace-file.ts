import { gzipSync } from "node:zlib";
import { isErrorCode } from "../../runtime/index.ts";
import { amount } from "../platform/figures.ts";
import { redacted, redactedStart } from "../platform/redact.ts";
import { COLUMNS, type Head, NONE, PAGE_CALLS, type Row, type Texts } from "./format.ts";

/** A session or a run as the page takes it. */
export interface Trace {
  readonly head: Head;
  readonly rows: readonly Row[];
  /** The rows once more, as gzipped pages of columns. */
  readonly pages: readonly Uint8Array[];
  /** The texts, as gzipped chunks. */
  readonly chunks: readonly Uint8Array[];
}

export interface Tracing {
  /**
   * False: no prompt, answer, code, output, question, label, name, path
   * or id of a job is in the trace.
   */
  readonly texts: boolean;
  /** Bytes that the trace may take in a file. */
  readonly maxBytes: number;
  /** The build of Belay, and the time in ms since the epoch. */
  readonly belay: string;
  readonly now: number;
  /**
   * Words that lead a line for a shell to the store, with a space before
   * them; absent: it is the usual one.
   */
  readonly store?: string;
  /** The name of a session that has none, as a command takes it: `RUN/ID` of a job's. */
  readonly label?: string;
}

type Told = Pick<Head, "subject" | "session" | "execs" | "checkpoints" | "kinds" | "coverage"> &
  Pick<Head, "models" | "errors" | "labels" | "phases">;

/** Packs rows, and the texts of calls and execs. */
export function traceFile(told: Told, rows: readonly Row[], texts: readonly Kept[][], words: Words): Trace {
  const { belay, now, maxBytes } = words.tracing;
  const pages = columnsOf(rows);
  const fixed = (sumOf([gzipSync(JSON.stringify(told)), ...pages]) * 4) / 3;
  const kept = words.tracing.texts ? texts : [];
  // Base64 takes a third more.
  const { chunks, ranges, cut } = inChunks(kept, ((maxBytes - fixed - PAGE_BYTES) * 3) / 4);
  const cut_texts = cut + words.cut();
  const wholeness = cut_texts > 0 ? "cut" : "all";
  const head: Head = {
    trace: 2,
    belay,
    made_at: now,
    texts: words.tracing.texts ? wholeness : "none",
    cut_texts,
    store: words.tracing.texts ? (words.tracing.store ?? "") : "",
    redacted: words.keys(),
    ...told,
    calls: rows.length,
    chunks: ranges,
  };
  return { head, rows, pages, chunks };
}

/** The script, the style and what is around the blocks take less. */
const PAGE_BYTES = 64 * 1024;

/** A longer text keeps its beginning and its end, UTF-16 units. */
const BEGINNING = 48 * 1024;
const END = 16 * 1024;
const LABEL = 120;

/**
 * Texts as the trace may have them. Keys are replaced before a text is cut,
 * so that no part of one is left.
 */
export interface Words {
  readonly tracing: Tracing;
  /** A text without keys. A long one keeps its beginning and its end. */
  whole(text: string): string;
  /** A label; nothing without texts. */
  line(text: string): string;
  /** The names of a list; without texts those that a cell made up are numbered. */
  models(names: Names): string[];
  /** Names of a list as lines; without texts they are numbered, as `phase 1`. */
  listed(names: Names, noun: string): string[];
  /** An error code. Another user's store may have another text in its place. */
  code(code: string): string;
  /** Lines without keys; without texts one line that counts them. */
  counted(lines: readonly string[], noun: string): string[];
  /** Keys that were replaced so far. */
  keys(): number;
  /** Texts that were cut so far. */
  cut(): number;
}

export function openWords(tracing: Tracing): Words {
  let keys = 0;
  let cut = 0;

  function whole(text: string): string {
    if (!tracing.texts) return text;
    const clean = redacted(text);
    keys += clean === text ? 0 : stubsIn(clean) - stubsIn(text);
    if (clean.length <= BEGINNING + END) return clean;
    cut++;
    const left = clean.length - BEGINNING - END;
    return `${clean.slice(0, BEGINNING)}\n[… ${left} characters are left out …]\n${clean.slice(-END)}`;
  }

  return {
    tracing,
    whole,
    line: (text) => (tracing.texts ? redactedStart(text, LABEL) : ""),
    models: ({ all, isUsers }) =>
      all().map((name, at) => {
        if (isUsers(name)) return name;
        return tracing.texts ? redacted(name) : `a model that a cell named (${at})`;
      }),
    listed: ({ all }, noun) =>
      all().map((name, at) => {
        if (name === "") return "";
        return tracing.texts ? redactedStart(name, LABEL) : `${noun} ${at}`;
      }),
    code(code) {
      if (code === "" || isErrorCode(code)) return code;
      return tracing.texts ? redactedStart(code, LABEL) : "unknown";
    },
    counted: (lines, noun) =>
      tracing.texts || lines.length === 0 ? lines.map((line) => redacted(line)) : [amount(lines.length, noun)],
    keys: () => keys,
    cut: () => cut,
  };
}

const stubsIn = (text: string) => text.split("[redacted: ").length - 1;

/** Names by their numbers; the empty one is 0. */
export interface Names {
  all(): string[];
  /** True if nobody but a user, or the program, has given the name. */
  isUsers(name: string): boolean;
  /** @param isMadeUp a cell gave the name */
  numberOf(name: string | null, isMadeUp?: boolean): number;
}

export function openNames(): Names {
  const numbers = new Map([["", 0]]);
  const users = new Set([""]);
  return {
    all: () => [...numbers.keys()],
    isUsers: (name) => users.has(name),
    numberOf(name, isMadeUp = false) {
      const number = numbers.get(name ?? "") ?? numbers.size;
      numbers.set(name ?? "", number);
      if (!isMadeUp) users.add(name ?? "");
      return number;
    },
  };
}

/**
 * The numbers of calls as gzipped pages: one column after the other, of each the lowest bytes
 * first. So they take 9 bytes a call. null becomes `NONE`.
 */
export function columnsOf(rows: readonly Row[]): Uint8Array[] {
  const starts = Array.from({ length: Math.ceil(rows.length / PAGE_CALLS) }, (_, page) => page * PAGE_CALLS);
  return starts.map((start) => gzipSync(planesOf(rows.slice(start, start + PAGE_CALLS))));
}

function planesOf(rows: readonly Row[]): Uint8Array {
  const planes = new Uint8Array(COLUMNS.length * 4 * rows.length);
  for (const [at, row] of rows.entries()) {
    for (const [column, name] of COLUMNS.entries()) {
      const number = row[name];
      const kept = number === null ? NONE : Math.min(Math.max(0, Math.round(number)), NONE - 1);
      for (let byte = 0; byte < 4; byte++) planes[(column * 4 + byte) * rows.length + at] = kept / 2 ** (8 * byte);
    }
  }
  return planes;
}

/**
 * UTF-16 units of texts in a chunk: none takes longer to read than a turn of the event loop may.
 */
const CHUNK_UNITS = 256 * 1024;

/** Texts that may have to be cut, and the index of the error among them; null: none is one. */
export interface Kept {
  readonly texts: Texts;
  readonly error: number | null;
}

/**
 * The texts as gzipped chunks of JSON that together take this many bytes, and in how many entries
 * texts were cut for that: the oldest keep their beginnings alone, and after that nothing.
 *
 * @param groups a chunk has texts of one of them
 */
function inChunks(groups: readonly (readonly Kept[])[], maxBytes: number) {
  const parts = groups.flatMap(partsOf);
  const chunks: Uint8Array[] = parts.map((part) => packed(part.map(({ texts }) => texts)));
  let bytes = sumOf(chunks);
  let cut = 0;
  for (const shorter of [beginnings, nothing]) {
    for (const [at, part] of parts.entries()) {
      if (bytes <= maxBytes) break;
      const short = packed(part.map(shorter));
      const { length } = chunks[at] ?? short;
      if (short.length >= length) continue;
      if (shorter === beginnings) cut += part.length;
      bytes += short.length - length;
      chunks[at] = short;
    }
  }
  let first = 0;
  const ranges: Head["chunks"] = parts.map(({ length }) => {
    first += length;
    return [first - length, length];
  });
  return { chunks, ranges, cut };
}

const sumOf = (all: readonly Uint8Array[]) => all.reduce((sum, { length }) => sum + length, 0);

function partsOf(all: readonly Kept[]): Kept[][] {
  const parts: Kept[][] = [];
  let units = CHUNK_UNITS;
  for (const kept of all) {
    if (units >= CHUNK_UNITS) {
      parts.push([]);
      units = 0;
    }
    parts.at(-1)?.push(kept);
    units += kept.texts.join("").length;
  }
  return parts;
}

const packed = (texts: readonly Texts[]) => gzipSync(JSON.stringify(texts));

/** UTF-16 units that are left of a text, and of an error, which says why. */
const FEW = 40;
const OF_AN_ERROR = 400;

const beginnings = ({ texts, error }: Kept): Texts =>
  texts.map((text, at) => text.slice(0, at === error ? OF_AN_ERROR : FEW));

const nothing = ({ texts }: Kept): Texts => texts.map(() => "");
