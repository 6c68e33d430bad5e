import { RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { meantBy } from "../../platform/nearest.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { chosenBy } from "./where.ts";

/** The part of the inputs that a line is about. */
export interface Choice {
  /** Ids of jobs. Absent or empty: all. */
  readonly only?: readonly string[] | undefined;
  /** An expression over `job`, as a cell has it. Absent: all. */
  readonly where?: string | undefined;
}

/** An input with its id, and where the user gave it. */
interface Placed {
  readonly at: string;
  readonly job: { readonly id: string; readonly input: string };
}

export const hasChoice = ({ only = [], where }: Choice) => only.length > 0 || where !== undefined;

/** Flags that choose a part, as messages name them. */
export function choiceText({ only = [], where }: Choice): string {
  const flags = [only.length > 0 ? "--only" : null, where === undefined ? null : `--where ${JSON.stringify(where)}`];
  return flags.filter((flag) => flag !== null).join(" and ");
}

/**
 * The inputs that are chosen, in their order. All of them are read.
 * @throws UsageError for an id that none has; RlmError `js_error` for an input for which the expression throws
 */
export async function* chosenAmong<Job extends Placed>(
  jobs: AsyncIterable<Job>,
  { only = [], where }: Choice,
): AsyncIterable<Job> {
  const wanted = new Set(only);
  const ids: string[] = [];
  let page: Job[] = [];
  let units = 0;
  for await (const one of jobs) {
    if (ids.length < MOST_NAMES) ids.push(one.job.id);
    if (only.length > 0 && !wanted.delete(one.job.id)) continue;
    page.push(one);
    units += one.job.input.length;
    if (page.length < PAGE && units < PAGE_UNITS) continue;
    yield* chosenIn(page, where);
    [page, units] = [[], 0];
  }
  yield* chosenIn(page, where);
  const [missing] = wanted;
  if (missing === undefined) return;
  const more = wanted.size > 1 ? `, nor ${amount(wanted.size - 1, "other one", "other ones")}` : "";
  const problem = `--only ${JSON.stringify(missing)}: no input has this id${more}${meantBy(missing, ids)}`;
  throw new UsageError(problem, commandLine(["help", "batch"]));
}

/** Inputs that are looked at together. */
const PAGE = 1000;
const PAGE_UNITS = 2 ** 20;
/** Ids among which the one that was probably meant is looked for. */
const MOST_NAMES = 1000;

async function* chosenIn<Job extends Placed>(page: readonly Job[], where: string | undefined): AsyncIterable<Job> {
  if (where === undefined || page.length === 0) {
    yield* page;
    return;
  }
  const { chosen, failed } = await chosenBy(
    where,
    page.map(({ job }) => job.input),
  );
  const at = failed && page[failed.at];
  if (failed && at) {
    const problem = `--where fails for job ${JSON.stringify(at.job.id)} (${at.at}): ${failed.message}`;
    throw new RlmError("js_error", `${problem}; nothing was written`, {
      suggestion: "Write an expression that no input makes throw: job.tags?.length > 0 is false if there are none.",
    });
  }
  for (const place of chosen) {
    const job = page[place];
    if (job !== undefined) yield job;
  }
}
