import { resolve } from "node:path";
import * as v from "valibot";
import { RlmError } from "../../runtime/index.ts";
import { parseJson } from "../platform/json.ts";
import { typedPath } from "../platform/typed-path.ts";
import type { LoadResult, Session } from "../session/index.ts";
import { defineTool, plainJson, type RecordedCall, type Tool } from "./define.ts";
import { changedSentence, shortened, unfinishedOf } from "./session-report.ts";

const PATH = { type: "string", description: "Relative to the working directory, or absolute" } as const;

const RAW = { type: "boolean", description: "Keep files as they are" } as const;

/**
 * The encoding of texts that are not UTF-8. An error about one names this field, and says what to
 * pass.
 */
const ENCODING = { type: "string" } as const;

/** Fields of every tool that loads. */
const LOADS = {
  recorded: (_args: unknown, { stats }: RecordedCall) => ({ stats: stats && shortened(stats) }),
  failureFields: { stats: null },
};

export const rlm_load = defineTool({
  name: "rlm_load",
  label: "RLM load",
  description:
    "Load a file or folder as the context P, to explore with rlm_exec. Resets variables, helpers, memory and budget.",
  promptSnippet: "Load a file or folder as P",
  guidelines: ["For material too large to read (repositories, logs) use rlm_load, then rlm_exec."],
  parameters: { type: "object", required: ["path"], properties: { path: PATH, raw: RAW, encoding: ENCODING } },
  run: async (session, { path, ...how }, { cwd, signal }) =>
    loaded(await session.load(sourceAt(path, cwd), { signal, ...how })),
  ...LOADS,
});

export const rlm_load_append = defineTool({
  name: "rlm_load_append",
  label: "RLM append",
  description: "Add a file or folder to the context P. Keeps variables, helpers, memory and budget.",
  promptSnippet: "Add to context P",
  parameters: {
    type: "object",
    required: ["path"],
    properties: {
      path: { type: "string" },
      raw: { type: "boolean" },
      encoding: ENCODING,
    },
  },
  run: async (session, { path, ...how }, { cwd, signal }) =>
    loaded(await session.loadAppend(sourceAt(path, cwd), { signal, ...how })),
  ...LOADS,
});

/**
 * The load of a host whose session outlives its conversations: each of them begins with a load, and
 * would throw away what is there.
 */
export const rlm_load_unless_loaded = defineTool({
  name: "rlm_load",
  label: "RLM load",
  description:
    "Call rlm_status first: an earlier run may have loaded it. Loads a file or folder as the context P, to explore with rlm_exec. Resets variables, helpers, memory and budget, unless it is loaded already.",
  promptSnippet: "Load a file or folder as P",
  parameters: {
    type: "object",
    required: ["path"],
    properties: {
      path: PATH,
      raw: RAW,
      encoding: ENCODING,
      reset: { type: "boolean", description: "Load anew what is loaded already" },
    },
  },
  async run(session, { path, reset = false, ...how }, { cwd, signal }) {
    const source = sourceAt(path, cwd);
    const before = session.stats();
    if (!before) return loaded(await session.load(source, { signal, ...how }));
    const there = await whatIsThere(session, signal);
    const hasAny = Object.values(there).some((names) => names.length > 0);
    if (!reset && isLoadedFrom(session, source)) {
      const unfinished = unfinishedOf(session);
      const isSame = unfinished !== null || (await session.holds(source, { signal, ...how }));
      const known = { success: true, already_loaded: true, stats: shortened(before), ...there, unfinished };
      if (isSame) return { ...known, suggestion: KEPT };
      const changed = changedSentence(await session.changedFiles({ signal }), cwd);
      if (hasAny) return { ...known, changed, suggestion: changed === null ? KEPT : CHANGED };
    }
    const result = loaded(await session.load(source, { signal, ...how }));
    return hasAny ? { ...result, dropped: there } : result;
  },
  ...LOADS,
});

const loaded = ({ stats }: LoadResult) => ({ stats: shortened(stats) });

/**
 * The source that a call names: relative paths start at the project's folder, as in the other tools
 * of a host.
 */
export function sourceAt(path: string, cwd: string): string {
  return path === "" ? path : resolve(cwd, typedPath(path, cwd));
}

/**
 * Arguments as the schema has them, with the path absolute: the same call in another folder is
 * another call.
 */
export function placedArguments({ parameters }: Tool, given: unknown, cwd: string): unknown {
  const plain = plainJson(given);
  // The tool says what is wrong with it.
  if (plain === undefined) return given;
  const args = readArguments(parameters, plain);
  const { path }: { readonly path?: unknown } = Object(args);
  return typeof path === "string" ? { ...Object(args), path: sourceAt(path, cwd) } : args;
}

const CHANGED =
  "Nothing was reset. rlm_load_append with this path adds what is new or has changed and keeps all of this; reset: true loads it anew and drops all of this.";
const KEPT = "Nothing was reset: continue with what is there. reset: true loads it anew and drops all of this.";

/**
 * True if a call of this tool leaves the session alone, as far as its path says.
 *
 * @throws RlmError if its path cannot be loaded: then it leaves the session alone too
 */
export async function leavesLoaded(session: Session, args: unknown, signal: AbortSignal): Promise<boolean> {
  const { path: source, reset }: { path?: unknown; reset?: unknown } = Object(args);
  if (typeof source !== "string") return false;
  if (reset !== true && isLoadedFrom(session, source)) return true;
  await session.holds(source, { signal });
  return false;
}

function isLoadedFrom(session: Session, source: string): boolean {
  return session.stats()?.sources[0] === source;
}

/** Names of what earlier cells have left. */
const Left = v.record(v.string(), v.array(v.string()));

/** The names of what earlier cells have left, by a dry run: nothing is changed or recorded. */
async function whatIsThere(session: Session, signal: AbortSignal): Promise<v.InferOutput<typeof Left>> {
  try {
    const { envelope } = await session.dryRun(LOOK, { signal });
    return v.parse(v.fallback(Left, {}), envelope.success ? envelope.result_json : null);
  } catch (error) {
    // A state that cannot be opened is no reason not to load.
    if (error instanceof RlmError) return {};
    throw error;
  }
}

const MOST_NAMES = 100;
const LOOK = `(({ memory_keys, helpers }) => ({
  variables: Object.keys(globalThis).slice(0, ${MOST_NAMES}),
  memory_keys: memory_keys.slice(0, ${MOST_NAMES}),
  helpers: helpers.slice(0, ${MOST_NAMES}),
}))(session())`;

/**
 * Arguments as the schema has them. Some clients send an object, a list, a number or a boolean as
 * text: such a text is read as JSON. A value without a type in the schema stays as it came.
 */
export function readArguments(schema: unknown, value: unknown): unknown {
  const { type, properties, items, required = [] }: SchemaParts = Object(schema);
  const read = typeof value === "string" && READ.includes(type) ? parsed(value, type) : value;
  // A list without a schema of its items may be nested without end.
  if (Array.isArray(read)) return items ? read.map((item) => readArguments(items, item)) : read;
  if (typeof read !== "object" || read === null || !properties) return read;
  const isNamed = (key: string, inner: unknown) =>
    required.includes(key) || !isAbsent(Reflect.get(properties, key), inner);
  const named = Object.entries(read).filter(([key, inner]) => isNamed(key, inner));
  return Object.fromEntries(named.map(([key, inner]) => [key, readArguments(Reflect.get(properties, key), inner)]));
}

/**
 * True if an optional parameter that has a type was given as null or as an empty text: clients fill
 * in what they leave out.
 */
function isAbsent(schema: unknown, value: unknown): boolean {
  const { type }: SchemaParts = Object(schema);
  return (value === null || value === "") && type !== undefined;
}

const READ: readonly unknown[] = ["object", "array", "number", "integer", "boolean"];

interface SchemaParts {
  readonly type?: unknown;
  readonly properties?: object;
  readonly items?: unknown;
  readonly required?: readonly string[];
}

/** The value that a text stands for, if it is of this type; else the text. */
function parsed(text: string, type: unknown): unknown {
  const value = parseJson(text);
  return kindOf(value) === (type === "integer" ? "number" : type) ? value : text;
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}
