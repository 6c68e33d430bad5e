import { delimiter } from "node:path";
import * as v from "valibot";
import {
  DEFAULT_ASK_MS,
  DEFAULT_BUDGET,
  DEFAULT_EXEC_LIMITS,
  LIMITS,
  SAMPLING,
  THINKING,
} from "../../runtime/index.ts";
import { AgentsSchema } from "../platform/agent-commands.ts";
import { parseJson } from "../platform/json.ts";
import { isLeftOutPart, leftOutParts } from "../platform/left-out.ts";

/**
 * A setting, declared once. Files, variables, flags, options of sessions, fields of runs, help, completion and the
 * tables of the docs follow from it.
 */
export interface Setting {
  /** The values that it takes. Its messages begin with "must be". */
  readonly schema: v.GenericSchema;
  /** The value if nobody sets it. `null`: no limit; absent: none. */
  readonly default?: string | number | null;
  /** The value of a text, as variables and flags have it. Default: the text itself. */
  readonly fromText?: (text: string) => unknown;
  /** An empty variable or flag says "none", and takes back what a file sets. */
  readonly canBeNone?: true;
  /** It is a table, which files alone set: whoever uses it refuses a variable of its name. */
  readonly onlyInFiles?: true;
  /** Messages name the place in its value that is wrong: `agents.claude.retry`. */
  readonly namesPlaces?: true;
  readonly flag?: SettingFlag;
  /** The right of a project's file to change it. No project grants access, spends another's key, or runs a program. */
  readonly project: "may set" | "may lower" | "may not set";
  /** The option of a session that it fills: `maxDepth`, or `limits.max_execution_ms`. */
  readonly option?: string;
  /** The field of a run that it fills, by which a row of the store may lower what a worker allows. */
  readonly run?: string;
  /** A worker takes it by its own flags: no run sets it, or none beyond what the worker allows. */
  readonly ofWorkers?: true;
  /** Each command has its own; a session does not record it. */
  readonly notRecorded?: true;
  /** Its meaning in docs/configuration.md. */
  readonly docs: string;
  /** Its meaning in docs/pi/settings.md, empty if it is the same. Absent: Pi does not have it. */
  readonly docsOfPi?: string;
  /** The words for its default in Pi, if they differ. */
  readonly usualInPi?: string;
}

/** The flag of a setting. Its value is read as a variable's is. */
export interface SettingFlag {
  /** Default: the key, with dashes. */
  readonly name?: string;
  /** Stands for the value. Default: N. */
  readonly word?: string;
  readonly heading: "input" | "model" | "limits" | "output";
  /** Only a server that keeps sessions for clients takes it. */
  readonly isOfServer?: true;
  readonly help: string;
}

/** A number from `least` to `most`. @param message says what it must be */
export const numberIn = (least: number, most: number, message: string) =>
  v.pipe(v.number(message), v.minValue(least, message), v.maxValue(most, message));

/** A whole number from `least` to `most`. @param of what it counts, such as `tokens` */
export function wholeNumber(least: number, most: number, of = "") {
  const message = `must be a whole number${of && ` of ${of}`} from ${least} to ${most}`;
  return v.pipe(numberIn(least, most, message), v.safeInteger(message));
}

/** True for the address of a collector. What it asks to prove who sends stands in headers. */
export function isCollector(text: string): boolean {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

const asNumber = (text: string) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN);
const asTexts = (text: string) => (text.startsWith("[") ? (parseJson(text) ?? text) : text);
const asPaths = (text: string) => text.split(delimiter);

const WHOLE = "must be a whole number from 1";
const count = v.pipe(v.number(WHOLE), v.safeInteger(WHOLE), v.minValue(1, WHOLE));
const DOLLARS = "must be a number of dollars above 0";
const MODEL = "must be PROVIDER/ID, such as anthropic/claude-sonnet-5";
const MODELS = "must be PROVIDER/ID or PROVIDER/*, with commas between them";
const ADDRESS = "must be an address such as http://127.0.0.1:8080/v1";
const VARIABLE = "must be the name of an environment variable, not the key itself";
const PRICE = "must be IN/OUT in dollars per million tokens, such as 3/15";
const LEFT_OUT = "must be schema or cache, each for all models or as PART@PROVIDER/ID, with commas between";
const PATHS = "must be a list of folders";
const CONVERT = 'must be an object such as { "pdf": ["pdftotext", "{}", "-"], "html": false }: each list has {} once';
const AGENT_MODELS = 'must be an object such as { "haiku": "anthropic/claude-haiku-4-5" }';
const SHORT = "must be a short name of a model: letters, digits and . _ : - , at most 100";
const COLLECTOR = "must be env, or an address such as http://127.0.0.1:4318 without user and password";

const areModels = (text: string) => text.split(",").every((name) => /^[^/\s]+\/\S+$/.test(name));
const areLeftOutParts = (text: string) => leftOutParts(text).every(isLeftOutPart);
const isEnvOrCollector = (text: string) => text === "env" || isCollector(text);

const ShortName = v.pipe(v.string(SHORT), v.regex(/^[A-Za-z0-9][\w.:-]{0,99}$/, SHORT));
const Extension = v.pipe(v.string(), v.regex(/^[a-z0-9]{1,16}$/, CONVERT));
const Command = v.pipe(
  v.array(v.string()),
  v.check(([program = "", ...rest]) => program !== "" && rest.filter((word) => word === "{}").length === 1),
);

/** All settings, by their keys in files. Help, messages and docs list them in this order. */
export const SETTINGS = {
  model: {
    schema: v.pipe(v.string(MODEL), v.regex(/^[^/\s]+\/\S+$/, MODEL)),
    project: "may set",
    option: "model",
    flag: {
      word: "PROVIDER/ID",
      heading: "model",
      help: "model of sub-calls, such as anthropic/claude-sonnet-5 (`belay models` lists them); its key is in the provider's usual variable (ANTHROPIC_API_KEY) or in Pi's auth.json",
    },
    docs: "model of sub-calls, `PROVIDER/ID`; [models.md](models.md) lists them, and the default",
  },
  models: {
    schema: v.pipe(v.string(MODELS), v.check(areModels, MODELS)),
    project: "may not set",
    flag: {
      word: "PROVIDER/ID",
      heading: "model",
      help: "models that cells may name beside those of the provider of --model, such as openai/gpt-6-sol or openai/*, with commas between them",
    },
    docs: "other [models that cells may name](models.md#which-model-is-asked): `PROVIDER/ID` or `PROVIDER/*`, separated by commas",
  },
  base_url: {
    schema: v.pipe(v.string(ADDRESS), v.minLength(1, ADDRESS)),
    canBeNone: true,
    project: "may not set",
    option: "baseUrl",
    ofWorkers: true,
    flag: {
      word: "URL",
      heading: "model",
      help: "an OpenAI-compatible server for sub-calls; the provider's name in --model is then free (local/NAME); empty: none",
    },
    docs: "an OpenAI-compatible server, with its path; the provider's name in `model` is then free",
  },
  api_key_env: {
    schema: v.pipe(v.string(VARIABLE), v.regex(/^[A-Za-z_]\w*$/, VARIABLE)),
    canBeNone: true,
    project: "may not set",
    option: "apiKeyEnv",
    ofWorkers: true,
    flag: {
      word: "NAME",
      heading: "model",
      help: "another environment variable that holds the API key; empty: none",
    },
    docs: "name of the variable that holds the API key",
  },
  price: {
    schema: v.pipe(v.string(PRICE), v.regex(/^\d{1,6}(\.\d{1,6})?\/\d{1,6}(\.\d{1,6})?$/, PRICE)),
    project: "may not set",
    option: "price",
    ofWorkers: true,
    flag: {
      word: "IN/OUT",
      heading: "model",
      help: "dollars per million tokens, in and out, of models without a listed price, such as 3/15",
    },
    docs: "dollars per million tokens, `IN/OUT`, for models without a listed price",
  },
  leave_out: {
    schema: v.pipe(v.string(LEFT_OUT), v.check(areLeftOutParts, LEFT_OUT)),
    canBeNone: true,
    project: "may not set",
    option: "leaveOut",
    ofWorkers: true,
    flag: {
      word: "PARTS",
      heading: "model",
      help: "parts of requests to leave out: schema (only the prompt states it), cache (calls with a common beginning are sent at once), for all models or as schema@local/NAME or schema@local/*, with commas between; empty: none",
    },
    docs: "parts of requests to [leave out](models.md#the-form-of-an-answer): `schema`, `cache`, `schema@local/NAME` or `schema@local/*`, separated by commas",
  },
  thinking: {
    schema: v.picklist(THINKING, `must be one of ${THINKING.join(", ")}`),
    default: "off",
    project: "may lower",
    option: "thinking",
    run: "thinking",
    flag: {
      word: "LEVEL",
      heading: "model",
      help: "how much models think first: off (default: as little as the model can), minimal, low, medium, high, xhigh or max; counts in max_tokens",
    },
    docs: "how much models think before they answer: off, minimal, low, medium, high, xhigh or max",
    docsOfPi: "",
  },
  temperature: {
    schema: SAMPLING.temperature.wrapped,
    fromText: asNumber,
    canBeNone: true,
    project: "may not set",
    option: "sampling.temperature",
    run: "sampling.temperature",
    flag: { heading: "model", help: "of sub-calls, 0 to 2, as their models take it; empty: the provider's own" },
    docs: "[temperature](models.md#parameters) of sub-calls, 0 to 2; none: the provider's own",
    docsOfPi: "",
  },
  top_p: {
    schema: SAMPLING.top_p.wrapped,
    fromText: asNumber,
    canBeNone: true,
    project: "may not set",
    option: "sampling.top_p",
    run: "sampling.top_p",
    flag: { heading: "model", help: "of sub-calls, 0 to 1; empty: the provider's own" },
    docs: "top_p of sub-calls, 0 to 1",
    docsOfPi: "",
  },
  seed: {
    schema: SAMPLING.seed.wrapped,
    fromText: asNumber,
    canBeNone: true,
    project: "may not set",
    option: "sampling.seed",
    run: "sampling.seed",
    flag: {
      heading: "model",
      help: "of sub-calls, a whole number: the same one gives the same answer if the provider can; empty: none",
    },
    docs: "seed of sub-calls, a whole number",
    docsOfPi: "",
  },
  stop: {
    schema: SAMPLING.stop.wrapped,
    fromText: asTexts,
    canBeNone: true,
    project: "may not set",
    option: "sampling.stop",
    run: "sampling.stop",
    flag: {
      word: "TEXT",
      heading: "model",
      help: "a text at which answers of sub-calls end, or up to 4 as a JSON list; empty: none",
    },
    docs: "a text at which answers of sub-calls end, or a list of up to 4 (JSON in a flag or variable)",
    docsOfPi: "",
  },
  delivery: {
    schema: v.picklist(["now", "batch"], 'must be "now" or "batch"'),
    default: "now",
    project: "may not set",
    option: "delivery",
    run: "delivery",
    flag: {
      word: "HOW",
      heading: "model",
      help: "now (default), or batch: calls go by provider batch, at half the price, and are answered within minutes to 24 hours; the command may end meanwhile, and the same line continues",
    },
    docs: "`batch`: by [provider batch](batch.md#half-price-and-the-process-may-exit); `belay query` and MCP send at once",
    docsOfPi: "without effect here: Pi sends calls at once",
  },
  max_sub_calls: {
    schema: count,
    default: DEFAULT_BUDGET.max_sub_calls,
    fromText: asNumber,
    project: "may lower",
    option: "budget.max_sub_calls",
    run: "budget.max_sub_calls",
    flag: { heading: "limits", help: `sub-calls that may be made (default ${DEFAULT_BUDGET.max_sub_calls})` },
    docs: "sub-calls that may be made",
    docsOfPi: "sub-calls for each of your prompts",
  },
  max_tokens: {
    schema: count,
    default: DEFAULT_BUDGET.max_tokens,
    fromText: asNumber,
    project: "may lower",
    option: "budget.max_tokens",
    run: "budget.max_tokens",
    flag: {
      heading: "limits",
      help: `tokens of all sub-calls, input and output (default ${DEFAULT_BUDGET.max_tokens})`,
    },
    docs: "tokens of all sub-calls, input and output",
    docsOfPi: "",
  },
  max_time_ms: {
    schema: count,
    default: DEFAULT_BUDGET.max_time_ms,
    fromText: asNumber,
    project: "may lower",
    option: "budget.max_time_ms",
    run: "budget.max_time_ms",
    flag: {
      heading: "limits",
      help: `wall time inside cells, ms (default ${DEFAULT_BUDGET.max_time_ms}; ${DEFAULT_ASK_MS} with a local server)`,
    },
    docs: `wall time inside cells, ms; with a [local server](models.md#limits-of-time) ${DEFAULT_ASK_MS}`,
    docsOfPi: "",
  },
  max_cost_usd: {
    schema: v.pipe(v.number(DOLLARS), v.finite(DOLLARS), v.gtValue(0, DOLLARS)),
    default: DEFAULT_BUDGET.max_cost_usd,
    fromText: asNumber,
    canBeNone: true,
    project: "may lower",
    option: "budget.max_cost_usd",
    run: "budget.max_cost_usd",
    ofWorkers: true,
    flag: {
      word: "USD",
      heading: "limits",
      help: "dollars of all sub-calls, by the model's price list; empty: no limit",
    },
    docs: "dollars of all sub-calls, by the model's price list; without a price it is an error",
    docsOfPi: "",
  },
  max_session_budgets: {
    schema: count,
    default: 10,
    fromText: asNumber,
    project: "may lower",
    flag: {
      heading: "limits",
      isOfServer: true,
      help: "budgets of a call that a client's session may spend in all since its last load (default 10)",
    },
    docs: "for `belay mcp`: budgets of one call that a client's session may spend in all",
  },
  concurrency: {
    schema: wholeNumber(1, LIMITS.maxConcurrency),
    default: LIMITS.concurrency,
    fromText: asNumber,
    project: "may lower",
    option: "concurrency",
    run: "call_concurrency",
    flag: { heading: "model", help: `sub-calls in flight at once (default ${LIMITS.concurrency})` },
    docs: `sub-calls in flight at once, at most ${LIMITS.maxConcurrency}`,
    docsOfPi: "",
  },
  max_turns: {
    schema: count,
    default: LIMITS.subAgentTurns,
    fromText: asNumber,
    project: "may lower",
    option: "subAgents.maxTurns",
    run: "max_turns",
    docs: "turns of a sub-agent",
    docsOfPi: "",
  },
  max_depth: {
    schema: wholeNumber(0, LIMITS.maxDepth),
    default: LIMITS.depth,
    fromText: asNumber,
    project: "may lower",
    option: "maxDepth",
    run: "max_depth",
    flag: {
      name: "depth",
      heading: "limits",
      help: `levels of sub-calls that have a context and cells of their own, 0 to ${LIMITS.maxDepth} (default ${LIMITS.depth})`,
    },
    docs: `levels of sub-calls with their own context, 0 to ${LIMITS.maxDepth}; in Pi at most 3`,
    docsOfPi: "levels of sub-calls with their own context and cells, 0 to 3",
  },
  max_execution_ms: {
    schema: count,
    default: DEFAULT_EXEC_LIMITS.max_execution_ms,
    fromText: asNumber,
    project: "may lower",
    option: "limits.max_execution_ms",
    run: "limits.max_execution_ms",
    flag: {
      heading: "limits",
      help: `running time of a cell without waiting, ms (default ${DEFAULT_EXEC_LIMITS.max_execution_ms})`,
    },
    docs: "running time of a cell without waiting, ms",
    docsOfPi: "",
  },
  max_output_bytes: {
    schema: count,
    default: DEFAULT_EXEC_LIMITS.max_output_bytes,
    fromText: asNumber,
    project: "may lower",
    option: "limits.max_output_bytes",
    run: "limits.max_output_bytes",
    flag: {
      heading: "limits",
      help: `what a cell may print, bytes (default ${DEFAULT_EXEC_LIMITS.max_output_bytes})`,
    },
    docs: "what a cell may print, bytes",
    docsOfPi: "",
  },
  max_result_bytes: {
    schema: wholeNumber(1, LIMITS.wholeResultBytes),
    default: DEFAULT_EXEC_LIMITS.max_result_bytes,
    fromText: asNumber,
    project: "may lower",
    option: "limits.max_result_bytes",
    run: "limits.max_result_bytes",
    flag: {
      heading: "limits",
      help: `result of a cell as JSON, bytes (default ${DEFAULT_EXEC_LIMITS.max_result_bytes}, at most ${LIMITS.wholeResultBytes})`,
    },
    docs: `result of a cell as JSON, bytes; at most ${LIMITS.wholeResultBytes}`,
    docsOfPi: "",
  },
  max_find_results: {
    schema: count,
    default: DEFAULT_EXEC_LIMITS.max_find_results,
    fromText: asNumber,
    project: "may lower",
    option: "limits.max_find_results",
    run: "limits.max_find_results",
    flag: {
      heading: "limits",
      help: `matches that one find returns (default ${DEFAULT_EXEC_LIMITS.max_find_results})`,
    },
    docs: "matches that one `find` returns",
    docsOfPi: "",
  },
  memory_mb: {
    schema: wholeNumber(8, 2048),
    default: LIMITS.guestHeapBytes / 2 ** 20,
    fromText: asNumber,
    project: "may lower",
    option: "memoryMb",
    run: "memory_mb",
    flag: {
      heading: "limits",
      help: `heap of the cells, 8 to 2048 (default ${LIMITS.guestHeapBytes / 2 ** 20}); P comes on top`,
    },
    docs: "heap of the cells, 8 to 2048 MB; the context comes on top",
    docsOfPi: "",
  },
  max_session_mb: {
    schema: count,
    default: LIMITS.sessionMb,
    fromText: asNumber,
    project: "may lower",
    option: "maxSessionMb",
    run: "max_session_mb",
    flag: {
      heading: "limits",
      help: `space that a session takes in the store, MB (default ${LIMITS.sessionMb})`,
    },
    docs: "MB that a session takes in the store with its contexts and children",
    docsOfPi: "",
  },
  max_context_mb: {
    schema: wholeNumber(1, LIMITS.mostContextMb),
    default: LIMITS.contextBytes / 2 ** 20,
    fromText: asNumber,
    project: "may lower",
    option: "maxContextMb",
    run: "max_context_mb",
    flag: {
      heading: "limits",
      help: `text of a context, MB (default ${LIMITS.contextBytes / 2 ** 20}, at most ${LIMITS.mostContextMb}); above 100 it lies in files beside the store`,
    },
    docs: `MB of text that a context may have, at most ${LIMITS.mostContextMb}; above 100 it is [large](large-contexts.md)`,
    docsOfPi: "",
  },
  max_files: {
    schema: wholeNumber(1, LIMITS.mostFiles),
    default: LIMITS.files,
    fromText: asNumber,
    project: "may lower",
    option: "maxFiles",
    run: "max_files",
    flag: {
      heading: "limits",
      help: `documents of a context (default ${LIMITS.files}, at most ${LIMITS.mostFiles})`,
    },
    docs: `documents that a context may have, at most ${LIMITS.mostFiles}`,
    docsOfPi: "",
  },
  wait_for_server_ms: {
    schema: wholeNumber(0, LIMITS.serverWaitMost),
    default: LIMITS.serverWaitMs,
    fromText: asNumber,
    project: "may lower",
    option: "waitForServerMs",
    ofWorkers: true,
    flag: {
      heading: "limits",
      help: `wait for a model's server that answered before and is away, ms (default ${LIMITS.serverWaitMs}; of batch and worker ${LIMITS.jobServerWaitMs}); 0: none`,
    },
    docs: `ms to [wait for a server](models.md#a-server-that-is-away) that is away; ${LIMITS.jobServerWaitMs} in \`belay batch\` and \`belay worker\`; 0: none`,
    docsOfPi: "",
  },
  roots: {
    schema: v.array(v.pipe(v.string(PATHS), v.minLength(1, PATHS)), PATHS),
    fromText: asPaths,
    project: "may set",
    flag: {
      name: "root",
      word: "DIR",
      heading: "input",
      help: "also allow symlinks of a context to lead into DIR; every -c PATH is allowed by itself",
    },
    docs: "folders into which symlinks of a context may lead",
    docsOfPi: "further folders from which contexts may be loaded",
    usualInPi: "the project",
  },
  convert: {
    schema: v.record(Extension, v.union([v.boolean(), Command], CONVERT), CONVERT),
    onlyInFiles: true,
    project: "may not set",
    notRecorded: true,
    docs: "converters of [documents](documents.md) by extension",
    docsOfPi: "",
  },
  agents: {
    schema: AgentsSchema,
    namesPlaces: true,
    onlyInFiles: true,
    project: "may not set",
    notRecorded: true,
    docs: "[programs that answer calls of workflows](workflows.md) in place of models, by name",
    docsOfPi: "",
  },
  agent_models: {
    schema: v.record(ShortName, v.pipe(v.string(MODEL), v.regex(/^[^/\s]+\/\S+$/, MODEL)), AGENT_MODELS),
    namesPlaces: true,
    onlyInFiles: true,
    project: "may set",
    notRecorded: true,
    docs: "models by the short names that workflows use, such as `haiku`: `PROVIDER/ID`; a project's names are added to yours",
    docsOfPi: "",
  },
  otlp: {
    schema: v.pipe(v.string(COLLECTOR), v.check(isEnvOrCollector, COLLECTOR)),
    canBeNone: true,
    project: "may not set",
    ofWorkers: true,
    notRecorded: true,
    flag: {
      word: "URL|env",
      heading: "output",
      help: "send spans of finished asks and execs to this OpenTelemetry collector (docs/telemetry.md); env: the one in OTEL_EXPORTER_OTLP_ENDPOINT; empty: none",
    },
    docs: "the collector that gets the [spans](telemetry.md) of finished execs, or `env`",
  },
} as const satisfies { readonly [key: string]: Setting };

/** A key of the table. */
export type Key = keyof typeof SETTINGS;

/** All settings, in order. */
export const ROWS: readonly (readonly [Key, Setting])[] = rowsOf(SETTINGS);

/** The entries of a table, with its own type of keys. */
export function rowsOf<Name extends string, Row>(table: { readonly [name in Name]: Row }): [Name, Row][] {
  const rows: [Name, Row][] = [];
  for (const name in table) rows.push([name, table[name]]);
  return rows;
}
