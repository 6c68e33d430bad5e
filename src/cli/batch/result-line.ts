import { isRecord } from "../../platform/json.ts";
import { escapedJson, jsonText } from "../../platform/visible.ts";
import type { JobRow } from "../../store/index.ts";
import { attemptsOf } from "../jobs/job-json.ts";

/** The line of a job that is over, without its end. @param result JSON of what its cell gave; null: it gave nothing */
export function resultLine(job: JobRow, result: string | null): string {
  const told = isRecord(job.told) ? job.told : {};
  const before = { job: job.id, n: job.n, status: job.state };
  const after = {
    // They are left out where they are undefined.
    error_code: told.error_code,
    error: told.error,
    suggestion: told.suggestion,
    output: told.output ?? "",
    sub_calls: told.sub_calls ?? 0,
    tokens: told.tokens ?? 0,
    cost_usd: told.cost_usd ?? 0,
    ms: told.ms ?? 0,
    attempts: attemptsOf(job),
    resumed: told.resumed ?? 0,
    session: job.session,
  };
  return `${jsonText(before).slice(0, -1)},"result":${escapedJson(onOneLine(result ?? "null"))},${jsonText(after).slice(1)}`;
}

/** Between the tokens of JSON a line's end means nothing, and within a string it cannot stand. */
const onOneLine = (json: string) => json.replaceAll(/[\r\n]/g, " ");
