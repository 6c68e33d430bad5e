import * as v from "valibot";
import { LIMITS } from "../../runtime/index.ts";

const TOKENS = "must be a whole number of tokens from 100 to 100000";
const CALLS = "must be a whole number of calls from 0 to 1000";

const tokens = v.pipe(v.number(TOKENS), v.safeInteger(TOKENS), v.minValue(100, TOKENS), v.maxValue(100_000, TOKENS));
const calls = v.pipe(v.number(CALLS), v.safeInteger(CALLS), v.minValue(0, CALLS), v.maxValue(1000, CALLS));

/** Settings of readings of objects. */
export const READING_ENTRIES = {
  /** A larger object is explored with cells, tokens. */
  inline_tokens: v.exactOptional(tokens),
  /** Output tokens of a call that has its object in the prompt. */
  child_max_tokens: v.exactOptional(tokens),
  /** The user is asked before more calls than these; 0 asks always. */
  confirm_calls: v.exactOptional(calls),
};

export const READING_DEFAULTS = {
  inline_tokens: 12_000,
  child_max_tokens: LIMITS.subCallMaxTokens,
  confirm_calls: 10,
} as const;
