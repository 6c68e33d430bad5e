import { applyPatch } from "diff";

/** What became visible to a model, in order. */
export type Seen =
  | {
      readonly is: "text";
      readonly path: string;
      readonly start: number;
      readonly total: number;
      readonly text: string;
    }
  | { readonly is: "marker" }
  | { readonly is: "diff"; readonly path: string; readonly text: string }
  | { readonly is: "write"; readonly path: string; readonly text: string }
  | { readonly is: "edit"; readonly path: string; readonly line: number; readonly text: string }
  | { readonly is: "distrust"; readonly path: string; readonly start: number; readonly end: number }
  | { readonly is: "compaction" };

/** What a model believes of one file. */
export interface Belief {
  readonly lines: ReadonlyMap<number, string>;
  /** null: it never saw the whole. */
  readonly total: number | null;
}

/**
 * The beliefs of a model that takes every answer at its word: a text sets its lines, a diff changes the last whole text that it
 * read, its own edits and writes change lines, and a marker tells it nothing new. It does not know Belay's rules.
 */
export function believed(seen: readonly Seen[]): (path: string) => Belief {
  const files = new Map<string, { lines: Map<number, string>; total: number | null; whole: string | null }>();
  const at = (path: string) => {
    const file = files.get(path) ?? { lines: new Map(), total: null, whole: null };
    files.set(path, file);
    return file;
  };
  const takeWhole = (path: string, text: string, whole: string | null) => {
    const lines = text.split("\n");
    files.set(path, { lines: new Map(lines.map((line, n) => [n + 1, line])), total: lines.length, whole });
  };
  for (const one of seen) {
    if (one.is === "compaction") files.clear();
    else if (one.is === "text") {
      const lines = one.text.split("\n");
      if (one.start === 1 && lines.length === one.total) takeWhole(one.path, one.text, one.text);
      else for (const [n, line] of lines.entries()) at(one.path).lines.set(one.start + n, line);
    } else if (one.is === "diff") {
      const text = patched(at(one.path).whole ?? "", one.text);
      if (text === null) files.delete(one.path);
      else takeWhole(one.path, text, text);
    } else if (one.is === "write") takeWhole(one.path, one.text, at(one.path).whole);
    else if (one.is === "edit") {
      const { lines } = at(one.path);
      if (lines.has(one.line)) lines.set(one.line, one.text);
    } else if (one.is === "distrust") {
      for (let line = one.start; line <= one.end; line++) at(one.path).lines.delete(line);
    }
  }
  return at;
}

/** The text that a diff leads to; null if it does not fit, as one that another extension has changed. */
function patched(before: string, diff: string): string | null {
  const hunks = diff.split("\n").slice(3).join("\n");
  try {
    const text = applyPatch(before, hunks, { autoConvertLineEndings: false });
    return text === false ? null : text;
  } catch {
    return null;
  }
}
