import type { JobRow } from "../../src/store/index.ts";
import type { Evidence, Looked } from "./judge.ts";

/** The job that ends every process that tries it. */
export const POISON = "poison";

const ENDING = new URL("../../tests/support/poison.js", import.meta.url).href;

/** Variables of a process in which that job does so. Processes that this one starts have them too. */
export const POISONED = { NODE_OPTIONS: `--import ${ENDING}` };

/** The rest is judged as in a run that nobody disturbs. */
export function withoutPoison(end: Looked, results: string): Pick<Evidence, "end" | "results"> {
  const lines = results.split("\n").filter((line) => !line.startsWith(`{"job":"${POISON}"`));
  return { end: { ...end, jobs: end.jobs.filter(({ id }) => id !== POISON) }, results: lines.join("\n") };
}

/** Whether it was taken for a job that ends its processes. */
export function isGivenUp({ state, told }: JobRow): boolean {
  return state === "failed" && JSON.stringify(told).includes('"job_crashed"');
}

/** What is wrong with the end of the poison. */
export function wrongPoison({ jobs }: Looked): readonly string[] {
  const row = jobs.find(({ id }) => id === POISON);
  return row && isGivenUp(row) ? [] : [`the poison was not given up: ${JSON.stringify(row)}`];
}
