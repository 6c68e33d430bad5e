import * as v from "valibot";
import { LIMITS } from "../../runtime/index.ts";
import { KEYS, numberIn, wholeNumber } from "./settings.ts";

const MODEL = "must be PROVIDER/ID, as /model lists them";
const SWITCH = "must be true or false";
const NAMES = "must be a list of names of tools";
const FILES = "must be a list of at most 100 names of files, each of 1 to 100 characters without /";

const part = numberIn(0.1, 0.9, "must be a part of the model's window, from 0.1 to 0.9");
const tokens = wholeNumber(100, 100_000, "tokens");
const fileName = v.pipe(v.string(FILES), v.regex(/^[^/\\]{1,100}$/, FILES));

/** Keys that only Pi has. */
export const PiSchema = v.strictObject({
  /** Model of sub-calls; default: the one that Pi uses. */
  sub_model: v.exactOptional(v.pipe(v.string(MODEL), v.regex(/^[^/\s]+\/\S+$/, MODEL))),
  /** Goes on with the turn once an interrupted call is finished. */
  auto_continue: v.exactOptional(v.boolean(SWITCH)),
  /** A call goes on when Pi leaves its session for another one. */
  background: v.exactOptional(v.boolean(SWITCH)),
  /** Tools beyond reading that sub-agents may ask for: bash, write, edit. */
  allowed_tool_overrides: v.exactOptional(v.array(v.string(NAMES), NAMES)),
  /** Ask for each call that wants one. */
  require_approval: v.exactOptional(v.boolean(SWITCH)),
  /** Time that a prompt waits for an interrupted call to be finished, s. */
  prompt_wait_s: v.exactOptional(numberIn(0, 3600, "must be a number of seconds from 0 to 3600")),
  /** Old texts of the conversation are sent as stubs. */
  externalize: v.exactOptional(v.boolean(SWITCH)),
  /** The part of the window from which on an epoch happens, and the part that it comes down to. */
  externalize_at: v.exactOptional(part),
  externalize_to: v.exactOptional(part),
  /** Smaller texts stay, tokens. */
  externalize_min_tokens: v.exactOptional(tokens),
  /** The message in the place of folded turns, tokens. */
  manifest_tokens: v.exactOptional(tokens),
  /** Answers of the model for which a result of our tools stays. */
  warm_turns: v.exactOptional(wholeNumber(0, 100, "answers")),
  /** The compactor if a request would still be too large. */
  compaction: v.exactOptional(v.picklist(["objects", "pi"], 'must be "objects" or "pi"')),
  /** A larger object is explored with cells, tokens. */
  inline_tokens: v.exactOptional(tokens),
  /** Output tokens of a call that has its object in the prompt. */
  child_max_tokens: v.exactOptional(tokens),
  /** The user is asked before more calls than these; 0 asks always. */
  confirm_calls: v.exactOptional(wholeNumber(0, 1000, "calls")),
  /** Limits of one rlm_ingest. */
  max_ingest_files: v.exactOptional(wholeNumber(1, LIMITS.files, "files")),
  max_ingest_bytes: v.exactOptional(wholeNumber(1, LIMITS.contextBytes, "bytes")),
  /** A file that the model reads again costs a line or a diff. */
  read_cache: v.exactOptional(v.boolean(SWITCH)),
  /** Names of files that the read cache never looks at; `*` stands for any characters. */
  read_cache_exclude: v.exactOptional(v.pipe(v.array(fileName, FILES), v.maxLength(100, FILES))),
});

export type PiKeys = v.InferOutput<typeof PiSchema>;

/** The default of `background`. */
export const BACKGROUND = true;

/** Defaults for the conversation's old texts. */
export const OUTSIDE_DEFAULTS = {
  externalize: true,
  externalize_at: 0.6,
  externalize_to: 0.3,
  externalize_min_tokens: 200,
  manifest_tokens: 2000,
  warm_turns: 3,
  compaction: "objects",
} as const;

/** Defaults for readings of objects. */
export const READING_DEFAULTS = {
  inline_tokens: 12_000,
  child_max_tokens: LIMITS.subCallMaxTokens,
  confirm_calls: 10,
} as const;

export const INGEST_DEFAULTS = { max_ingest_files: 1000, max_ingest_bytes: 100_000_000 } as const;

/** Pi has models and keys of its own. */
export const MODELS_OF_PI: readonly string[] = ["model", "models", "base_url", "api_key_env"];
const NOT_IN_PI: readonly string[] = [...MODELS_OF_PI, "price", "leave_out", "otlp", "max_session_budgets"];

export const OWN_KEYS: readonly string[] = Object.keys(PiSchema.entries);

/** Every key of belay.json. */
export const PI_KEYS: readonly string[] = [...OWN_KEYS, ...KEYS.filter((key) => !NOT_IN_PI.includes(key))];
