import { relative } from "node:path";
import { compact } from "../../platform/figures.ts";
import { oneLine } from "../view/texts.ts";
import type { Served } from "./decide.ts";
import type { ReadContext, ReadFollower } from "./follow.ts";
import { answersOn, type BranchReading, happenedTo, knownOf, type ReadAnswer } from "./happened.ts";
import { FULL, type Meta } from "./meta.ts";

const SHOWN_FILES = 10;
const SHOWN_SCOPES = 5;
const PATH_UNITS = 60;
const BYTES_A_TOKEN = 4;

/** The words for how a file was sent. */
const MODES: { readonly [mode in Meta["mode"]]: string } = {
  full: "whole",
  unchanged: "unchanged",
  unchanged_range: "unchanged in their lines",
  diff: "as a diff",
  baseline_fallback: "whole again",
};

/**
 * The page of `/readcache-status` for a branch.
 *
 * @param store its state, in words
 * @param failures reads that were left as they were because something failed, and why the last one
 * was
 */
export function statusOf(reading: BranchReading, store: string, failures: ReadFollower["failures"]): string {
  const answers = answersOn(reading.branch);
  const files = [...new Set(answers.map(({ meta }) => meta.pathKey))].flatMap((path) => {
    const { full, ranges } = knownOf(happenedTo(path, null, reading));
    const scopes = [...(full ? [FULL] : []), ...ranges.keys()];
    return scopes.length > 0 ? [{ path: shortened(path, reading.cwd), scopes: scopes.map(scopeName) }] : [];
  });
  const count = files.reduce((sum, { scopes }) => sum + scopes.length, 0);
  const named = files.slice(0, SHOWN_FILES).map(({ path, scopes }) => `  ${path}: ${listed(scopes)}`);
  const rest = files.length > SHOWN_FILES ? [`  and ${files.length - SHOWN_FILES} more`] : [];
  const modes = Object.entries(MODES).map(([mode, name]) => {
    return `${answers.filter(({ meta }) => meta.mode === mode).length} ${name}`;
  });
  return [
    "The read cache is on",
    `known   ${amount(count, "scope")} of ${amount(files.length, "file")} that the model has`,
    ...named,
    ...rest,
    `answers ${modes.join(", ")}`,
    `saved   ~${savedTokens(answers).toLocaleString("en-US")} tokens of read results since the last compaction`,
    `texts   ${store}`,
    ...(failures.count > 0
      ? [`failed  ${amount(failures.count, "time")}, and Pi's answer stayed; the last one: ${failures.last}`]
      : []),
  ].join("\n");
}

/** `read cache: src/a.ts unchanged · ~2.1k tokens saved`, once this is answered. */
export function statusLine(
  { meta, text }: Served,
  { cwd, sessionManager }: Pick<ReadContext, "cwd" | "sessionManager">,
): string {
  const own = { meta, sentBytes: text === null ? meta.bytes : Buffer.byteLength(text) };
  const saved = savedTokens([...answersOn(sessionManager.getBranch()), own]);
  return `read cache: ${shortened(meta.pathKey, cwd)} ${MODES[meta.mode]} · ~${compact(saved)} tokens saved`;
}

/** Tokens by which answers were shorter than Pi's. */
function savedTokens(answers: readonly ReadAnswer[]): number {
  return Math.round(answers.reduce((sum, { meta, sentBytes }) => sum + meta.bytes - sentBytes, 0) / BYTES_A_TOKEN);
}

function amount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function scopeName(scope: string): string {
  return scope === FULL ? "whole" : scope.replace(/^r:(\d+):/, "lines $1-");
}

function listed(scopes: readonly string[]): string {
  const rest = scopes.length > SHOWN_SCOPES ? [`${scopes.length - SHOWN_SCOPES} more`] : [];
  return [...scopes.slice(0, SHOWN_SCOPES), ...rest].join(", ");
}

function shortened(path: string, cwd: string): string {
  const within = relative(cwd, path);
  return oneLine(within.startsWith("..") ? path : within, PATH_UNITS);
}
