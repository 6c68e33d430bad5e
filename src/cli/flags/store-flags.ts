import { resolve } from "node:path";
import { homeFolder } from "../../home.ts";
import { type OnRestart, RlmError } from "../../index.ts";
import { checkSessionName, LAST_SESSION } from "../../session/index.ts";
import type { Arguments, Option } from "./arguments.ts";
import { commandLine, UsageError } from "./usage.ts";

/** Where the store is; of every command that looks into it. */
export const STORE_OPTION: Option = {
  name: "store",
  value: "DIR",
  summary: "folder that keeps sessions (default BELAY_HOME, or ~/.belay)",
};

/** The options of every command that opens a session. */
export const DURABLE_OPTIONS: readonly Option[] = [
  {
    name: "session",
    short: "s",
    value: "NAME",
    summary: "continue this session, or make it; without a name it is kept for a day after its last use",
  },
  STORE_OPTION,
  { name: "no-store", summary: "keep nothing: what is interrupted is lost" },
  { name: "reload", summary: "-c replaces the context of a session; variables, helpers, memory and budget start anew" },
  { name: "append", summary: "-c is added to the context of a session; everything else stays" },
  { name: "discard", summary: "give up what was interrupted in the session, and go on from before it" },
  {
    name: "on-restart",
    value: "send|fail",
    summary: "sub-calls in flight when the process ended: send them again (default), or let them fail in the cell",
  },
  { name: "cache", summary: "take answers of earlier identical sub-calls with `tools: []` from the store" },
  {
    name: "keep-steps",
    summary: "keep the checkpoints within a cell after its end, so that `belay fork` can use them",
  },
];

/** What these options ask for. */
export interface DurableFlags {
  /** Absolute; null: a store in memory. */
  readonly store: string | null;
  /** Whether --store was given: lines for the user repeat it. */
  readonly isStoreNamed: boolean;
  readonly session: string | null;
  /** What -c does to a session that has another context. */
  readonly change: "reload" | "append" | null;
  readonly discard: boolean;
  readonly onRestart: OnRestart | undefined;
  /** undefined: as the session had it. */
  readonly cache: true | undefined;
  readonly keepSteps: true | undefined;
}

/** @throws UsageError for options that contradict each other and for a name that cannot be typed later */
export function durableFlags(args: Arguments, command: string): DurableFlags {
  const line = commandLine(["help", command]);
  const wrong = (problem: string) => new UsageError(problem, line);
  const session = args.all("session").at(-1) ?? null;
  const changes = CHANGES.filter((name) => args.has(name));
  for (const name of ["session", "store", "reload", "append", "discard", "cache", "keep-steps"]) {
    if (args.has("no-store") && args.has(name)) throw wrong(`--${name} needs a store, and there is --no-store`);
  }
  for (const name of [...CHANGES, "discard"]) {
    if (args.has(name) && session === null) throw wrong(`--${name} is about a session; name it with --session`);
  }
  if (changes.length > 1) throw wrong("--reload and --append exclude each other");
  if (changes[0] && args.all("context").length === 0) throw wrong(`--${changes[0]} needs a context: -c PATH`);
  if (session !== null && session !== LAST_SESSION) checkName("--session", session, line);
  const asked = args.all("on-restart").at(-1);
  const onRestart = ON_RESTART.find((known) => known === asked);
  if (asked !== undefined && !onRestart) throw wrong(`--on-restart is ${asked}: it takes send or fail`);
  return {
    store: args.has("no-store") ? null : storeFolder(args),
    isStoreNamed: args.has("store"),
    session,
    change: changes[0] ?? null,
    discard: args.has("discard"),
    onRestart,
    cache: args.has("cache") || undefined,
    keepSteps: args.has("keep-steps") || undefined,
  };
}

const CHANGES = ["reload", "append"] as const;
const ON_RESTART = ["send", "fail"] as const;

/** The folder that --store names, or the usual one. */
export function storeFolder(args: Pick<Arguments, "all">): string {
  const named = args.all("store").at(-1);
  return named === undefined ? homeFolder(process.env) : resolve(named);
}

/** @throws UsageError for a name that a session cannot have */
export function checkName(option: string, name: string, line: string): void {
  try {
    checkSessionName(name);
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    throw new UsageError(`${option}: ${error.message}. ${error.suggestion.replace(/\.$/, "")}`, line);
  }
}
