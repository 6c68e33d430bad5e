import { failure, unsent } from "./failure.ts";
import type { Model, ModelRequest, SubCallError } from "./port.ts";
import { type ModelServer, type ServerWindow, serverWindow } from "./server-window.ts";
import { estimateRequest } from "./sub-call/estimate.ts";

/**
 * A server is asked again after this time, since it may have been started anew; sooner if it told
 * no window.
 */
const KNOWN_MS = 300_000;
const UNKNOWN_MS = 10_000;

/**
 * Tokens for each that is estimated, beyond what the provider has counted: code and tables have
 * more than prose.
 */
const DENSE = 4 / 3;

/** Facts of a window, and when they are asked for again, on the scale of `performance.now()`. */
interface Known {
  until: number;
  readonly facts: Promise<ServerWindow>;
}

/**
 * A model whose requests ask for no more tokens than its window leaves, and whose answers tell if
 * the window was full. Of a provider's model the adapter knows what is left, until a refusal tells
 * otherwise.
 *
 * @param serverOf says how a server of the user's own is asked; null: the model is a provider's
 */
export function withinWindow(model: Model, serverOf: (() => Promise<ModelServer>) | null): Model {
  let isLookedAfter = serverOf !== null;
  const isAsked = model.window === null && serverOf !== null;
  let known: Known = {
    until: isAsked ? 0 : Number.POSITIVE_INFINITY,
    facts: Promise.resolve({ window: model.window }),
  };
  /**
   * The tokens of the newest request, as they were estimated and as the provider has counted them.
   */
  let seen = { estimate: 0, tokens: 0 };

  async function factsOf(): Promise<ServerWindow> {
    if (serverOf === null || known.until > performance.now()) return known.facts;
    const facts = serverOf().then(serverWindow, () => ({ window: null }));
    const asked: Known = { until: performance.now() + KNOWN_MS, facts };
    known = asked;
    if ((await facts).window === null) asked.until = performance.now() + UNKNOWN_MS;
    return facts;
  }

  /** The tokens that the request may ask for, or why it is not sent. */
  async function roomFor(request: ModelRequest, estimate: number): Promise<number | SubCallError> {
    const { maxTokens } = request;
    const { window, count } = await factsOf();
    if (window === null) return maxTokens;
    // A token for eight characters is fewer than any text has.
    if (estimate / 2 > window) return tooLong(model, window, `at least ${Math.ceil(estimate / 2)}`);
    const expected = Math.ceil(Math.max(estimate / 2, seen.tokens + (estimate - seen.estimate) * DENSE));
    // A token for two characters is more than most texts have.
    if (!isLookedAfter || Math.max(2 * estimate, expected) + maxTokens <= window) return maxTokens;
    const counted = (await count?.(request)) ?? null;
    if (counted !== null && counted > window) return tooLong(model, window, `${counted}`);
    return Math.min(maxTokens, Math.max(window - (counted ?? expected), Math.ceil(window / LEAST_PART)));
  }

  return {
    ...model,
    askWindow: async () => (await factsOf()).window,
    async complete(request, signal) {
      // What goes by a batch waits for hours: its server is asked for nothing meanwhile.
      if (request.post) return model.complete(request, signal);
      const estimate = estimateRequest(request, null).input_tokens;
      const maxTokens = await roomFor(request, estimate);
      if (typeof maxTokens !== "number") return { ...unsent(maxTokens), isTooLong: true };
      const answer = await model.complete({ ...request, maxTokens }, signal);
      const { input, cache_read, cache_write, output } = answer.usage;
      const read = input + cache_read + cache_write;
      if (!answer.ok) {
        const refused = windowRefusalIn(answer.error.message);
        if (!(refused.input < refused.window && refused.input + maxTokens > refused.window)) return answer;
        isLookedAfter = true;
        seen = { estimate, tokens: refused.input };
        known = { ...known, facts: Promise.resolve({ window: refused.window }) };
        return { ...answer, isAdapted: true };
      }
      if (read === 0) return answer;
      seen = { estimate, tokens: read };
      const { window } = await factsOf();
      const isFull = window !== null && (maxTokens < request.maxTokens || read + output >= window - 1);
      if (answer.turn.stop !== "length" || !isFull) return answer;
      return { ...answer, turn: { ...answer.turn, full: { window, input: read, output } } };
    },
  };
}

/**
 * An answer may have this part of the window at least. If the estimate of the prompt was right, the
 * server cuts it.
 */
const LEAST_PART = 16;

function tooLong({ id }: Model, window: number, tokens: string): SubCallError {
  return failure("window_full", `${id}: the prompt has ${tokens} tokens, and the window of the model ${window}`);
}

/**
 * The window, and the tokens of a prompt that fits into it, in the words of OpenAI, vLLM, SGLang
 * and Anthropic about a limit of tokens that does not. NaN if the words are others.
 */
function windowRefusalIn(words: string): { readonly window: number; readonly input: number } {
  const [, input, window] = /(\d{1,9}) \+ \d{1,9} > (\d{1,9})/.exec(words) ?? [];
  if (window !== undefined) return { window: Number(window), input: Number(input) };
  const [, length] = /context length (?:is|of) (\d{1,9})/i.exec(words) ?? [];
  const [, prompt] = /(\d{1,9}) (?:in the messages|input tokens|tokens from the input)/i.exec(words) ?? [];
  return { window: Number(length), input: Number(prompt) };
}
