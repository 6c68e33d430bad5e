import { RlmError } from "../../../runtime/index.ts";
import type { Models } from "../../models/index.ts";
import { amount } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import { meantBy } from "../../platform/nearest.ts";
import { openSessionWith } from "../../session/index.ts";
import { BadInput } from "./lines.ts";

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
 *
 * @throws BadInput for an id that none has; RlmError `js_error` for an input for which the
 * expression throws
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
    page = [];
    units = 0;
  }
  yield* chosenIn(page, where);
  const [missing] = wanted;
  if (missing === undefined) return;
  const more = wanted.size > 1 ? `, nor ${amount(wanted.size - 1, "other one", "other ones")}` : "";
  const problem = `--only ${JSON.stringify(missing)}: no input has this id${more}${meantBy(missing, ids)}`;
  throw new BadInput(null, problem);
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

/** The inputs of which an expression holds, up to the first one for which it fails. */
interface Chosen {
  /** Places among the inputs. */
  readonly chosen: readonly number[];
  /** The input for which the expression threw, and what it threw; `null`: none. */
  readonly failed: { readonly at: number; readonly message: string } | null;
}

/** Time for the inputs that are looked at together, ms. */
const MOST_MS = 10_000;

/**
 * Looks at inputs by a cell's expression, such as `job.stars <= 2`, in the sandbox. It has no
 * context, and asks no model.
 *
 * @param inputs JSON of each
 * @throws RlmError if the expression cannot be read, or takes too long
 */
async function chosenBy(expression: string, inputs: readonly string[]): Promise<Chosen> {
  await using session = await openSessionWith(
    { roots: [], limits: { max_execution_ms: MOST_MS } },
    { job: `[${inputs.join(",")}]`, models: NO_MODELS },
  );
  const envelope = await session.exec(cellOf(expression), { name: "--where" });
  if (!envelope.success) {
    const { error_code: code, error_message: message } = envelope;
    throw new RlmError(code, `--where ${JSON.stringify(expression)}: ${message}`, {
      suggestion: "Write one expression of a row, as a cell has it: --where 'job.stars <= 2'.",
    });
  }
  return chosenOf(envelope.result_json);
}

/** The expression stands in lines of its own, so that a comment ends with it. */
function cellOf(expression: string): string {
  return `((rows) => {
  "use strict";
  const holds = (job) => (
${expression}
  );
  const chosen = [];
  for (let at = 0; at < rows.length; at++) {
    try {
      const value = holds(Object.freeze(rows[at]));
      if (typeof value?.then === "function") throw new TypeError("it gives a promise, which is neither true nor false");
      if (value) chosen.push(at);
    } catch (error) {
      return { chosen, failed: { at, message: String(error) } };
    }
  }
  return { chosen, failed: null };
})(job)`;
}

function chosenOf(result: unknown): Chosen {
  const { chosen, failed } = isRecord(result) ? result : {};
  const places = Array.isArray(chosen) ? chosen.filter((at) => typeof at === "number") : [];
  if (!isRecord(failed)) return { chosen: places, failed: null };
  return { chosen: places, failed: { at: Number(failed.at), message: String(failed.message) } };
}

const NO_MODELS: Models = {
  fallback: null,
  resolve() {
    throw new RlmError("no_model_configured", "--where asks no model", {
      suggestion: "Ask in the script, and choose by what it answered.",
    });
  },
  price: () => null,
};
