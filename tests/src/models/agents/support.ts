import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { agentModels } from "../../../../src/models/agents/index.ts";
import type { ModelAnswer } from "../../../../src/models/index.ts";
import { temporaryFolder } from "../../../../src/platform/make-folder.ts";
import { send } from "../../../../src/platform/processes.ts";
import {
  agentsOf,
  doing,
  keepersOf,
  loggedIn,
  type Script,
  scriptedAgent,
  startsIn,
} from "../../../support/agents/agents.ts";

type AgentCall = Parameters<typeof agentModels>[0];

/** A folder with outboxes and the log of scripted agents. */
export interface Place {
  readonly path: string;
  readonly outboxes: string;
  readonly log: string;
  /** The session's id: agents are found by it, so that no two tests have the same. */
  readonly session: string;
  outbox(id?: string): string;
}

export function openPlace(): Place {
  const folder = temporaryFolder("belay-agents-");
  const outboxes = join(folder.path, "outboxes");
  mkdirSync(outboxes);
  onTestFinished(() => folder[Symbol.dispose]());
  const log = join(folder.path, "log");
  process.env.BELAY_AGENT_LOG = log;
  const session = basename(folder.path);
  return { path: folder.path, outboxes, log, session, outbox: (id = "1.1") => join(outboxes, id) };
}

export interface Asking extends Partial<Omit<AgentCall, "key" | "folder">> {
  readonly id?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Sends one request to an agent, as the call `1.1` unless it says otherwise. */
export function ask(place: Place, prompt: Script | string, asking: Asking = {}): Promise<ModelAnswer> {
  const { id = "1.1", timeoutMs = 60_000, signal = new AbortController().signal, ...call } = asking;
  const models = agentModels({
    name: "fake",
    command: scriptedAgent(),
    key: [place.session, id],
    folder: place.outboxes,
    model: null,
    schema: null,
    cwd: place.path,
    worktree: false,
    mostTries: 1,
    ...call,
  });
  const text = typeof prompt === "string" ? prompt : doing(prompt);
  const messages = [{ role: "user" as const, text }];
  return models
    .resolve(null)
    .complete({ system: null, messages, tools: [], maxTokens: 100, timeoutMs, cache: "none" }, signal);
}

/** The text of an answer, or the code of its failure. */
export const told = (answer: ModelAnswer) => (answer.ok ? answer.turn.text : answer.error.code);

/** Waits until something is true. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await later(20);
}

/** Waits for the nth start of the agents of a place. */
export const started = (place: Place, count = 1) =>
  until(() => loggedIn(place.log).filter(({ what }) => what === "BEGUN").length >= count);

/** Kills the keeper of a call, and waits for its end. */
export async function killKeeper(place: Place, id = "1.1"): Promise<void> {
  await until(() => keepersOf(place.outbox(id)).length > 0);
  await kill(keepersOf(place.outbox(id)));
}

/** Kills the agent of a call, and waits for its end. */
export const killAgent = (place: Place, id = "1.1") => kill(pidsOf(place, id));

/** The processes of the agent of a call. */
export const pidsOf = ({ session }: Place, id = "1.1") => agentsOf(`${session}/${id}`);

/** The starts of each agent, by the id of its call. */
export function startsOf({ log, session }: Place): Readonly<Record<string, number>> {
  const starts = Array.from(startsIn(log), ([key, count]) => [key.slice(session.length + 1), count] as const);
  return Object.fromEntries(starts);
}

async function kill(pids: readonly number[]): Promise<void> {
  // What an agent has started may end meanwhile.
  for (const pid of pids) send(pid, "SIGKILL");
  await until(() => pids.every(isGone));
}

/** True if a process has ended, also if nothing has taken note of it. */
export function isGone(pid: number): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
}

/** Another Belay that asks an agent, as a process. */
export interface OtherBelay {
  kill(signal: NodeJS.Signals): void;
  /** Resolves with its answer when it has ended. */
  readonly answer: Promise<ModelAnswer | null>;
}

const ASKING = fileURLToPath(new URL("asking.ts", import.meta.url));

export function otherBelay(place: Place, script: Script, id = "1.1"): OtherBelay {
  const file = join(place.path, `answer-${Math.random()}`);
  const words = ["--no-warnings", ASKING, place.outboxes, place.session, id, doing(script), file];
  const belay = spawn(process.execPath, words, { stdio: "inherit" });
  const ended = new Promise((resolve) => belay.on("exit", resolve));
  return { kill: (signal) => void belay.kill(signal), answer: ended.then(() => answerIn(file)) };
}

function answerIn(file: string): ModelAnswer | null {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null;
  }
}
