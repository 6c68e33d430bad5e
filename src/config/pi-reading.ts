import * as v from "valibot";
import { LIMITS } from "../../runtime/index.ts";
import { invalidConfig } from "./problems.ts";

const TOKENS = "must be a whole number of tokens from 100 to 100000";
const CALLS = "must be a whole number of calls from 0 to 1000";

const tokens = v.pipe(v.number(TOKENS), v.safeInteger(TOKENS), v.minValue(100, TOKENS), v.maxValue(100_000, TOKENS));
const calls = v.pipe(v.number(CALLS), v.safeInteger(CALLS), v.minValue(0, CALLS), v.maxValue(1000, CALLS));

/** How models read objects. */
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

interface Confirmed {
  readonly confirm_calls?: number;
}

/** The lesser of the project's number and the user's. @throws RlmError `invalid_config` if the project raises it */
export function loweredConfirm(
  { confirm_calls: users }: Confirmed,
  { confirm_calls: projects }: Confirmed,
  files: { readonly projectFile: string; readonly userFile: string },
): Confirmed {
  if (projects === undefined) return {};
  const usual = READING_DEFAULTS.confirm_calls;
  const most = Math.max(usual, users ?? 0);
  if (projects <= most) return { confirm_calls: Math.min(projects, users ?? usual) };
  const problem = `${files.projectFile}: confirm_calls is ${projects}; a project may lower it, and it is ${most}`;
  throw invalidConfig(problem, `Set it in ${files.userFile}.`);
}
