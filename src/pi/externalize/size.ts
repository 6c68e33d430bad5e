import * as v from "valibot";
import { applyOutside } from "./apply.ts";
import type { Outside } from "./branch.ts";
import { readEntries } from "./entries.ts";
import { keyOf, type ObjectIds, tokensOf } from "./keys.ts";
import { type BranchEntry, brokeOff, messageOf, once, type PiMessage } from "./message.ts";

/** The facts that a size is computed from. */
export interface SizeParts {
  readonly branch: readonly BranchEntry[];
  /** The branch's state of its messages. */
  readonly outside: Outside;
  /** All messages, raw. */
  readonly messages: readonly PiMessage[];
  /** Tokens of what goes with them, estimated: the prompt of the system, and tools. */
  readonly base: number;
  readonly ids: ObjectIds;
}

/** Tokens of a request. */
export interface Size {
  readonly counted: number;
  readonly estimated: number;
  readonly ratio: number;
  readonly tokens: number;
  readonly atMost: number;
}

/**
 * The size of the next request with these messages. Everything comes from the branch, so that
 * another process, or a later one, decides as this one does.
 */
export function sizeOf(sent: readonly PiMessage[], parts: SizeParts, ratio: number): Size {
  const last = countedAnswer(parts, Math.max(parts.outside.entries.newest, parts.outside.compacted));
  const at = last ? sent.findLastIndex((message) => keyOf(message) === last.key) : -1;
  if (!last || at < 0) return sizeWith(0, parts.base + estimate(sent), ratio);
  return sizeWith(last.tokens, estimate(sent.slice(at + 1)), ratio);
}

/** The size of the next request if nothing of it were outside. */
export function rawSize(parts: SizeParts): Size {
  // The count behind the newest entry may be either of stubs or of texts.
  const { newest } = parts.outside.entries;
  const branch = newest < 0 ? parts.branch : parts.branch.slice(0, newest);
  const outside = parts.outside.under(readEntries(branch));
  const ratio = ratioOf(applyOutside(parts.messages, outside, parts.ids), { ...parts, branch, outside });
  return sizeWith(0, parts.base + estimate(parts.messages), ratio);
}

/** Tokens of messages, estimated. */
export function estimate(messages: readonly PiMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

/**
 * @param counted as the provider counted them, up to the last answer that it counted; 0 if it
 * counted none
 * @param estimated those behind it, by characters
 * @param ratio the provider's tokens for each estimated token
 */
function sizeWith(counted: number, estimated: number, ratio: number): Size {
  const tokens = Math.round(counted + ratio * estimated);
  // With a third more for what is estimated: for the valve, behind which there is no other.
  const atMost = Math.round(counted + (ratio * estimated * 4) / 3);
  return { counted, estimated, ratio, tokens, atMost };
}

const UNKNOWN_RATIO = 1.3;
const LEAST_RATIO = 0.7;
const MOST_RATIO = 2.5;

/**
 * The provider's tokens for an estimated token: by the newest answer that it counted, whose request
 * is estimated again. These messages are sent now.
 */
export function ratioOf(sent: readonly PiMessage[], parts: SizeParts): number {
  const { branch, outside, messages, base, ids } = parts;
  const last = countedAnswer(parts, outside.compacted);
  if (!last) return UNKNOWN_RATIO;
  const isSentAsThen = last.at > outside.entries.newest;
  const then = isSentAsThen
    ? sent
    : applyOutside(messages, outside.under(readEntries(branch.slice(0, last.at + 1))), ids);
  const at = then.findLastIndex((message) => keyOf(message) === last.key);
  if (at < 0) return UNKNOWN_RATIO;
  const estimated = base + estimate(then.slice(0, at + 1));
  return Math.min(MOST_RATIO, Math.max(LEAST_RATIO, last.tokens / Math.max(1, estimated)));
}

/** The newest answer behind this place of the branch whose tokens the provider has counted. */
function countedAnswer({ branch }: SizeParts, behind: number) {
  for (let at = branch.length - 1; at > behind; at--) {
    const entry = branch[at];
    const message = entry && messageOf(entry);
    if (message?.role !== "assistant" || brokeOff(message)) continue;
    const tokens = countedTokens(message);
    const key = keyOf(message);
    if (tokens > 0 && key !== null) return { at, key, tokens };
  }
  return null;
}

/** Tokens of a request and its answer, as the provider counted them; 0 if it did not. */
const countedTokens = once(({ usage }): number => {
  const { totalTokens, input, output, cacheRead, cacheWrite } = v.parse(UsageSchema, usage);
  return totalTokens || input + output + cacheRead + cacheWrite;
});

/** More than any request has: a provider that says so has not counted. */
const MOST_TOKENS = 1_000_000_000;
const tokens = v.fallback(v.pipe(v.number(), v.minValue(0), v.maxValue(MOST_TOKENS)), 0);
const NONE = { totalTokens: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const UsageSchema = v.fallback(
  v.object({ totalTokens: tokens, input: tokens, output: tokens, cacheRead: tokens, cacheWrite: tokens }),
  NONE,
);
