import type { Patch } from "../../platform/patch.ts";
import { type DecideParts, decide, type ProvenRead } from "./decide.ts";
import { digest } from "./digest.ts";
import type { Meta } from "./meta.ts";
import { scopeOf } from "./scope.ts";

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
