import { type Json, RlmError, type Sampling, type Thinking } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { given } from "../../platform/json.ts";
import { joinSignals } from "../../platform/signals.ts";
import type { AgentTool } from "../agent-tools/index.ts";
import { failure } from "../failure.ts";
import type { Model, ModelRequest, Models, SubCallError } from "../port.ts";
import type { TaskThread } from "../tasks/task-thread.ts";
import { converse, type FailedAnswer } from "./conversation.ts";
import { NOTHING_SENT, openRequests, type RequestParts, type Spent } from "./requests.ts";

/** One sub-call, as decided: nothing in it is optional any more. */
export interface SubCall {
  readonly prompt: string;
  readonly system: string | null;
  /** Granted by `decideTools`; [] for a plain completion. */
  readonly tools: readonly string[];
  /** JSON Schema that the answer must fit; null: the answer is text. */
  readonly schema: Json | null;
  /** An answer that does not fit the schema is given as text. */
  readonly or_text: boolean;
  /** Output tokens of each request, thinking included. */
  readonly max_tokens: number;
  /** For the whole call: waiting for the budget, retries and tools included; ms. */
  readonly timeout_ms: number;
  readonly model: string | null;
  readonly thinking: Thinking;
  /** Parameters that the caller sets. Absent: the provider's own. */
  readonly sampling?: Sampling;
}

export interface SubCallParts extends RequestParts, Pick<ModelRequest, "shared" | "begun"> {
  readonly models: Models;
  /** Holds at least the tools that the call names. */
  readonly tools: readonly AgentTool[];
  /** Compares schemas, arguments and answers. */
  readonly thread: TaskThread;
  /** Id of the call, by which providers find the cache of a sub-agent's turns. */
  readonly conversation: string;
  /** Answers that a sub-agent with tools may give, the last one included. */
  readonly maxTurns: number;
}

export type SubCallOutcome = Spent & {
  /** `provider/id`; if the model was not found, the name that was asked for. */
  readonly model: string;
} & ({ readonly ok: true; readonly value: Json } | FailedAnswer);

/**
 * Answers one sub-call: a plain completion, or a sub-agent that uses tools until it answers. Each request is reserved
 * in the budget before it is sent. Never rejects. An abort ends it within a second with `cancelled`.
 */
export async function runSubCall(call: SubCall, parts: SubCallParts, signal: AbortSignal): Promise<SubCallOutcome> {
  const failed = (error: SubCallError) => ({ ...NOTHING_SENT, ok: false as const, error, model: call.model ?? "" });
  if (signal.aborted) return failed(failure("cancelled", "the call was cancelled"));
  const model = resolved(call, parts);
  if ("code" in model) {
    await parts.budget.answered?.(model);
    return failed(model);
  }
  const tools = call.tools.map((name) => parts.tools.find((tool) => tool.name === name));
  const missing = call.tools[tools.indexOf(undefined)];
  if (missing !== undefined) return failed(failure("policy_violation", `the tool ${missing} does not exist here`));

  const done = new AbortController();
  const timeOver = new AbortController();
  // Time at a provider is not the call's.
  const timeoutMs = parts.post ? Number.POSITIVE_INFINITY : call.timeout_ms;
  if (!parts.post) {
    void parts.sleep(timeoutMs, done.signal).then(() => {
      if (!done.signal.aborted) timeOver.abort();
    });
  }
  using stopped = joinSignals(signal, timeOver.signal);
  const stop = stopped.signal;
  const deadline = parts.clock.monotonic() + timeoutMs;
  const { max_tokens, thinking, sampling } = call;
  // A plain completion is one request: a cache of it would be written for nothing.
  const { shared, begun } = parts;
  const asked = { max_tokens, thinking, ...given({ sampling, shared, begun }) };
  const asking = tools.length === 0 ? asked : { ...asked, conversation: parts.conversation };
  const requests = openRequests(model, asking, parts, { deadline, signal: stop });
  const answer = await converse(
    { ...call, tools: tools.filter((tool) => tool !== undefined) },
    requests,
    parts,
    stop,
  ).catch((error: unknown) => ({ ok: false as const, error: unexpected(error) }));
  // With a reason of its own: making an AbortError for each call is not free.
  done.abort("done");
  const outcome = { ...requests.spent(), model: model.id };
  if (answer.ok) return { ...outcome, ...answer, mended: [...outcome.mended, ...(answer.mended ?? [])] };
  return { ...outcome, ...answer, error: whatEndedIt(answer.error) };

  /** Aborted work reports `cancelled`, also if the call's time was the reason. */
  function whatEndedIt(error: SubCallError): SubCallError {
    if (error.code !== "cancelled" || signal.aborted || !timeOver.signal.aborted) return error;
    return failure("timeout", `no answer within ${call.timeout_ms} ms`);
  }
}

function resolved({ model }: SubCall, { models }: SubCallParts): Model | SubCallError {
  try {
    return models.resolve(model);
  } catch (error) {
    if (!(error instanceof RlmError)) return unexpected(error);
    const { code: given } = error;
    const code = given === "auth_expired" || given === "host_incompatible" ? given : "no_model_configured";
    return { code, message: error.message, suggestion: error.suggestion, retriable: false };
  }
}

/** An error that no step of the call expects. A tool that this host cannot make keeps its own code and remedy. */
function unexpected(error: unknown): SubCallError {
  if (error instanceof RlmError && error.code === "host_incompatible") {
    return { code: error.code, message: error.message, suggestion: error.suggestion, retriable: false };
  }
  const reason = messageOf(error);
  return failure("sub_agent_error", `the sub-call failed: ${reason}`);
}
