import * as v from "valibot";
import { argumentError, type CallScope, type Json, LIMITS, RlmError } from "../runtime/index.ts";
import { factsOf } from "./facts.ts";

const countable = (what: string) => v.pipe(v.number(what), v.integer(what), v.minValue(1, what));
const Options = v.strictObject({
  tools: v.exactOptional(v.array(v.string("must be a list of names"), "must be a list of names")),
  model: v.exactOptional(v.string("must be a string")),
  system: v.exactOptional(v.string("must be a string")),
  max_tokens: v.exactOptional(countable("must be a whole number above 0")),
  timeout_ms: v.exactOptional(countable("must be a whole number of ms above 0")),
  schema: v.exactOptional(
    v.record(
      v.string(),
      v.custom<Json>(() => true),
      "must be a JSON Schema, an object",
    ),
  ),
});

/** The batch that a call belongs to: the guest's own number of it, and how many of it may be in flight at once. */
const Batch = v.object({ id: v.number(), max_concurrent: v.exactOptional(v.number()) });

/** What one sub-call asks for, by the names that cells use. */
export interface SubCallRequest extends v.InferOutput<typeof Options> {
  readonly prompt: string;
  readonly batch?: v.InferOutput<typeof Batch>;
}

/**
 * Reads `llm_query(prompt, { … })` or, as the spec has it, `llm_query(prompt, tools)`.
 * @throws RlmError a TypeError for the guest that names the argument
 */
export function readSubCall(name: string, args: readonly Json[]): SubCallRequest {
  const [prompt, given, batch] = args;
  if (typeof prompt !== "string") {
    throw argumentError("TypeError", `${name}: prompt must be a string`, `Call it as ${name}(prompt, { … }).`);
  }
  if (Buffer.byteLength(prompt) > LIMITS.promptBytes) {
    const size = `${(Buffer.byteLength(prompt) / 2 ** 20).toFixed(1)} MB`;
    throw argumentError("RangeError", `${name}: the prompt has ${size} (limit 1 MB)`, "Send less text in one prompt.");
  }
  return { prompt, ...readOptions(name, given), ...readBatch(name, batch) };
}

function readOptions(name: string, given: Json | undefined): v.InferOutput<typeof Options> {
  if (given === undefined || given === null) return {};
  const checked = v.safeParse(Options, Array.isArray(given) ? { tools: given } : given);
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const key = String(issue.path?.[0].key ?? "options");
  const known = Object.keys(Options.entries);
  if (issue.path && !known.includes(key)) {
    throw argumentError("TypeError", `${name}: unknown option ${key}`, `Options are ${known.join(", ")}.`);
  }
  throw argumentError("TypeError", `${name}: ${key} ${issue.message}`, `help("${name.split(":")[0]}") has the types.`);
}

function readBatch(name: string, batch: Json | undefined): Pick<SubCallRequest, "batch"> {
  if (batch === undefined) return {};
  const checked = v.safeParse(Batch, batch);
  if (checked.success) return { batch: checked.output };
  throw argumentError("TypeError", `${name} takes 2 arguments (prompt, options)`, "Leave out what comes after them.");
}

/** Looks at a sub-call when the cell makes it: what is wrong with it or over the budget is refused at once. */
export function checkSubCall(request: SubCallRequest, scope: CallScope): void {
  checkPrompt("llm_query", request);
  if (request.prompt.includes("[object Promise]")) scope.warn("unawaited_value_in_prompt");
  requireModel(request, scope);
  if (factsOf(scope).remaining_time_ms <= 0) throw budgetExceeded("its time is over");
  const left = callsLeft(scope);
  if (left < 1) throw budgetExceeded("no sub-calls are left");
}

/** @throws RlmError for a prompt that asks nothing */
export function checkPrompt(name: string, { prompt }: Pick<SubCallRequest, "prompt">): void {
  if (prompt.trim() !== "") return;
  throw argumentError("TypeError", `${name}: the prompt is empty`, "Say what the model is to do.");
}

/** @throws RlmError `no_model_configured` if neither the call nor the session names a model */
export function requireModel({ model }: Pick<SubCallRequest, "model">, scope: CallScope): void {
  const { no_model } = factsOf(scope);
  if (no_model === null || model !== undefined) return;
  throw new RlmError("no_model_configured", "no model is configured for sub-calls", {
    guestName: "SubAgentError",
    retriable: false,
    suggestion: no_model,
  });
}

/** Calls that may still be made. */
export function callsLeft(scope: CallScope): number {
  return Math.max(0, factsOf(scope).remaining_sub_calls - scope.newCalls());
}

export function tokensLeft(scope: CallScope): number {
  return factsOf(scope).remaining_tokens;
}

export function budgetExceeded(why: string): RlmError {
  return new RlmError("budget_exceeded", `the session's budget does not allow this: ${why}`, {
    guestName: "BudgetExceededError",
    retriable: false,
    suggestion: "Look at budget() first; summarise with what there is, or ask for a larger budget.",
  });
}
