import { failure, unsent } from "../failure.ts";
import type {
  Model,
  ModelAnswer,
  ModelMessage,
  ModelRequest,
  ModelTurn,
  RequestBudget,
  RequestEstimate,
  SubCallCode,
  SubCallError,
  ToolSpec,
  Usage,
} from "../port.ts";
import { addUsage, NO_USAGE } from "../usage.ts";
import { costOf, estimateRequest, estimateTokens } from "./estimate.ts";
import { withRetries } from "./retry.ts";

/** A failure that was retried. */
export interface SubCallAttempt {
  readonly code: SubCallCode;
  /** How long was waited before the next one, ms. */
  readonly waited_ms: number;
}

/** What a sub-call took so far. */
export interface Spent {
  readonly usage: Usage;
  readonly requests: number;
  readonly turns: number;
  readonly attempts: readonly SubCallAttempt[];
}

export const NOTHING_SENT: Spent = {
  usage: NO_USAGE,
  requests: 0,
  turns: 0,
  attempts: [],
};

export type Asked =
  | { readonly ok: true; readonly turn: ModelTurn }
  | { readonly ok: false; readonly error: SubCallError };

/** The requests of one sub-call. */
export interface Requests {
  /** One turn of the model. It is sent again if that may help. Each request is reserved first. */
  ask(system: string | null, messages: readonly ModelMessage[], tools: readonly ToolSpec[]): Promise<Asked>;
  spent(): Spent;
}

interface RequestParts {
  readonly budget: RequestBudget;
  readonly clock: { monotonic(): number };
  random(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** `deadline`: when the whole call must be over, on the clock's monotonic scale, ms. */
export function openRequests(
  model: Model,
  { max_tokens, conversation }: { readonly max_tokens: number; readonly conversation?: string },
  { budget, clock, random, sleep }: RequestParts,
  { deadline, signal }: { readonly deadline: number; readonly signal: AbortSignal },
): Requests {
  let spent = NOTHING_SENT;

  /** A retry gives its reservation back while it waits, and reserves again. */
  async function send(request: Omit<ModelRequest, "timeoutMs">): Promise<ModelAnswer> {
    const estimate = estimateRequest(request, model.price);
    const reservation = await budget.reserve(estimate, signal);
    if ("code" in reservation) return unsent(reservation);
    let usage = NO_USAGE;
    try {
      const timeoutMs = Math.ceil(deadline - clock.monotonic());
      if (timeoutMs <= 0) return unsent(failure("timeout", "no time was left to send the request"));
      spent = { ...spent, requests: spent.requests + 1 };
      const answer = await model.complete({ ...request, timeoutMs }, signal);
      usage = chargeOf(answer, estimate, model);
      return answer;
    } finally {
      spent = { ...spent, usage: addUsage(spent.usage, usage) };
      reservation.settle(usage);
    }
  }

  return {
    async ask(system, messages, tools) {
      if (signal.aborted) return { ok: false, error: failure("cancelled", "the call was cancelled") };
      const request = {
        system,
        messages,
        tools,
        maxTokens: max_tokens,
        cache: conversation === undefined && tools.length === 0 ? ("none" as const) : ("short" as const),
        ...(conversation === undefined ? {} : { conversation }),
      };
      const { answer, attempts } = await withRetries(() => send(request), {
        now: () => clock.monotonic(),
        sleep,
        random,
        deadline,
        signal,
      });
      const retried = attempts.map(({ code, waited_ms }) => ({ code, waited_ms }));
      spent = { ...spent, attempts: [...spent.attempts, ...retried], turns: spent.turns + (answer.ok ? 1 : 0) };
      return answer.ok ? { ok: true, turn: answer.turn } : { ok: false, error: answer.error };
    },
    spent: () => spent,
  };
}

/**
 * A failed request costs what the provider said, else nothing. An answer without usage (servers that report none) costs
 * its estimate: the input as it was reserved, the output by its length.
 */
function chargeOf(answer: ModelAnswer, estimate: RequestEstimate, model: Model): Usage {
  if (answer.charged || !answer.ok) return answer.usage;
  const { text, toolUses } = answer.turn;
  const chars = toolUses.reduce((total, use) => total + JSON.stringify(use.arguments).length, text.length);
  const output = estimateTokens(chars);
  const cost_usd = costOf(model.price, estimate.input_tokens, output);
  return { ...NO_USAGE, input: estimate.input_tokens, output, cost_usd };
}
