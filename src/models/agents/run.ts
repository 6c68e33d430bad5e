import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { setTimeout as later } from "node:timers/promises";
import { hasCode, LIMITS } from "../../../runtime/index.ts";
import type { AgentCommand } from "../../platform/agent-commands.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import { namesIn, treesIn } from "../../platform/outbox-folders.ts";
import { onceAborted, WORK_ON } from "../../platform/signals.ts";
import { type AgentAnswer, readAnswer } from "./answer.ts";
import { type CallParts, isPromptInWords, wordsOf } from "./command-line.ts";
import { endMarked } from "./group.ts";
import type { Environment } from "./keeper.ts";
import { handToKeeper, KEEPER_ENDED } from "./keepers.ts";
import {
  type AgentJob,
  type AgentResult,
  askToStop,
  bytesIn,
  claimOutbox,
  emptyOutbox,
  fileIn,
  isOfTree,
  type OutboxState,
  readOutbox,
  textIn,
  writeDurably,
  writeWhole,
} from "./outbox.ts";
import { dropWorktree } from "./worktree.ts";

/** One request to an agent. */
export interface AgentRun extends CallParts {
  readonly command: AgentCommand;
  /** The same whenever the same call is made: an agent that an earlier process started is adopted. */
  readonly key: string;
  /** Its outbox. */
  readonly folder: string;
  readonly cwd: string;
  /** It works in a worktree of its own. */
  readonly worktree: boolean;
  readonly timeoutMs: number;
  /** The most starts of an agent whose end is unknown. */
  readonly mostTries: number;
}

/** The end of a request to an agent. */
export interface AgentOutcome {
  /** `in_doubt`: it was started, and it is unknown whether it has ended. */
  readonly ended: AgentResult["ended"] | "in_doubt";
  readonly code: number | null;
  readonly signal: string | null;
  /** The reason why it could not be started. */
  readonly why?: string;
  /** null: it printed no whole answer. */
  readonly answer: AgentAnswer | null;
  /** Its last words, if it gave no answer. */
  readonly said: string;
  /** True if its output had bytes that are not UTF-8. */
  readonly isGarbled: boolean;
  /** Starts before the last one: they may have cost as much. */
  readonly cut: number;
}

const POLL_MS = 100;
/** Keepers that end and have kept nothing. */
const MOST_FAILURES = 5;

/** Variables that each agent gets: where programs and files are, and the user's language. */
const USUAL =
  "PATH HOME USER LOGNAME SHELL TERM TZ TMPDIR LANG LANGUAGE XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS".split(
    " ",
  );

/** Windows starts no program without the first ones. */
const OF_WINDOWS = "SYSTEMROOT COMSPEC PATHEXT TEMP TMP USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA".split(" ");

/**
 * Runs an agent, or adopts one that an earlier process of the same call has started.
 *
 * @returns null if the signal has aborted: the agent is asked to end
 */
export async function runAgent(run: AgentRun, signal: AbortSignal): Promise<AgentOutcome | null> {
  const { folder } = run;
  let failures = 0;
  /** Starts that this process has asked for. */
  let starts = 0;
  for (;;) {
    if (signal.aborted) return null;
    makeFolder(folder);
    const next = nextStep(run, starts);
    if (next === "wait") {
      await stopping(folder, later(POLL_MS), signal);
      continue;
    }
    if (next !== "watch" && "ended" in next) return next;
    const job = next === "watch" ? null : next;
    if (job) starts += 1;
    const work = { folder, job, cwd: run.cwd, env: environmentOf(run.command) };
    const kept = handToKeeper(work, environmentOf({}));
    const end = await stopping(folder, kept.over, signal);
    if (signal.aborted || end === null) {
      kept.leave();
      continue;
    }
    const state = readOutbox(folder);
    if (end.failed === null && state.result) continue;
    failures += 1;
    const isFinal = end.failed !== null && !end.failed.startsWith(KEEPER_ENDED);
    if (isFinal || failures === MOST_FAILURES) {
      const why = end.failed ?? "its outbox was damaged";
      return end.isBegun || !isUnbegun(state)
        ? notKept(folder, state, why)
        : { ...SILENT, ended: "not_started", why, cut: 0 };
    }
    await later(POLL_MS);
  }
}

/** The variables that an agent gets. Keys of others stay in this process. */
function environmentOf({ env: named = [] }: Pick<AgentCommand, "env">): Environment {
  const isWindows = process.platform === "win32";
  const nameOf = (name: string) => (isWindows ? name.toUpperCase() : name);
  const names = new Set([...USUAL, ...(isWindows ? OF_WINDOWS : []), ...named].map(nameOf));
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => {
      const isGiven = names.has(nameOf(name)) || name.startsWith("LC_");
      return isGiven && value !== undefined ? [[name, value]] : [];
    }),
  );
}

/** An agent whose end nobody could keep. A later process looks again, and must not take it for one that was never started. */
async function notKept(folder: string, { job, start }: OutboxState, why: string): Promise<AgentOutcome> {
  const begun = start ?? { tries: job?.tries ?? 1, cut: job?.cut ?? 0, at: Date.now() };
  try {
    makeFolder(folder);
    if (!start) await writeDurably(folder, "started", JSON.stringify(begun));
  } catch {
    // The reason is told already.
  }
  return { ...SILENT, ended: "in_doubt", why, cut: begun.cut };
}

/** A job: a keeper starts the agent. `watch`: one watches an agent that has lost its keeper. */
type Step = AgentOutcome | "wait" | AgentJob | "watch";

/** Decides under the lock of the outbox. */
function nextStep(run: AgentRun, starts: number): Step {
  const { folder } = run;
  using claim = claimOutbox(folder);
  const state = readOutbox(folder);
  const { job, start, result } = state;
  if (!claim) return "wait";
  if (result && isEnd(result, starts)) return outcomeOf(run, state, result);
  if (start && !result && job && job.tries <= start.tries) return "watch";
  // A power failure may have taken the rest of the outbox.
  const isLost = result?.ended === "unknown" || (start && !result && !job);
  if (isLost && isWhole(run)) return outcomeOf(run, state, { ...NO_END, ended: "exited", code: 0 });
  if (isLost && start) {
    // The user's word to start it again is for what was in doubt, not for what comes of it.
    const isAllowed = Number.isFinite(run.mostTries) ? start.cut + 1 < run.mostTries : starts === 0;
    if (!isAllowed) return outcomeOf(run, state, { ...NO_END, ended: "in_doubt" });
  }
  // It was asked to end as it ended.
  if (result?.ended === "stopped" && result.code === 0 && isWhole(run))
    return outcomeOf(run, state, { ...result, ended: "exited" });
  return prepare(run, state);
}

const isUnbegun = ({ job, start }: OutboxState) => !start || (job !== null && start.tries < job.tries);

/**
 * True if the result is the end of the call. An agent that could not be started is started by a
 * later process, whose user may have corrected its command.
 */
function isEnd({ ended }: AgentResult, starts: number): boolean {
  if (ended === "not_started") return starts > 0;
  return ended !== "stopped" && ended !== "unknown";
}

type End = Pick<AgentOutcome, "ended" | "code" | "signal" | "why">;

const NO_END = { code: null, signal: null };

/** The outcome of an agent of which nothing was read. */
const SILENT = { ...NO_END, answer: null, said: "", isGarbled: false };

/** Codes of a store that cannot keep the answer: the agent works on, and a later process adopts it. */
const OF_STORE = ["lease_lost", "store_failed", "store_full", "store_corrupt"] as const;

/** Waits for work, and asks for the end of the agent if the signal aborts first for another reason. */
async function stopping<T>(folder: string, work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const callOff = onceAborted(signal, () => resolve(null));
  const done = await Promise.race([work, promise]);
  callOff();
  const worksOn = signal.reason === WORK_ON || hasCode(signal.reason, ...OF_STORE);
  if (signal.aborted && !worksOn) askToStop(folder);
  return done;
}

/** True if what an agent printed is a whole answer. JSON lines are, once one of them has what it took. */
function isWhole({ command, folder }: AgentRun): boolean {
  const { output } = command;
  const answer = output ? readAnswer(output, textIn(folder, "out", printedMost(command)) ?? "") : null;
  return answer !== null && !answer.isBrokenOff && (!output?.lines || answer.tokens !== null);
}

const printedMost = ({ max_bytes = LIMITS.agentBytes }: AgentCommand) => max_bytes;

/** Units of an agent's last words that are read for a limit. */
const SAID_UNITS = 4096;

function outcomeOf(run: AgentRun, { start, job }: OutboxState, { ended, code, signal, why }: End): AgentOutcome {
  const most = printedMost(run.command);
  const bytes = bytesIn(run.folder, "out", most);
  const printed = bytes.toString("utf8");
  const answer = ended === "exited" ? readAnswer(run.command.output, printed) : null;
  const err = textIn(run.folder, "err", most) ?? "";
  const isTold = answer?.failed === true && answer.text.trim() !== "";
  const said = isTold ? answer.text : `${err}\n${answer?.isValue ? "" : printed}`;
  return {
    ended,
    code,
    signal,
    ...(why === undefined ? {} : { why }),
    answer,
    said: said.trim().slice(-SAID_UNITS).toWellFormed(),
    isGarbled: !isUtf8(bytes),
    cut: start?.cut ?? job?.cut ?? 0,
  };
}

/** Writes the job of the next start, and returns it. */
function prepare(run: AgentRun, { job: last, start, result }: OutboxState): AgentJob {
  const { folder, command, key, cwd, worktree, timeoutMs, schema, prompt } = run;
  for (const name of ["stop", "result.json", "process"]) rmSync(fileIn(folder, name), { force: true });
  if (schema !== null) writeWhole(folder, "schema.json", schema);
  const argv = wordsOf(command, run, { prompt: fileIn(folder, "prompt"), schema: fileIn(folder, "schema.json") });
  // A program that has the prompt as an argument would read it twice.
  writeWhole(folder, "prompt", isPromptInWords(command) ? "" : prompt);
  const job: AgentJob = {
    argv,
    cwd,
    timeout_ms: timeoutMs,
    max_bytes: printedMost(command),
    tree: worktree ? treeName(folder, start === null ? (last?.tree ?? null) : null) : null,
    // A keeper still ends what an earlier start has left when the next one begins.
    key: `${key}/${randomUUID()}`,
    tries: Math.max(start?.tries ?? 0, result?.tries ?? 0) + 1,
    // One that could not be started has cost nothing.
    cut: start ? start.cut + (result?.ended === "not_started" ? 0 : 1) : 0,
  };
  writeWhole(folder, "job.json", JSON.stringify(job));
  return job;
}

/** A worktree in which an agent has changed something is not used again. @param unused by an agent */
function treeName(folder: string, unused: string | null): string {
  const names = namesIn(folder).filter(isOfTree);
  let name = unused ?? "tree";
  for (let number = 2; unused === null && names.includes(name); number++) name = `tree.${number}`;
  return name;
}

/** True if an earlier process has begun the run. */
export function isUnderWay(folder: string): boolean {
  return readOutbox(folder).start !== null || isKept(folder);
}

/** True if another process has the outbox: its keeper, or for a moment another Belay. */
function isKept(folder: string): boolean {
  if (!namesIn(folder).includes("lock")) return false;
  const claim = claimOutbox(folder);
  claim?.[Symbol.dispose]();
  return claim === null;
}

/** Gives up what an earlier process has begun, whatever came of it: its agent is ended. */
export function giveUpAgent(folder: string, key: string): void {
  askToStop(folder);
  if (!isKept(folder)) endMarked(key, "SIGKILL");
}

/**
 * Ends the agents of a session that is dropped, and drops their outboxes and worktrees.
 *
 * @param folder of the session's outboxes
 */
export async function dropRuns(folder: string, session: string): Promise<void> {
  for (const name of namesIn(folder)) {
    const outbox = fileIn(folder, name);
    giveUpAgent(outbox, `${session}/${name}`);
    for (const tree of treesIn(outbox)) await dropWorktree(tree, environmentOf({}));
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Drops the outbox of a run whose answer is recorded. A worktree with changes stays. */
export function forgetRun(folder: string): void {
  if (!isKept(folder)) emptyOutbox(folder);
}
