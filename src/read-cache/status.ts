import type { Known } from "./known.ts";
import type { Meta, Mode } from "./meta.ts";
import { FULL } from "./scope.ts";

/** Facts about the cache on a branch. */
export interface StatusFacts {
  /** The model's knowledge, by path. */
  readonly known: ReadonlyMap<string, Known>;
  /** Answers since the last compaction, with the bytes that were sent. */
  readonly answers: readonly { readonly meta: Meta; readonly sentBytes: number }[];
  /** The state of the store, in words. */
  readonly store: string;
  /** Reads that were left as they were because something failed, and why the last one was. */
  readonly failures: { readonly count: number; readonly last: string };
}

const SHOWN_FILES = 10;
const BYTES_A_TOKEN = 4;

/** The words for how a file was sent. */
export const MODES: { readonly [mode in Mode]: string } = {
  full: "whole",
  unchanged: "unchanged",
  unchanged_range: "unchanged in their lines",
  diff: "as a diff",
  baseline_fallback: "whole again",
};

/** The page of `/readcache-status`. `shorten` makes a path fit for a line. */
export function statusText(
  { known, answers, store, failures }: StatusFacts,
  shorten: (path: string) => string,
): string {
  const files = [...known].flatMap(([path, { full, ranges }]) => {
    const scopes = [...(full ? [FULL] : []), ...ranges.keys()];
    return scopes.length > 0 ? [{ path: shorten(path), scopes: scopes.map(scopeName) }] : [];
  });
  const count = files.reduce((sum, { scopes }) => sum + scopes.length, 0);
  const named = files.slice(0, SHOWN_FILES).map(({ path, scopes }) => `  ${path}: ${listed(scopes)}`);
  const rest = files.length > SHOWN_FILES ? [`  and ${files.length - SHOWN_FILES} more`] : [];
  const modes = Object.entries(MODES).map(([mode, name]) => {
    return `${answers.filter(({ meta }) => meta.mode === mode).length} ${name}`;
  });
  const { count: failed, last } = failures;
  return [
    "The read cache is on",
    `known   ${amount(count, "scope")} of ${amount(files.length, "file")} that the model has`,
    ...named,
    ...rest,
    `answers ${modes.join(", ")}`,
    `saved   ~${savedTokens(answers).toLocaleString("en-US")} tokens of read results since the last compaction`,
    `texts   ${store}`,
    ...(failed > 0 ? [`failed  ${amount(failed, "time")}, and Pi's answer stayed; the last one: ${last}`] : []),
  ].join("\n");
}

/** Tokens by which answers were shorter than Pi's. */
export function savedTokens(answers: StatusFacts["answers"]): number {
  return Math.round(answers.reduce((sum, { meta, sentBytes }) => sum + meta.bytes - sentBytes, 0) / BYTES_A_TOKEN);
}

function amount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function scopeName(scope: string): string {
  return scope === FULL ? "whole" : scope.replace(/^r:(\d+):/, "lines $1-");
}

const SHOWN_SCOPES = 5;

function listed(scopes: readonly string[]): string {
  const rest = scopes.length > SHOWN_SCOPES ? [`${scopes.length - SHOWN_SCOPES} more`] : [];
  return [...scopes.slice(0, SHOWN_SCOPES), ...rest].join(", ");
}
