import { withoutUndefined } from "../platform/json.ts";
import type { Model, ModelMessage, ModelRequest, Models, Price, Rates, RequestEstimate, Usage } from "./port.ts";

export const NO_USAGE: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };

/** All tokens of a usage, those read from and written to a cache included. */
export function tokensOf({ input, output, cache_read, cache_write }: Usage): number {
  return input + output + cache_read + cache_write;
}

/**
 * The most that one request can take. A record cannot hold much more, and its session could not be
 * opened again.
 */
const MOST = { tokens: 1e9, cost_usd: 1e6 };

/** A usage in whole tokens as it was told; null for what no request can have taken. */
export function believed(told: Usage): Usage | null {
  const { input, output, cache_read, cache_write, cost_usd } = told;
  const tokens = [input, output, cache_read, cache_write];
  const isPossible = tokens.every((count) => Number.isFinite(count) && count >= 0 && count <= MOST.tokens);
  if (!isPossible || !(cost_usd >= 0 && cost_usd <= MOST.cost_usd)) return null;
  if (tokens.every(Number.isInteger)) return told;
  const whole = { input: Math.ceil(input), output: Math.ceil(output) };
  return { ...told, ...whole, cache_read: Math.ceil(cache_read), cache_write: Math.ceil(cache_write) };
}

export function addUsage(one: Usage, other: Usage): Usage {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cache_read: one.cache_read + other.cache_read,
    cache_write: one.cache_write + other.cache_write,
    cost_usd: one.cost_usd + other.cost_usd,
    ...withoutUndefined({
      reasoning: sumOf(one.reasoning, other.reasoning),
      saved_usd: sumOf(one.saved_usd, other.saved_usd),
      estimated: sumOf(one.estimated, other.estimated),
      estimated_usd: sumOf(one.estimated_usd, other.estimated_usd),
    }),
  };
}

const sumOf = (one: number | undefined, other: number | undefined) =>
  one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);

/**
 * Characters (UTF-16 units) a token, as for contexts (semantics 12). Text in other scripts than
 * Latin takes more tokens.
 */
const CHARS_PER_TOKEN = 4;

/** Role markers and separators that a chat format adds to each message. */
const TOKENS_PER_MESSAGE = 4;

/**
 * The highest cost of a request, by its characters: input tokens by length, output tokens by
 * `maxTokens`, USD by the price list (0 if no price is known).
 */
export function estimateRequest(
  request: Pick<ModelRequest, "system" | "messages" | "tools" | "maxTokens">,
  price: Model["price"],
): RequestEstimate {
  const messages = request.messages.length + (request.system === null ? 0 : 1);
  const input_tokens = estimateTokens(charsOf(request)) + messages * TOKENS_PER_MESSAGE;
  return { input_tokens, max_tokens: request.maxTokens, cost_usd: costOf(price, input_tokens, request.maxTokens) };
}

/** Tokens for this many characters, rounded up. */
export function estimateTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** USD for these tokens; 0 if no price is known. */
export function costOf(price: Model["price"], inputTokens: number, outputTokens: number): number {
  if (price === null) return 0;
  const { input, output } = ratesFor(price, inputTokens);
  return (inputTokens * input + outputTokens * output) / 1e6;
}

/** The price of a model. null: it is not known; undefined: the model itself is not. */
export function knownPrice(models: Models, name: string | null): Model["price"] | undefined {
  try {
    return models.price(name);
  } catch {
    return undefined;
  }
}

/** A model by its name; undefined: it is not known, which its calls will say. */
export function knownModel(models: Models, name: string | null): Model | undefined {
  try {
    return models.resolve(name);
  } catch {
    return undefined;
  }
}

/**
 * The dearest rates of a request whose input is estimated at so many tokens: its text may have
 * twice as many.
 */
export function ratesFor({ tiers = [], ...base }: Price, inputTokens: number): Rates {
  const reached = tiers.filter(({ above }) => above < 2 * inputTokens);
  return {
    input: Math.max(base.input, ...reached.map(({ input }) => input)),
    output: Math.max(base.output, ...reached.map(({ output }) => output)),
  };
}

function charsOf(request: Pick<ModelRequest, "system" | "messages" | "tools">): number {
  let chars = request.system?.length ?? 0;
  for (const message of request.messages) chars += charsOfMessage(message);
  for (const tool of request.tools) chars += JSON.stringify(tool).length;
  return chars;
}

function charsOfMessage(message: ModelMessage): number {
  if (message.role !== "assistant") return message.text.length;
  const uses = message.answer.toolUses.map((use) => use.name.length + JSON.stringify(use.arguments).length);
  return uses.reduce((sum, chars) => sum + chars, message.answer.text.length);
}
