import * as v from "valibot";
import { DEFAULT_BUDGET, DEFAULT_EXEC_LIMITS, LIMITS, RlmError, SAMPLING, THINKING } from "../../runtime/index.ts";
import { isLeftOutPart, leftOutParts } from "../platform/left-out.ts";
import { nearest } from "../platform/nearest.ts";

/** A number from `least` to `most`; the message says what it must be. */
export const numberIn = (least: number, most: number, message: string) =>
  v.pipe(v.number(message), v.minValue(least, message), v.maxValue(most, message));

/** A whole number from `least` to `most`: of `tokens`, for example. */
export function wholeNumber(least: number, most: number, of = "") {
  const message = `must be a whole number${of && ` of ${of}`} from ${least} to ${most}`;
  return v.pipe(numberIn(least, most, message), v.safeInteger(message));
}

const WHOLE = "must be a whole number from 1";
const count = v.pipe(v.number(WHOLE), v.safeInteger(WHOLE), v.minValue(1, WHOLE));
const DOLLARS = "must be a number of dollars above 0";
const MODEL = "must be PROVIDER/ID, such as anthropic/claude-sonnet-5";
const MODELS = "must be PROVIDER/ID or PROVIDER/*, with commas between them";
const isModelList = (text: string) => text.split(",").every((name) => /^[^/\s]+\/\S+$/.test(name));
const ADDRESS = "must be an address such as http://127.0.0.1:8080/v1";
const VARIABLE = "must be the name of an environment variable, not the key itself";
const PRICE = "must be IN/OUT in dollars per million tokens, such as 3/15";
const LEFT_OUT = "must be schema or cache, each for all models or as PART@PROVIDER/ID, with commas between";
const areLeftOutParts = (text: string) => leftOutParts(text).every(isLeftOutPart);
const PATHS = "must be a list of folders";
const CONVERT = 'must be an object such as { "pdf": ["pdftotext", "{}", "-"], "html": false }: each list has {} once';
const COLLECTOR = "must be env, or an address such as http://127.0.0.1:4318 without user and password";

/** True for the address of a collector. What it asks to prove who sends stands in headers. */
export function isCollector(text: string): boolean {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

const isEnvOrCollector = (text: string) => text === "env" || isCollector(text);

const Extension = v.pipe(v.string(), v.regex(/^[a-z0-9]{1,16}$/, CONVERT));
const Command = v.pipe(
  v.array(v.string()),
  v.check(([program = "", ...rest]) => program !== "" && rest.filter((word) => word === "{}").length === 1),
);

/** Settings by their wire names; the same names in files, `BELAY_*` variables and flags. */
export const SettingsSchema = v.strictObject({
  /** Model of sub-calls. */
  model: v.exactOptional(v.pipe(v.string(MODEL), v.regex(/^[^/\s]+\/\S+$/, MODEL))),
  /** Models that cells may name beside those of the provider of `model`. */
  models: v.exactOptional(v.pipe(v.string(MODELS), v.check(isModelList, MODELS))),
  /** An OpenAI-compatible server. */
  base_url: v.exactOptional(v.pipe(v.string(ADDRESS), v.minLength(1, ADDRESS))),
  /** Name of the environment variable that holds the API key. */
  api_key_env: v.exactOptional(v.pipe(v.string(VARIABLE), v.regex(/^[A-Za-z_]\w*$/, VARIABLE))),
  /** The level of thinking of calls that name none. */
  thinking: v.exactOptional(v.picklist(THINKING, `must be one of ${THINKING.join(", ")}`)),
  /** Parameters of calls that name none. */
  ...SAMPLING,
  /** Delivery of calls that name none. */
  delivery: v.exactOptional(v.picklist(["now", "batch"], 'must be "now" or "batch"')),
  /** USD per million tokens, in and out, of models whose price no list knows. */
  price: v.exactOptional(v.pipe(v.string(PRICE), v.regex(/^\d{1,6}(\.\d{1,6})?\/\d{1,6}(\.\d{1,6})?$/, PRICE))),
  /** Parts that models, or some of them, are not asked with: the form of a schema, the order of calls for caches. */
  leave_out: v.exactOptional(v.pipe(v.string(LEFT_OUT), v.check(areLeftOutParts, LEFT_OUT))),
  max_sub_calls: v.exactOptional(count),
  max_tokens: v.exactOptional(count),
  /** Wall time inside execs, ms. */
  max_time_ms: v.exactOptional(count),
  max_cost_usd: v.exactOptional(v.pipe(v.number(DOLLARS), v.finite(DOLLARS), v.gtValue(0, DOLLARS))),
  /** The session of an MCP client in all may spend this many times the budget of one call. */
  max_session_budgets: v.exactOptional(count),
  /** Sub-calls in flight at once. */
  concurrency: v.exactOptional(wholeNumber(1, LIMITS.maxConcurrency)),
  /** Turns of a sub-agent. */
  max_turns: v.exactOptional(count),
  /** Levels of sub-calls with a context of their own. */
  max_depth: v.exactOptional(wholeNumber(0, LIMITS.maxDepth)),
  max_execution_ms: v.exactOptional(count),
  max_output_bytes: v.exactOptional(count),
  max_result_bytes: v.exactOptional(wholeNumber(1, LIMITS.wholeResultBytes)),
  max_find_results: v.exactOptional(count),
  /** The guest's heap. */
  memory_mb: v.exactOptional(wholeNumber(8, 2048)),
  /** The space that a session takes in the store. */
  max_session_mb: v.exactOptional(count),
  /** Time for which a server is waited for that answered before and is away, ms. */
  wait_for_server_ms: v.exactOptional(wholeNumber(0, LIMITS.serverWaitMost)),
  /** Folders into which symlinks of a context may lead. */
  roots: v.exactOptional(v.array(v.pipe(v.string(PATHS), v.minLength(1, PATHS)), PATHS)),
  /** Converters of documents by extension: a command with `{}` for the file, false for none, true for HTML in a repository too. */
  convert: v.exactOptional(v.record(Extension, v.union([v.boolean(), Command], CONVERT), CONVERT)),
  /** The collector that spans are sent to; `env`: that of OpenTelemetry's variable. */
  otlp: v.exactOptional(v.pipe(v.string(COLLECTOR), v.check(isEnvOrCollector, COLLECTOR))),
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
  max_session_budgets: 10,
  concurrency: LIMITS.concurrency,
  max_turns: LIMITS.subAgentTurns,
  max_depth: LIMITS.depth,
  memory_mb: LIMITS.guestHeapBytes / 2 ** 20,
  max_session_mb: LIMITS.sessionMb,
  wait_for_server_ms: LIMITS.serverWaitMs,
} satisfies { readonly [key in Key]?: number | null };

export type LimitKey = keyof typeof LIMIT_DEFAULTS;

export function isLimit(key: string): key is LimitKey {
  return Object.hasOwn(LIMIT_DEFAULTS, key);
}

/** Keys that grant access, spend another's key, change what calls cost or run a program: a project never decides on them (semantics 37). */
export const USER_ONLY: readonly string[] = [
  "models",
  "base_url",
  "api_key_env",
  "price",
  ...Object.keys(SAMPLING),
  "leave_out",
  "delivery",
  "otlp",
  "convert",
];

/** Keys that an empty flag or variable takes back if a file sets them: nothing else could say "none". */
export const TAKEN_BACK: readonly string[] = [
  "base_url",
  "api_key_env",
  ...Object.keys(SAMPLING),
  "leave_out",
  "max_cost_usd",
  "otlp",
];

/** The variable of a key: `BELAY_MAX_TOKENS`. */
export const variableOf = (key: string) => `BELAY_${key.toUpperCase()}`;

/**
 * Settings from one place. Messages name the place and the key but never the value: it may be an API key that
 * was put there by mistake.
 *
 * @param spelling of a key in that place
 * @throws RlmError `invalid_config`
 */
export function checkSettings(
  given: Readonly<Record<string, unknown>>,
  place: string,
  spelling: (key: string) => string = (key) => key,
): Settings {
  const checked = v.safeParse(SettingsSchema, given);
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const key = String(issue.path?.[0].key);
  if (!KEYS.includes(key)) throw unknownKey(key, place, KEYS);
  throw invalidConfig(`${place}${spelling(key)} ${issue.message}`, `Correct it, or take it out.`);
}

/** A key that is not among these. @param meant the key to use instead, if it is known */
export function unknownKey(key: string, place: string, keys: readonly string[], meant = nearest(key, keys)): RlmError {
  const question = meant ? `; did you mean ${meant}?` : "";
  return invalidConfig(`${place}unknown key ${key}${question}`, `Keys are ${keys.join(", ")}.`);
}

/** A project's file sets what it may not. */
export function refusedToProject(problem: string, key: string, userFile: string): RlmError {
  const elsewhere = key === "convert" ? "" : `, as ${variableOf(key)}, or with a flag`;
  return invalidConfig(problem, `Set it in ${userFile}${elsewhere}.`);
}

export function invalidConfig(problem: string, suggestion: string): RlmError {
  return new RlmError("invalid_config", problem, { suggestion });
}
