/**
 * The oldest Node that runs Belay: the first 22 with `styleText`, `node:sqlite` and type stripping
 * as used here.
 */
export const OLDEST_NODE = "22.19.0";

/** The problem of this version of Node and its cure, or null. */
export function nodeProblem(version: string): string | null {
  const parts = numbers(version);
  const oldest = numbers(OLDEST_NODE);
  const first = oldest.findIndex((part, index) => part !== parts[index]);
  if (first < 0 || (parts[first] ?? 0) > (oldest[first] ?? 0)) return null;
  return `Node ${version} is too old: Belay needs ${OLDEST_NODE} or newer. Install one from https://nodejs.org, then run \`node --version\` to check which one is found first.`;
}

/** `localeCompare` would load tables of languages, which takes 3 % of the time of a start. */
const numbers = (version: string) => version.split(".").map((part) => Number.parseInt(part, 10));
