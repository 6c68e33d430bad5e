import * as v from "valibot";
import { DEFAULT_BUDGET, DEFAULT_EXEC_LIMITS, LIMITS, THINKING } from "../../runtime/index.ts";

const WHOLE = "must be a whole number from 1";
const count = v.pipe(v.number(WHOLE), v.safeInteger(WHOLE), v.minValue(1, WHOLE));
const countUpTo = (most: number, message = `${WHOLE} to ${most}`) =>
  v.pipe(v.number(message), v.safeInteger(message), v.minValue(1, message), v.maxValue(most, message));
const DEPTH = `must be a whole number from 0 to ${LIMITS.maxDepth}`;
const DOLLARS = "must be a number of dollars above 0";
const MODEL = "must be PROVIDER/ID, such as anthropic/claude-sonnet-4-5";
const ADDRESS = "must be an address such as http://127.0.0.1:8080/v1";
const VARIABLE = "must be the name of an environment variable, not the key itself";
const PRICE = "must be IN/OUT in dollars per million tokens, such as 3/15";
const PATHS = "must be a list of folders";
const MEGABYTES = "must be a whole number from 8 to 2048";

/** Settings by their wire names; the same names in files, `BELAY_*` variables and flags. */
export const SettingsSchema = v.strictObject({
  /** Model of sub-calls. */
  model: v.exactOptional(v.pipe(v.string(MODEL), v.regex(/^[^/\s]+\/\S+$/, MODEL))),
  /** An OpenAI-compatible server. */
  base_url: v.exactOptional(v.pipe(v.string(ADDRESS), v.minLength(1, ADDRESS))),
  /** Name of the environment variable that holds the API key. */
  api_key_env: v.exactOptional(v.pipe(v.string(VARIABLE), v.regex(/^[A-Za-z_]\w*$/, VARIABLE))),
  /** The level of thinking of calls that name none. */
  thinking: v.exactOptional(v.picklist(THINKING, `must be one of ${THINKING.join(", ")}`)),
  /** USD per million tokens, in and out, of models whose price no list knows. */
  price: v.exactOptional(v.pipe(v.string(PRICE), v.regex(/^\d{1,6}(\.\d{1,6})?\/\d{1,6}(\.\d{1,6})?$/, PRICE))),
  max_sub_calls: v.exactOptional(count),
  max_tokens: v.exactOptional(count),
  /** Wall time inside execs, ms. */
  max_time_ms: v.exactOptional(count),
  max_cost_usd: v.exactOptional(v.pipe(v.number(DOLLARS), v.finite(DOLLARS), v.gtValue(0, DOLLARS))),
  /** Sub-calls in flight at once. */
  concurrency: v.exactOptional(countUpTo(LIMITS.maxConcurrency)),
  /** Turns of a sub-agent. */
  max_turns: v.exactOptional(count),
  /** Levels of sub-calls with a context of their own. */
  max_depth: v.exactOptional(
    v.pipe(v.number(DEPTH), v.safeInteger(DEPTH), v.minValue(0, DEPTH), v.maxValue(LIMITS.maxDepth, DEPTH)),
  ),
  max_execution_ms: v.exactOptional(count),
  max_output_bytes: v.exactOptional(count),
  max_result_bytes: v.exactOptional(countUpTo(LIMITS.wholeResultBytes)),
  max_find_results: v.exactOptional(count),
  /** The guest's heap. */
  memory_mb: v.exactOptional(
    v.pipe(v.number(MEGABYTES), v.integer(MEGABYTES), v.minValue(8, MEGABYTES), v.maxValue(2048, MEGABYTES)),
  ),
  /** Folders into which symlinks of a context may lead. */
  roots: v.exactOptional(v.array(v.pipe(v.string(PATHS), v.minLength(1, PATHS)), PATHS)),
});

export type Settings = Readonly<v.InferOutput<typeof SettingsSchema>>;

/** Settings of one command, by flags or variables; undefined takes back what a file sets. */
export type AskedSettings = { readonly [key in keyof Settings]?: Settings[key] | undefined };

export type Key = keyof Settings;

export const KEYS: readonly string[] = Object.keys(SettingsSchema.entries);

/** Keys that limit, with their defaults (null: no limit). A project may only lower these. */
export const LIMIT_DEFAULTS = {
  ...DEFAULT_BUDGET,
  ...DEFAULT_EXEC_LIMITS,
  concurrency: LIMITS.concurrency,
  max_turns: LIMITS.subAgentTurns,
  max_depth: LIMITS.depth,
  memory_mb: LIMITS.guestHeapBytes / 2 ** 20,
} satisfies { readonly [key in Key]?: number | null };

export type LimitKey = keyof typeof LIMIT_DEFAULTS;

export function isLimit(key: string): key is LimitKey {
  return Object.hasOwn(LIMIT_DEFAULTS, key);
}

/** Keys that grant access, spend another's key or say what it costs: a project never decides on them (semantics 37). */
export const USER_ONLY: readonly string[] = ["base_url", "api_key_env", "price"];

/** Keys that an empty flag or variable takes back if a file sets them: nothing else could say "none". */
export const TAKEN_BACK: readonly string[] = ["base_url", "api_key_env", "max_cost_usd"];

/** The variable of a key: `BELAY_MAX_TOKENS`. */
export const variableOf = (key: string) => `BELAY_${key.toUpperCase()}`;
