import type { Shown } from "./proof.ts";
import { FULL, scopeOf } from "./scope.ts";

/** The text that replaces lines which the model has. `elsewhere`: other lines of the file have changed. */
export function markerText(shown: Shown, { elsewhere, isRefreshOffered }: MarkerFacts): string {
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

export interface MarkerFacts {
  readonly elsewhere: boolean;
  /** The model has the tool that asks for the text again. */
  readonly isRefreshOffered: boolean;
}

/** The text that replaces a whole file which has changed since the model's last read. */
export function diffText(path: string, { hunks, changed }: { hunks: string; changed: number }, total: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  const name = path.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, "_");
  return `[readcache: ${changed} lines changed of ${total}]\n--- a/${name}\n+++ b/${name}\n${hunks}`;
}
