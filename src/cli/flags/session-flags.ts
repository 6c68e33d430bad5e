import { LIMITS, RlmError } from "../../../runtime/index.ts";
import { type AskedSettings, LIMIT_DEFAULTS, settingsFromTexts } from "../../config/index.ts";
import { type ResultPlace, resultPlace } from "../running/delivery.ts";
import type { Arguments, Option } from "./arguments.ts";
import { DURABLE_OPTIONS, type DurableFlags, durableFlags } from "./store-flags.ts";
import { commandLine, UsageError } from "./usage.ts";

const usual = (key: keyof typeof LIMIT_DEFAULTS) => LIMIT_DEFAULTS[key];

/** The options of every command that opens a session. */
export const SESSION_OPTIONS: readonly Option[] = [
  {
    name: "context",
    short: "c",
    value: "PATH",
    repeatable: true,
    summary: "load this file or folder as the context P; further ones are appended; - is stdin",
  },
  {
    name: "root",
    value: "DIR",
    repeatable: true,
    summary: "also allow symlinks of a context to lead into DIR; every -c PATH is allowed by itself",
  },
  {
    name: "model",
    value: "PROVIDER/ID",
    summary:
      "model of sub-calls, such as anthropic/claude-sonnet-4-5; its key is in the provider's usual variable (ANTHROPIC_API_KEY) or in Pi's auth.json",
  },
  {
    name: "base-url",
    value: "URL",
    summary:
      "an OpenAI-compatible server for sub-calls; the provider's name in --model is then free (local/NAME); empty: none",
  },
  { name: "api-key-env", value: "NAME", summary: "another environment variable that holds the API key; empty: none" },
  { name: "max-sub-calls", value: "N", summary: `sub-calls that may be made (default ${usual("max_sub_calls")})` },
  {
    name: "max-tokens",
    value: "N",
    summary: `tokens of all sub-calls, input and output (default ${usual("max_tokens")})`,
  },
  { name: "max-time-ms", value: "N", summary: `wall time inside cells, ms (default ${usual("max_time_ms")})` },
  {
    name: "max-cost-usd",
    value: "USD",
    summary: "dollars of all sub-calls, by the model's price list; empty: no limit",
  },
  { name: "concurrency", value: "N", summary: `sub-calls in flight at once (default ${usual("concurrency")})` },
  {
    name: "max-execution-ms",
    value: "N",
    summary: `running time of a cell, waiting excepted, ms (default ${usual("max_execution_ms")})`,
  },
  {
    name: "max-output-bytes",
    value: "N",
    summary: `what a cell may print, bytes (default ${usual("max_output_bytes")})`,
  },
  {
    name: "max-result-bytes",
    value: "N",
    summary: `result of a cell as JSON, bytes (default ${usual("max_result_bytes")}, at most ${LIMITS.wholeResultBytes})`,
  },
  {
    name: "max-find-results",
    value: "N",
    summary: `matches that one find returns (default ${usual("max_find_results")})`,
  },
  {
    name: "memory-mb",
    value: "N",
    summary: `heap of the cells, 8 to 2048 (default ${usual("memory_mb")}); P comes on top`,
  },
  ...DURABLE_OPTIONS,
  { name: "verbose", summary: "list every file that a load leaves out, up to 1,000, with its reason" },
  { name: "quiet", short: "q", summary: "no progress and no skipped files on stderr; warnings and errors stay" },
];

/** What the options above ask for. */
export interface SessionFlags {
  readonly command: string;
  readonly contexts: readonly string[];
  /** The settings among them. */
  readonly settings: AskedSettings;
  readonly durable: DurableFlags;
  /** Of a command that has a result. */
  readonly output: ResultPlace;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** The arguments as they were typed, for a line that corrects them. */
  readonly typed: readonly string[];
}

/** @throws UsageError for a value that its option does not take and for stdin as two contexts */
export function sessionFlags(args: Arguments, command: string): SessionFlags {
  const help = commandLine(["help", command]);
  const contexts = args.all("context");
  if (contexts.filter((path) => path === "-").length > 1) {
    throw new UsageError("stdin can be read only once: -c - stands there twice", help);
  }
  const roots = args.all("root");
  try {
    const asked = settingsFromTexts(
      (key) => args.all(flagOf(key)).at(-1),
      (key) => `--${flagOf(key)}`,
    );
    const settings = roots.length > 0 ? { ...asked, roots } : asked;
    const durable = durableFlags(args, command);
    const output = resultPlace(args, command);
    return {
      command,
      contexts,
      settings,
      durable,
      output,
      quiet: args.has("quiet"),
      verbose: args.has("verbose"),
      typed: args.typed,
    };
  } catch (error) {
    throw error instanceof RlmError ? new UsageError(error.message, help) : error;
  }
}

const flagOf = (key: string) => key.replaceAll("_", "-");
