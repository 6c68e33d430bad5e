import { relative } from "node:path";
import { amount } from "../platform/figures.ts";
import { inLine } from "../platform/visible.ts";

const NAMED = 5;

/** `2 files differ from what is loaded: a.txt, new.txt`; null if none does. @param paths absolute */
export function changedSentence(paths: readonly string[], cwd: string): string | null {
  if (paths.length === 0) return null;
  const names = paths.slice(0, NAMED).map((path) => inLine(relative(cwd, path)));
  const more = paths.length > NAMED ? `, … ${amount(paths.length - NAMED, "more", "more")}` : "";
  return `${amount(paths.length, "file differs", "files differ")} from what is loaded: ${names.join(", ")}${more}`;
}
