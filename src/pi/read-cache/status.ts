import { relative } from "node:path";
import { knownOf, type StatusFacts, statusText } from "../../read-cache/index.ts";
import { oneLine } from "../view/texts.ts";
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
  return statusText({ known, answers, ...facts }, (path) => {
    const within = relative(cwd, path);
    return oneLine(within.startsWith("..") ? path : within, PATH_UNITS);
  });
}
