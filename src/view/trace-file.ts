import { gzipSync } from "node:zlib";
import { isErrorCode } from "../../runtime/index.ts";
import { amount } from "../platform/figures.ts";
import { redacted, redactedStart } from "../platform/redact.ts";
import { columnsOf, inChunks, type Kept, sumOf } from "./columns.ts";
import type { Head, Row } from "./format.ts";

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

type Told = Pick<Head, "subject" | "session" | "execs" | "checkpoints" | "models" | "errors" | "kinds" | "coverage">;

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
