import { RlmError } from "../../index.ts";
import type { Models } from "../../models/index.ts";
import { isRecord } from "../../platform/json.ts";
import { openSessionWith } from "../../session/index.ts";

/** The inputs of which an expression holds, up to the first one for which it fails. */
export interface Chosen {
  /** Places among the inputs. */
  readonly chosen: readonly number[];
  /** The input for which the expression threw, and what it threw; `null`: none. */
  readonly failed: { readonly at: number; readonly message: string } | null;
}

/** Time for the inputs that are looked at together, ms. */
const MOST_MS = 10_000;

/**
 * Looks at inputs by a cell's expression, such as `job.stars <= 2`, in the sandbox. It has no context, and asks no model.
 * @param inputs JSON of each
 * @throws RlmError if the expression cannot be read, or takes too long
 */
export async function chosenBy(expression: string, inputs: readonly string[]): Promise<Chosen> {
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
  return chosenIn(envelope.result_json);
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

function chosenIn(result: unknown): Chosen {
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
