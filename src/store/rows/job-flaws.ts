import { messageOf } from "../../platform/errors.ts";
import { inputOf } from "./job-input.ts";
import { decodeRun, resultOf } from "./jobs.ts";
import { number, type Row, text } from "./seal.ts";

/** Lines for people that say what is wrong with a whole row of `runs` or `jobs`; none: nothing that shows. */
export function flawsOf(row: Row | undefined, kind: "run" | "job"): string[] {
  if (!row) return [];
  const named = kind === "run" ? `run ${String(row.name)}` : `job ${String(row.id)} of run ${String(row.run)}`;
  try {
    if (kind === "run") decodeRun(row);
    else {
      resultOf(row);
      inputOf(row, { run: text(row, "run"), n: number(row, "n") });
    }
    return [];
  } catch (error) {
    const problem = messageOf(error);
    return [problem.includes(named) ? problem : `${named}: ${problem}`];
  }
}
