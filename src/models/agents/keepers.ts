import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { entryUrl } from "../../entries.ts";
import { messageOf } from "../../platform/errors.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import { holdProcess } from "../../platform/processes.ts";
import type { Environment, KeeperWork } from "./keeper.ts";

/** The work that a keeper was given. */
interface Kept {
  /** Resolves when the keeper has done what it could. */
  readonly over: Promise<KeeperEnd>;
  /** Lets this process end before the keeper. */
  leave(): void;
}

/** The end of a keeper's work. */
interface KeeperEnd {
  /** The reason why the end of the agent was not kept; null: it was. */
  readonly failed: string | null;
  /** The keeper has started the agent. False too if it does not say. */
  readonly isBegun: boolean;
}

/** A process that keeps one agent at a time. */
interface Keeper {
  readonly process: ChildProcess;
  /** Takes the end of its work. */
  over(end: KeeperEnd): void;
  said: string;
  rest?: NodeJS.Timeout;
}

/** A keeper without an agent ends after this time, ms. */
const IDLE_MS = 5000;
const LAST_WORDS = 500;
/** The failure of a keeper that was killed. */
export const KEEPER_ENDED = "its keeper ended";

const idle = new Set<Keeper>();

/**
 * Hands an outbox to a keeper: one that has no agent, or a new one.
 *
 * @param usual variables of the keeper
 */
export function handToKeeper(work: KeeperWork, usual: Environment): Kept {
  const { promise, resolve } = Promise.withResolvers<KeeperEnd>();
  let keeper: Keeper;
  try {
    [keeper = start(usual)] = idle;
  } catch (error) {
    return { over: Promise.resolve({ failed: messageOf(error), isBegun: false }), leave() {} };
  }
  idle.delete(keeper);
  clearTimeout(keeper.rest);
  holdProcess(keeper.process, true);
  keeper.over = resolve;
  keeper.process.stdin?.write(`${JSON.stringify(work)}\n`);
  return { over: promise, leave: () => holdProcess(keeper.process, false) };
}

function start(env: Environment): Keeper {
  const entry = fileURLToPath(entryUrl("models/agents/keeper-entry"));
  // In a session of its own: no signal of a terminal or a group reaches it.
  const started: ChildProcess = spawn(process.execPath, ["--no-warnings", entry], {
    cwd: "/",
    env,
    detached: true,
    stdio: "pipe",
    windowsHide: true,
  });
  const keeper: Keeper = { process: started, over() {}, said: "" };
  let line = "";
  started.stdout?.on("data", (text) => {
    line += text;
    if (!line.endsWith("\n")) return;
    const message = parseJson(line);
    line = "";
    rest(keeper);
    const said: Readonly<Record<string, unknown>> = isRecord(message) ? message : {};
    keeper.over({ failed: typeof said.failed === "string" ? said.failed : null, isBegun: said.isBegun === true });
  });
  started.stderr?.on("data", (text) => {
    keeper.said = `${keeper.said}${text}`.slice(-LAST_WORDS);
  });
  // A keeper that has ended takes nothing more: its end is what counts.
  started.stdin?.on("error", () => {});
  const gone = (why: string) => {
    idle.delete(keeper);
    keeper.over({ failed: why, isBegun: false });
  };
  started.on("error", (error) => gone(error.message));
  started.on("close", (code, signal) => gone(keeper.said.trim() || `${KEEPER_ENDED} (${signal ?? `code ${code}`})`));
  return keeper;
}

/** Keeps a keeper for the next agent. It does not keep this process alive. */
function rest(keeper: Keeper): void {
  holdProcess(keeper.process, false);
  idle.add(keeper);
  keeper.rest = setTimeout(() => {
    idle.delete(keeper);
    keeper.process.stdin?.end();
  }, IDLE_MS).unref();
}
