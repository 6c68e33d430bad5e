import { DEFAULT_EXEC_LIMITS, type ExecLimits, LIMITS } from "../../runtime/index.ts";
import type { Arguments, Option } from "./arguments.ts";
import { commandLine, UsageError } from "./usage.ts";

/** As the session checks it; here a mistake is one of usage. */
const LEAST_MB = 8;
const MOST_MB = 2048;

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
    name: "max-execution-ms",
    value: "N",
    summary: `running time of a cell, ms (default ${DEFAULT_EXEC_LIMITS.max_execution_ms})`,
  },
  {
    name: "max-output-bytes",
    value: "N",
    summary: `what a cell may print, bytes (default ${DEFAULT_EXEC_LIMITS.max_output_bytes})`,
  },
  {
    name: "max-find-results",
    value: "N",
    summary: `matches that one find returns (default ${DEFAULT_EXEC_LIMITS.max_find_results})`,
  },
  {
    name: "memory-mb",
    value: "N",
    summary: `heap of the cells, ${LEAST_MB} to ${MOST_MB} (default ${LIMITS.guestHeapBytes / 2 ** 20}); P comes on top`,
  },
  { name: "quiet", short: "q", summary: "no progress and no skipped files on stderr; warnings and errors stay" },
];

/** What the options above ask for. */
export interface SessionFlags {
  readonly contexts: readonly string[];
  readonly roots: readonly string[];
  readonly limits: Partial<ExecLimits>;
  readonly memoryMb: number | undefined;
  readonly quiet: boolean;
}

/** @throws UsageError for a number out of range and for stdin as two contexts */
export function sessionFlags(args: Arguments, command: string): SessionFlags {
  const contexts = args.all("context");
  if (contexts.filter((path) => path === "-").length > 1) {
    throw new UsageError("stdin can be read only once: -c - stands there twice", commandLine(["help", command]));
  }
  const memoryMb = args.number("memory-mb");
  if (memoryMb !== undefined && (memoryMb < LEAST_MB || memoryMb > MOST_MB)) {
    throw new UsageError(
      `--memory-mb is ${memoryMb}: it takes ${LEAST_MB} to ${MOST_MB}`,
      commandLine(["help", command]),
    );
  }
  const limits: Partial<ExecLimits> = {};
  for (const name of ["max_execution_ms", "max_output_bytes", "max_find_results"] as const) {
    const value = args.number(name.replaceAll("_", "-"));
    if (value !== undefined) limits[name] = value;
  }
  return { contexts, roots: args.all("root"), limits, memoryMb, quiet: args.has("quiet") };
}
