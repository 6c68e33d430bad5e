import { relative } from "node:path";
import { compact } from "../../platform/figures.ts";
import { knownOf, MODES, type Served, type StatusFacts, savedTokens, statusText } from "../../read-cache/index.ts";
import { oneLine } from "../view/texts.ts";
import type { ReadContext } from "./follow.ts";
import { answersOn, type BranchReading, happenedTo } from "./happened.ts";

const PATH_UNITS = 60;

/** The page of `/readcache-status` for a branch. */
export function statusOf(
  reading: BranchReading,
  { cwd, ...facts }: Pick<StatusFacts, "store" | "failures"> & { readonly cwd: string },
): string {
  const answers = answersOn(reading.branch);
  const paths = new Set(answers.map(({ meta }) => meta.pathKey));
  const known = new Map([...paths].map((path) => [path, knownOf(happenedTo(path, null, reading))]));
  return statusText({ known, answers, ...facts }, (path) => shortened(path, cwd));
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

function shortened(path: string, cwd: string): string {
  const within = relative(cwd, path);
  return oneLine(within.startsWith("..") ? path : within, PATH_UNITS);
}
