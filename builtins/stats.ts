import { defineBuiltin } from "./define.ts";

export const stats = defineBuiltin({
  name: "stats",
  signature: "function stats(): Stats",
  summary: "Size and identity of the context, and files that could not be read. `tokens` is an estimate (chars / 4).",
  example: "stats()",
  errors: { context_not_loaded: "no context is loaded" },
  types: `interface Stats {
  chars: number;
  tokens: number;
  lines: number;
  docs: number;
  /** Present if P is not a string: help("P") says what works of it. */
  large?: true;
  sources: string[];
  /** sha256 of P's UTF-8, hex. */
  context_hash: string;
  /**
   * Files of the sources that are not in P. Those that should have text and could not be read are
   * unread, and stand first in files; at most 100 are listed, and capped says if that is not all.
   */
  skipped: { count: number; unread: number; files: { path: string; reason: string }[]; capped: boolean };
  /**
   * Documents that became text when they were loaded, and what is not in the text; absent if there
   * are none.
   */
  converted?: { count: number; lossy: number; lost: Record<string, number>; files: ConvertedFile[] };
}
interface ConvertedFile {
  id: string;
  /** pdf, docx, …, or text if its bytes were decoded. */
  kind: string;
  /** SHA-256 and size of the original. */
  sha256: string;
  bytes: number;
  /** The reader that made the text. */
  reader: string;
  /** The encoding of a text that was decoded, such as gbk. */
  encoding?: string;
  /** The number of places that doc_at names. */
  places: number;
  /** Losses by kind, each with the first 20 places. */
  lost: { kind: string; count: number; where: (string | number)[] }[];
}`,
  params: {},
  run(services) {
    const context = services.context();
    return {
      chars: context.length,
      tokens: Math.floor(context.length / 4),
      lines: context.lines,
      docs: context.documents.length,
      ...(context.isLarge ? { large: true } : {}),
      sources: context.sources,
      context_hash: context.hash,
      skipped: context.skipped,
      ...(context.converted === null ? {} : { converted: context.converted }),
    };
  },
});
