import * as v from "valibot";
import { type ExecLimits, LIMITS, RlmError, type Sampling, THINKING } from "../../runtime/index.ts";
import type { Context, LoadOptions } from "../context/index.ts";
import { AgentsSchema } from "../platform/agent-commands.ts";
import { isEncoding } from "../platform/encodings.ts";
import { meantBy } from "../platform/nearest.ts";
import { type QueryOptions, type ReadingOptions, SEARCH_STRATEGIES } from "../query/index.ts";
import { SETTINGS, schemasAt } from "../settings/options.ts";
import type { CollectOptions, Describing } from "./api.ts";
import type { AskOptions } from "./ask/api.ts";
import type { BudgetLimits, CellFile } from "./journal/records.ts";
import type {
  DryRunOptions,
  ExecOptions,
  HostedOptions,
  LoadingOptions,
  LoadPaths,
  ReuseOptions,
  SessionFunction,
  SubAgentPolicy,
} from "./option-types.ts";

import { REMARKS } from "./stored/remarks.ts";

/**
 * Looks at what a caller passes: an option that is misspelt, or has a wrong type or value, would be ignored otherwise.
 *
 * @param place what was called, such as `openSession()`
 * @throws RlmError `invalid_argument`, naming the option and what was probably meant
 */
export function checkOptions(place: string, schema: v.GenericSchema, given: unknown): void {
  const { issues, success } = v.safeParse(schema, given, { abortEarly: true });
  if (success) return;
  const [issue] = issues;
  const option = (issue.path ?? []).map(({ key }) => String(key)).join(".") || "the argument";
  if (isUnknown(issue)) {
    const meant = meantBy(option.slice(option.lastIndexOf(".") + 1), issue.message.split(", "));
    throw refused(`${place}: unknown option ${option}${meant}`, `Options here are ${issue.message}.`);
  }
  const problem = `${option} must be ${issue.message.replace(/^must be /, "")}, and is ${shown(issue.input)}`;
  throw refused(`${place}: ${problem}`, "Correct it, or leave it out.");
}

export function refused(problem: string, suggestion: string): RlmError {
  return new RlmError("invalid_argument", problem, { suggestion });
}

/** @throws RlmError `invalid_argument` */
export function checkSource(source: unknown): void {
  if (typeof source === "string") return;
  throw refused(`the cell is ${typeof source}`, "Pass source text.");
}

/** @throws RlmError `invalid_argument` */
export function memoryBytesOf({ memoryMb = LIMITS.guestHeapBytes / 2 ** 20 }: HostedOptions): number {
  if (memoryMb >= MIN_MEMORY_MB && memoryMb <= MAX_MEMORY_MB) return memoryMb * 2 ** 20;
  throw refused(`memoryMb is ${memoryMb}`, `Give the guest between ${MIN_MEMORY_MB} and ${MAX_MEMORY_MB} MB.`);
}

/** Less than the prelude and a small program need; and what a 32-bit engine can address beside a 100 MB context. */
const MIN_MEMORY_MB = 8;
const MAX_MEMORY_MB = 2048;

/** A text may be a key that was put there by mistake, so it is not shown. */
function shown(value: unknown): string {
  if (value === null || ["number", "boolean", "undefined"].includes(typeof value)) return String(value);
  return typeof value === "string" ? (value === "" ? "empty" : "another text") : `of type ${typeof value}`;
}

/** An object with these keys and no others. For an unknown key the message lists the known ones. */
export function options<const Entries extends v.ObjectEntries>(entries: Entries) {
  const known = Object.keys(entries).join(", ");
  return v.strictObject(entries, (issue) => (isUnknown(issue) ? known : objectOr(issue)));
}

/** The issue is that the object itself is missing, or one of its keys. */
function objectOr({ expected }: v.BaseIssue<unknown>): string {
  return expected === "Object" ? "an object" : "given";
}

function isUnknown({ type, expected }: v.BaseIssue<unknown>): boolean {
  return type === "strict_object" && expected === "never";
}

/** One schema for each option of an interface: one that is missing here does not compile. */
type SchemaOf<Options> = { readonly [key in keyof Required<Options>]: v.GenericSchema };

function whole(least: number, most?: number) {
  const message = `a whole number from ${least}${most === undefined ? "" : ` to ${most}`}`;
  const within = v.pipe(v.number(message), v.safeInteger(message), v.minValue(least, message));
  return v.optional(most === undefined ? within : v.pipe(within, v.maxValue(most, message)));
}

const count = whole(1);
const depth = v.optional(SETTINGS.max_depth.schema);
const DOLLARS = "a number of dollars above 0, or null";
const dollars = v.nullish(v.pipe(v.number(DOLLARS), v.finite(DOLLARS), v.gtValue(0, DOLLARS)));
const MS = "a number of milliseconds from 0";
const text = v.pipe(v.string("a text"), v.minLength(1, "a text that is not empty"));
const flag = v.optional(v.boolean("true or false"));
const folders = v.optional(v.array(text, "a list of folders"));
const callback = v.optional(v.function("a function"));
const oneOf = (names: readonly string[]) => v.optional(v.picklist(names, `one of ${names.join(", ")}`));
const signal = v.optional(v.instance(AbortSignal, "an AbortSignal"));

const limits = v.optional(options(schemasAt("option", "limits") satisfies SchemaOf<ExecLimits>));

const budget = v.optional(
  options({
    ...schemasAt("option", "budget"),
    max_cost_usd: dollars,
    max_functions: count,
  } satisfies SchemaOf<BudgetLimits>),
);

/** A tool may be an object of the host's with more in it, which is not read: it may be made only when it is lent. */
const tool = v.object({ name: text, description: v.string("a text"), run: v.function("a function") }, objectOr);

const subAgents = v.optional(
  options({
    tools: v.optional(v.array(tool, "a list of tools")),
    allowed_tool_overrides: v.optional(v.array(text, "a list of names of tools")),
    require_approval: flag,
    approve: callback,
    ...schemasAt("option", "subAgents"),
  } satisfies SchemaOf<SubAgentPolicy>),
);

const functions = v.optional(
  v.record(
    v.string(),
    options({
      description: text,
      parameters: v.looseObject({}, "a JSON Schema, an object"),
      run: v.function("a function"),
      effects: v.picklist(["none", "idempotent", "once"], "one of none, idempotent, once"),
      approve: callback,
      runsDry: flag,
      timeoutMs: count,
    } satisfies SchemaOf<SessionFunction>),
    "an object of functions by name",
  ),
);

const MODEL = "PROVIDER/ID, such as anthropic/claude-sonnet-5";
const modelName = v.pipe(v.string(MODEL), v.regex(/^[^/\s]+\/\S+$/, MODEL));

const WORDS = "a list of a program and its arguments, or a boolean";
const convert = v.optional(
  v.record(v.string(), v.union([v.boolean(), v.pipe(v.array(v.string()), v.minLength(1))], WORDS)),
);

export const SESSION_OPTIONS = options({
  roots: folders,
  cwd: v.optional(text),
  limits,
  budget,
  ...schemasAt("option"),
  // Of these the library takes more than files of settings do, or says what is wrong where it reads them.
  memoryMb: v.optional(v.number("a number of MB")),
  apiKeyEnv: v.optional(text),
  price: v.optional(text),
  leaveOut: v.optional(text),
  idleMs: v.optional(v.pipe(v.number(MS), v.minValue(0, MS))),
  onceWaitMs: whole(0, 3_600_000),
  indexDir: v.optional(text),
  convert,
  models: v.optional(v.array(modelName, "a list of models")),
  complete: callback,
  modelChosen: flag,
  sampling: v.optional(options(schemasAt("option", "sampling") satisfies SchemaOf<Sampling>)),
  subAgents,
  agents: v.optional(AgentsSchema),
  agentsDir: v.optional(text),
  waitsForUser: flag,
  reuse: v.optional(options({ session: text, only: v.optional(text) } satisfies SchemaOf<ReuseOptions>)),
  functions,
  store: v.optional(text),
  session: v.optional(text),
  onRestart: oneOf(["send", "fail"]),
  cache: flag,
  keepSteps: flag,
  onCheckpoint: callback,
  onProgress: callback,
  ...REMARKS,
} satisfies SchemaOf<HostedOptions>);

/** The rule that a session's option breaks with this value; null: none. */
export function optionProblem(option: string, value: unknown): string | null {
  const read = v.safeParse(SESSION_OPTIONS, { [option]: value }, { abortEarly: true });
  return read.success ? null : read.issues[0].message;
}

const running = { signal, suspend: signal, deliver: callback };
const waiting = { wait_ms: v.optional(v.pipe(v.number(MS), v.minValue(0, MS))), resendDoubtful: flag };

const cell = options({ name: v.string("a text"), source: v.string("a text") } satisfies SchemaOf<CellFile>);

/** Made by `historyContext`. */
const history = v.optional(
  v.custom<Context>((given) => typeof given === "object" && given !== null && "parts" in given, "a context"),
);

export const EXEC_OPTIONS = options({
  limits,
  budget,
  name: v.optional(v.string("a text")),
  rest: v.optional(v.array(cell, "a list of cells")),
  history,
  workflow: flag,
  ...running,
  ...waiting,
} satisfies SchemaOf<ExecOptions>);

/** Items that a list in a placeholder can have. */
const MOST_ASSUMED = 1_000;

export const DRY_RUN_OPTIONS = options({
  limits,
  name: v.optional(v.string("a text")),
  history,
  workflow: flag,
  signal,
  assumed: whole(0, MOST_ASSUMED),
} satisfies SchemaOf<DryRunOptions>);

export const QUERY_OPTIONS = options({
  maxSections: count,
  searchStrategy: oneOf(SEARCH_STRATEGIES),
  budget,
  ...running,
} satisfies SchemaOf<QueryOptions & Pick<ExecOptions, "budget" | keyof typeof running>>);

export const READING_OPTIONS = options({
  model: v.optional(text),
  inlineTokens: count,
  maxTokens: count,
  together: v.optional(v.boolean()),
  estimate: v.optional(v.any()),
  history,
  signal,
  suspend: signal,
} satisfies SchemaOf<ReadingOptions & Pick<ExecOptions, "history" | "signal" | "suspend">>);

export const ASK_OPTIONS = options({
  model: v.optional(text),
  subModel: v.optional(text),
  maxTurns: whole(1, LIMITS.askTurns),
  maxDepth: depth,
  turnTokens: count,
  budget,
  thinking: oneOf(THINKING),
  protocol: oneOf(["auto", "tools", "fence"]),
  schema: v.optional(v.any()),
  trajectory: flag,
  signal,
  suspend: signal,
  ...waiting,
} satisfies SchemaOf<AskOptions>);

/** @throws RlmError `invalid_argument` */
export function checkQuestion(question: unknown): void {
  if (typeof question === "string" && question.trim() !== "") return;
  throw refused(`the question is ${typeof question === "string" ? "empty" : typeof question}`, "Pass a text.");
}

/** Each is looked up in the file system. */
const MOST_PATHS = 1_000;
// Spelled out: the first toLocaleString of a process takes 8 to 20 ms.
const PATHS = "a list of 1 to 1,000 paths";

export const LOAD_SOURCE = v.union(
  [
    text,
    options({ text: v.union([v.string(), v.instance(Uint8Array)]), name: text }),
    options({
      paths: v.pipe(v.array(v.string(), PATHS), v.minLength(1, PATHS), v.maxLength(MOST_PATHS, PATHS)),
      maxFiles: count,
      maxBytes: count,
    } satisfies SchemaOf<LoadPaths>),
  ],
  "a path, an object with text and name, or one with paths",
);

const ENCODING = "an encoding of the Encoding Standard, such as latin1, gbk or utf-16le";

export const LOADING_OPTIONS = options({
  roots: folders,
  signal,
  raw: flag,
  includeSecrets: flag,
  encoding: v.optional(v.pipe(v.string(ENCODING), v.check(isEncoding, ENCODING))),
  lossy: flag,
} satisfies SchemaOf<LoadingOptions>);

export const RESUME_OPTIONS = options({ ...running, ...waiting, history, trajectory: flag });

export const DESCRIBE_OPTIONS = options({
  children: whole(0),
  partly: flag,
} satisfies SchemaOf<Describing>);

export const OBJECT = v.looseObject({}, "an object");

/** A name, an id, or the place of a store. */
export const TEXT: v.GenericSchema = text;

/** Least of `answerBytes`: room for the fields of a failure. */
const LEAST_ANSWER = 1000;

export const TOOLS_OPTIONS = options({ cwd: v.optional(text), answerBytes: whole(LEAST_ANSWER) });

export const FORK_OPTIONS = options({
  checkpoint: v.optional(text),
  name: v.optional(text),
  answers: v.optional(v.array(options({ call: text, value: v.optional(v.any()), skip: flag }))),
});

const age = v.optional(v.pipe(v.number(MS), v.finite(MS), v.minValue(0, MS)));

export const COLLECT_OPTIONS = options({
  anonymousMs: age,
  namedMs: age,
  pi: flag,
  dryRun: flag,
} satisfies SchemaOf<CollectOptions>);

/** Options of a session that say how much text and how many documents its context may have. */
type SizeOptions = Pick<HostedOptions, "maxContextMb" | "maxFiles">;

/** The most that a context may hold by these options. */
export function mostOf({ maxContextMb, maxFiles = LIMITS.files }: SizeOptions): NonNullable<LoadOptions["most"]> {
  const bytes = maxContextMb === undefined ? LIMITS.contextBytes : maxContextMb * 2 ** 20;
  return { files: maxFiles, bytes };
}
