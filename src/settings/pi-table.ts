import * as v from "valibot";
import { LIMITS } from "../../runtime/index.ts";
import { numberIn, ROWS, rowsOf, wholeNumber } from "./table.ts";

/** A setting that only Pi has, declared once. The default is that of the row, or none. */
interface PiSetting {
  /** The values that it takes. Its messages begin with "must be". */
  readonly schema: v.GenericSchema;
  readonly default?: string | number | boolean;
  /** The words for what holds if nobody sets it and there is no default. Default: none. */
  readonly usual?: string;
  /** The right of a project's file to change it. */
  readonly project: "may set" | "may lower" | "may switch off" | "may not set";
  /** Its meaning in docs/pi/settings.md. */
  readonly docs: string;
}

const MODEL = "must be PROVIDER/ID, as /model lists them";
const NAMES = "must be a list of names of tools";
const FILES = "must be a list of at most 100 names of files, each of 1 to 100 characters without /";

const onOrOff = v.boolean("must be true or false");
const part = numberIn(0.1, 0.9, "must be a part of the model's window, from 0.1 to 0.9");
const tokens = wholeNumber(100, 100_000, "tokens");
const fileName = v.pipe(v.string(FILES), v.regex(/^[^/\\]{1,100}$/, FILES));

/** The settings that only Pi has, by their keys in belay.json. */
const PI_SETTINGS = {
  sub_model: {
    schema: v.pipe(v.string(MODEL), v.regex(/^[^/\s]+\/\S+$/, MODEL)),
    usual: "the model of Pi",
    project: "may set",
    docs: "model of sub-calls, `PROVIDER/ID` as `/model` lists them",
  },
  auto_continue: {
    schema: onOrOff,
    default: false,
    project: "may not set",
    docs: "continue the turn when an interrupted call is finished",
  },
  background: {
    schema: onOrOff,
    default: true,
    project: "may not set",
    docs: "a call continues when you leave its session for another one",
  },
  allowed_tool_overrides: {
    schema: v.array(v.string(NAMES), NAMES),
    project: "may not set",
    docs: "tools beyond reading that a cell may lend to sub-agents: `bash` (or `shell`), `write` (or `write_file`), `edit`",
  },
  require_approval: {
    schema: onOrOff,
    default: true,
    project: "may not set",
    docs: "ask for each call that needs approval; without a user interface it is denied",
  },
  prompt_wait_s: {
    schema: numberIn(0, 3600, "must be a number of seconds from 0 to 3600"),
    default: 120,
    project: "may not set",
    docs: "how long a prompt waits for an interrupted call to be finished, s",
  },
  externalize: {
    schema: onOrOff,
    default: true,
    project: "may switch off",
    docs: "old objects of the conversation are sent as stubs",
  },
  externalize_at: {
    schema: part,
    default: 0.6,
    project: "may not set",
    docs: "part of the window above which objects are externalized",
  },
  externalize_to: {
    schema: part,
    default: 0.3,
    project: "may not set",
    docs: "part of the window to which they are reduced; at least 0.1 below `externalize_at`",
  },
  externalize_min_tokens: {
    schema: tokens,
    default: 200,
    project: "may not set",
    docs: "smaller objects stay",
  },
  manifest_tokens: {
    schema: tokens,
    default: 2000,
    project: "may not set",
    docs: "the message that replaces folded turns, tokens",
  },
  warm_turns: {
    schema: wholeNumber(0, 100, "answers"),
    default: 3,
    project: "may not set",
    docs: "how many answers of the model a result of Belay's tools stays for",
  },
  compaction: {
    schema: v.picklist(["objects", "pi"], 'must be "objects" or "pi"'),
    default: "objects",
    project: "may not set",
    docs: "who compacts if a request would still be too large: Belay (`objects`) or Pi (`pi`)",
  },
  inline_tokens: {
    schema: tokens,
    default: 12_000,
    project: "may not set",
    docs: "up to this many tokens an object is read in one prompt; a larger one is explored with cells",
  },
  child_max_tokens: {
    schema: tokens,
    default: LIMITS.subCallMaxTokens,
    project: "may not set",
    docs: "output tokens of a call that reads an object in its prompt",
  },
  confirm_calls: {
    schema: wholeNumber(0, 1000, "calls"),
    default: 10,
    project: "may lower",
    docs: "Pi asks you before objects are read with more calls than this; 0: always",
  },
  max_ingest_files: {
    schema: wholeNumber(1, LIMITS.files, "files"),
    default: 1000,
    project: "may lower",
    docs: "files that one `rlm_ingest` may add",
  },
  max_ingest_bytes: {
    schema: wholeNumber(1, LIMITS.contextBytes, "bytes"),
    default: 100_000_000,
    project: "may lower",
    docs: "bytes that one `rlm_ingest` may add",
  },
  read_cache: {
    schema: onOrOff,
    default: false,
    project: "may switch off",
    docs: "a file that is read again costs a line or a diff",
  },
  /** A project's names are added to the user's; `*` stands for any characters. */
  read_cache_exclude: {
    schema: v.pipe(v.array(fileName, FILES), v.maxLength(100, FILES)),
    project: "may set",
    docs: "names of files that the read cache never looks at",
  },
} as const satisfies { readonly [key: string]: PiSetting };

type Rows = typeof PI_SETTINGS;
type PiKey = keyof Rows;

/** The settings that only Pi has, in order. */
export const PI_ROWS: readonly (readonly [PiKey, PiSetting])[] = rowsOf(PI_SETTINGS);

/** Settings that only Pi has, as a file sets them. */
export type PiKeys = { readonly [K in PiKey]?: v.InferOutput<Rows[K]["schema"]> };

type KeyWithDefault = { [K in PiKey]: Rows[K] extends { readonly default: unknown } ? K : never }[PiKey];

/** The defaults of settings that only Pi has. */
export const PI_DEFAULTS = defaults();

function defaults(): { readonly [K in KeyWithDefault]: v.InferOutput<Rows[K]["schema"]> };
function defaults(): object {
  const known = PI_ROWS.filter(([, row]) => row.default !== undefined);
  return Object.fromEntries(known.map(([key, row]) => [key, row.default]));
}

type Entries = { readonly [K in PiKey]: v.ExactOptionalSchema<Rows[K]["schema"], undefined> };

function entries(): Entries;
function entries(): object {
  return Object.fromEntries(PI_ROWS.map(([key, { schema }]) => [key, v.exactOptional(schema)]));
}

/** Values of the settings that only Pi has, each of which may be absent. */
export const PiSchema = v.strictObject(entries());

/** A key of belay.json, with the words for its default. */
interface PiKeyWithDefault {
  readonly key: string;
  /** In words, or as a number. */
  readonly usual: string;
  readonly docs: string;
}

/** Every key of belay.json: those of Pi alone, and those of all hosts that Pi has. */
export const KEYS_OF_PI: readonly PiKeyWithDefault[] = [
  ...PI_ROWS.map(([key, row]) => ({ key, usual: String(row.default ?? row.usual ?? "none"), docs: row.docs })),
  ...ROWS.flatMap(([key, { docsOfPi: docs, default: usual, usualInPi = usual }]) =>
    docs === undefined ? [] : [{ key, usual: String(usualInPi ?? "none"), docs }],
  ),
];
