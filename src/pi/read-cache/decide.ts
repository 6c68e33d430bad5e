import type { Patch } from "../../platform/patch.ts";
import { digest, type TextFile } from "./file.ts";

import { candidateOf, isOfOneState, type Known } from "./happened.ts";
import { FULL, type Meta, scopeOf } from "./meta.ts";
import type { Shown } from "./proof.ts";

/**
 * A read whose text is proven: what Pi would send, of which state of the file, and what the model
 * knows of the file.
 */
interface ProvenRead {
  /** The path as the model gave it. */
  readonly path: string;
  readonly file: TextFile;
  readonly shown: Shown;
  readonly known: Known;
  /** The model has the tool that asks for the text again. */
  readonly isRefreshOffered: boolean;
}

interface DecideParts {
  /** The whole file as it was at this hash; null if the text is not there. */
  earlier(hash: string): Promise<string | null>;
  patch(before: string, after: string): Promise<Patch | null>;
  isAborted(): boolean;
}

/** The answer to a read. `text` replaces Pi's; null: Pi's own is sent. */
type Answer =
  | { readonly mode: "full"; readonly text: null }
  | { readonly mode: "baseline_fallback"; readonly baseHash: string; readonly text: null }
  | { readonly mode: "unchanged" | "unchanged_range" | "diff"; readonly baseHash: string; readonly text: string };

/** Returns null if the read was aborted. */
export async function decide(read: ProvenRead, parts: DecideParts): Promise<Answer | null> {
  const { shown, known } = read;
  const { hash } = read.file;
  const candidate = candidateOf(known, shown);
  if (!candidate) return { mode: "full", text: null };
  const base = candidate.hash;
  const whole: Answer = { mode: "baseline_fallback", baseHash: base, text: null };
  if (!isOfOneState(known, candidate)) return whole;
  const isEdited = known.edited > candidate.seq;
  const isFull = scopeOf(shown) === FULL;
  const marker = (elsewhere: boolean): Answer => ({
    mode: isFull ? "unchanged" : "unchanged_range",
    baseHash: base,
    text: markerText(shown, elsewhere, read.isRefreshOffered),
  });
  // The model takes its own edit for what stands there, and something else has undone it.
  if (base === hash || !isFull) {
    if (isEdited) return whole;
    if (base === hash) return marker(false);
    const lines = candidate.shown ?? linesDigest(await parts.earlier(base), shown);
    return lines === digest(shown.body) ? marker(true) : whole;
  }
  const earlier = await parts.earlier(base);
  if (parts.isAborted()) return null;
  const text = earlier === null ? null : await usefulDiff(earlier, read, parts);
  return text === null ? whole : { mode: "diff", baseHash: base, text };
}

/** Digest of the same lines of an earlier text; null if it does not have them. */
function linesDigest(earlier: string | null, { start, end }: Shown): string | null {
  const lines = earlier?.split("\n") ?? [];
  return lines.length < end ? null : digest(lines.slice(start - 1, end).join("\n"));
}

const MOST_BYTES = 51_200;
const MOST_LINES = 2_000;
/** A diff that is hardly shorter than the file is harder to read than the file. */
const MOST_OF_BYTES = 0.9;
const MOST_OF_LINES = 0.85;

async function usefulDiff(earlier: string, read: ProvenRead, { patch }: DecideParts): Promise<string | null> {
  const { path, shown } = read;
  const file = read.file.text;
  const made = await patch(earlier, file);
  if (!made) return null;
  const text = diffText(path, made, shown.total);
  const bytes = Buffer.byteLength(text);
  const lines = text.split("\n").length;
  const isUseful = bytes < MOST_OF_BYTES * Buffer.byteLength(file) && lines <= MOST_OF_LINES * shown.total;
  return isUseful && bytes <= MOST_BYTES && lines <= MOST_LINES ? text : null;
}

/**
 * The text that replaces lines which the model has. `elsewhere`: other lines of the file have
 * changed.
 */
function markerText(shown: Shown, elsewhere: boolean, isRefreshOffered: boolean): string {
  const { start, end, total, notice } = shown;
  const lines = `unchanged in lines ${start}-${end}`;
  const first =
    scopeOf(shown) === FULL
      ? `unchanged, ${total} lines`
      : elsewhere
        ? `${lines}; changes exist outside this range`
        : `${lines} of ${total}`;
  const cure = isRefreshOffered ? "; readcache_refresh has the next read show it again" : "";
  return `[readcache: ${first}]\nYour earlier read of it in this conversation is current${cure}.${notice}`;
}

/** The text that replaces a whole file which has changed since the model's last read. */
function diffText(path: string, { hunks, changed }: { hunks: string; changed: number }, total: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  const name = path.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, "_");
  return `[readcache: ${changed} lines changed of ${total}]\n--- a/${name}\n+++ b/${name}\n${hunks}`;
}

/** The text that the model is sent, and the details that are kept beside it. */
export interface Served {
  /** null: Pi's own text. */
  readonly text: string | null;
  readonly meta: Meta;
}

/**
 * Answers a read. Returns null if it was aborted.
 *
 * @param pi the text that Pi would send, and the file's absolute path
 */
export async function serve(
  read: ProvenRead,
  pi: Pick<Meta, "text" | "pathKey">,
  parts: Pick<DecideParts, "earlier" | "isAborted">,
): Promise<Served | null> {
  const answer = await decide(read, { ...parts, patch });
  if (!answer) return null;
  const { file, shown } = read;
  const facts = {
    v: 1 as const,
    pathKey: pi.pathKey,
    scopeKey: scopeOf(shown),
    servedHash: file.hash,
    totalLines: shown.total,
    rangeStart: shown.start,
    rangeEnd: shown.end,
    bytes: Buffer.byteLength(pi.text),
    text: digest(answer.text ?? pi.text),
    shown: digest(shown.body),
  };
  if (answer.mode === "full") return { text: null, meta: { ...facts, mode: answer.mode } };
  const { mode, baseHash, text } = answer;
  return { text, meta: { ...facts, mode, baseHash } };
}

/** The library of diffs is loaded with the first one. */
async function patch(before: string, after: string): Promise<Patch | null> {
  const { patchOf } = await import("../../platform/patch.ts");
  return patchOf(before, after);
}
