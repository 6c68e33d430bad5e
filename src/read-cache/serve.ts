import { type DecideParts, decide } from "./decide.ts";
import { digest } from "./digest.ts";
import type { TextFile } from "./file.ts";
import type { Known } from "./known.ts";
import type { Meta } from "./meta.ts";
import type { Patch } from "./patch.ts";
import type { Shown } from "./proof.ts";
import { scopeOf } from "./scope.ts";

/** A read whose text is proven. */
export interface ProvenRead {
  /** The path as the model gave it, and the file that it names. */
  readonly path: string;
  readonly pathKey: string;
  readonly file: TextFile;
  /** Pi's text, and the lines that it is. */
  readonly text: string;
  readonly shown: Shown;
  readonly known: Known;
  readonly isRefreshOffered: boolean;
}

/** The text that the model is sent, and the details that are kept beside it. */
export interface Served {
  /** null: Pi's own text. */
  readonly text: string | null;
  readonly meta: Meta;
}

/** Answers a read. Returns null if it was aborted. */
export async function serve(
  read: ProvenRead,
  parts: Pick<DecideParts, "earlier" | "isAborted">,
): Promise<Served | null> {
  const { file, shown, known, path, isRefreshOffered } = read;
  const answer = await decide(
    { shown, hash: file.hash, file: file.text, known, path, isRefreshOffered },
    { ...parts, patch },
  );
  if (!answer) return null;
  const facts = {
    v: 1 as const,
    pathKey: read.pathKey,
    scopeKey: scopeOf(shown),
    servedHash: file.hash,
    totalLines: shown.total,
    rangeStart: shown.start,
    rangeEnd: shown.end,
    bytes: Buffer.byteLength(read.text),
    text: digest(answer.text ?? read.text),
    shown: digest(shown.body),
  };
  if (answer.mode === "full") return { text: null, meta: { ...facts, mode: answer.mode } };
  const { mode, baseHash, text } = answer;
  return { text, meta: { ...facts, mode, baseHash } };
}

/** The library of diffs is loaded with the first one. */
async function patch(before: string, after: string): Promise<Patch | null> {
  const { patchOf } = await import("./patch.ts");
  return patchOf(before, after);
}
