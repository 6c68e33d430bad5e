import { RlmError } from "../../../runtime/errors.ts";
import { canonicalJson } from "../../platform/canonical-json.ts";
import { readJson } from "../../platform/written-json.ts";
import { misuse } from "../failure.ts";
import type { Asked, KnownJob } from "../jobs/port.ts";
import { capped, INPUT_BOUNDS } from "./bounds.ts";
import { inputIn, jobState } from "./jobs.ts";
import { anyColumn, numberColumn, type Row, seal, textColumn, textColumnOrNull } from "./seal.ts";

/** The columns that {@link inputOf} reads. */
export const INPUT_COLUMNS = `run, n, id, ${capped("input", INPUT_BOUNDS.bytes)}, context, asked`;

/** The columns that {@link knownOf} reads. */
export const KNOWN_COLUMNS = `run, n, id, state, context, asked,
  (SELECT count(*) FROM answers a WHERE a.run = jobs.run AND a.n = jobs.n AND a.origin_run <> a.run) AS reused,
  (SELECT parts FROM contexts WHERE contexts.hash = jobs.context) AS parts`;

/** The content of the column `asked`: SHA-256 over a job's input and context. Equal values have equal sums, in whatever order their keys are. */
export function sumOfAsked(run: string, { id, input, context }: Asked): Buffer {
  return seal([run, id, canonicalJson(readJson(input)), context]);
}

/** The input of a job, if it is what was asked. @param of the run and the number of the job @throws RlmError `store_corrupt` */
export function inputOf(row: Row | undefined, of: { readonly run: string; readonly n: number }): string {
  if (!row) throw misuse(`run ${of.run} has no job ${of.n}`);
  const job = askedOf(row);
  if (isSum(anyColumn(row, "asked"), job.run, job)) return job.input;
  throw new RlmError("store_corrupt", `the input of job ${job.id} of run ${job.run} is not what was asked`, {
    suggestion: "Its row is damaged. Submit the same input again, and have the job tried again.",
  });
}

/**
 * The state in which the run has a job. The same text under another key, such as that of a folder that was moved, is not a
 * change.
 * @param parts those of the wanted context; null: there is none
 */
export function knownOf(row: Row, wanted: Asked, parts: string | null): KnownJob {
  const run = textColumn(row, "run");
  const asked = anyColumn(row, "asked");
  const isSameText = parts !== null && anyColumn(row, "parts") === parts;
  const compared = isSameText ? { ...wanted, context: textColumnOrNull(row, "context") } : wanted;
  const isChanged = !isSum(asked, run, compared);
  return { n: numberColumn(row, "n"), state: jobState(row, "state"), isChanged, reused: numberColumn(row, "reused") };
}

function askedOf(row: Row): Asked & { readonly run: string } {
  const run = textColumn(row, "run");
  const id = textColumn(row, "id");
  const context = textColumnOrNull(row, "context");
  return { run, id, input: inputIn(row), context };
}

function isSum(found: ReturnType<typeof anyColumn>, run: string, asked: Asked): boolean {
  return found instanceof Uint8Array && sumOfAsked(run, asked).equals(found);
}
