import type { Context } from "../context/index.ts";
import { messageOf } from "../platform/errors.ts";
import { amount } from "../platform/figures.ts";
import { settledOrAborted, settledWithin } from "../platform/signals.ts";
import { startedAgents } from "../session/index.ts";
import { PI_DEFAULTS } from "../settings/index.ts";
import type { Tool } from "../tools/index.ts";
import type { BranchView } from "./branch/entries.ts";
import type { FoldMessage } from "./externalize/apply.ts";
import type { Asked } from "./externalize/asked.ts";
import type { CompactionWish, PiAnswer } from "./externalize/compaction.ts";
import { type PiMessage, withAnswers } from "./externalize/message.ts";
import { contextLeft, type PiActions, type PiContext, type ToolResultMessage } from "./host.ts";
import { type OnBranch, openBranch, runAtHead } from "./on-branch.ts";
import type { Opened, OpenedParts } from "./opened/opened.ts";
import { endTornLine, insert, recover } from "./recovery/recover.ts";
import type { StateBoard } from "./runs/board.ts";
import { keepLeftRun, leftRunIn, leftRuns } from "./runs/left.ts";
import { type Called, cancelledBeforeStart, type RunOutcome, type Runs } from "./runs/runs.ts";
import { harmless } from "./view/texts.ts";

/**
 * Belay while one instance of the extension lives: Pi makes a new one for every session that it
 * goes to.
 */
export interface Lifecycle {
  readonly board: StateBoard;
  readonly runs: Runs;
  /** The open parts, which the first call opens. @throws RlmError */
  opened(): Promise<Opened>;
  /** The branch as it is now. */
  view(): BranchView;
  /** Brings the board up to the branch. @throws RlmError */
  refresh(): Promise<void>;
  /** The newest result of a recovered call with this id. */
  answer(tool_call_id: string): ToolResultMessage | undefined;
  /** An interrupted call is being finished. */
  isRecovering(): boolean;
  /** Is called before a prompt goes out, and waits for a time while a call is being finished. */
  prompted(): Promise<void>;
  /** Pi is about to leave the session, unless an extension keeps it there. */
  departs(): void;
  /** Pi stays, and what it has stopped is cancelled. */
  stays(): Promise<void>;
  /**
   * Cancels what runs, or what runs on in the session of the branch since Pi left it. Returns false
   * if nothing does.
   */
  cancel(): boolean;
  /**
   * The messages that Pi is about to send, with results that it lacks, and stubs for what is
   * outside. Never throws.
   */
  messages<M extends PiMessage>(messages: readonly M[]): readonly (M | ToolResultMessage | FoldMessage)[];
  /** The answer to Pi when it is about to compact. Never throws. */
  compacts(wish: CompactionWish & { readonly reserve: number }): PiAnswer;
  /** A person's commands about the conversation outside. */
  readonly outside: Asked;
  /**
   * Brings the board up to the conversation: an answer has ended, or something was asked of
   * `outside`.
   */
  rested(): void;
  /** The branch's P. */
  context(): Promise<{ readonly P: Context | null; readonly problem: string | null }>;
  /** Runs a call of one of our tools. Rejects only if Pi is not on a session. */
  call(tool: Tool, called: Called, from: PiContext): Promise<RunOutcome>;
  /** Pi is on a session, or on another branch of it. */
  arrived(from: PiContext, how: "start" | "tree"): void;
  /** Pi leaves the session. @param reason Pi's own word */
  left(reason?: string): Promise<void>;
}

export function openLifecycle(parts: OpenedParts, actions: PiActions): Lifecycle {
  const branch = openBranch(parts, actions);
  const { answers, board, context, opened, outside, rested, runs } = branch;
  const recovery = openBackgroundRecovery(branch);

  async function recoverAll(): Promise<void> {
    const goesOn = await recover(branch);
    if (!goesOn || recovery.holdsPrompt() || !context().isIdle()) return;
    const message = { customType: "rlm_recovered", content: GO_ON, display: true };
    actions.sendMessage(message, { triggerTurn: true });
  }

  return {
    board,
    runs,
    opened,
    view: branch.view,
    refresh: branch.refresh,
    answer: (tool_call_id) => [...answers.values()].findLast(({ toolCallId }) => toolCallId === tool_call_id),
    isRecovering: recovery.isRunning,
    async prompted() {
      await runs.stays();
      await recovery.holdPrompt();
    },
    departs: runs.departs,
    stays: runs.stays,
    cancel: () => runs.cancel() || leftRunIn(branch.view().starts.at(-1)?.session ?? "")?.cancel() === true,
    messages: <M extends PiMessage>(messages: readonly M[]) => outside.sent(withAnswers(messages, answers)),
    compacts: outside.compacts,
    outside: outside.asked,
    rested,
    context: branch.conversations.context,
    async call(tool, called, from) {
      branch.goTo(from);
      await recovery.overOrAborted(called.signal);
      if (called.signal?.aborted && recovery.isRunning()) return cancelledBeforeStart(tool);
      const onLate = (outcome: RunOutcome) => {
        const { unanswered } = branch.view();
        const call = unanswered.findLast((one) => one.isStopped && one.tool_call_id === called.tool_call_id);
        if (call) insert(branch, call, outcome);
      };
      return runAtHead(branch, tool, { ...called, onLate }, "opening");
    },
    arrived(from, how) {
      branch.goTo(from);
      answers.clear();
      outside.arrived(how);
      rested();
      if (how === "start") endTornLine(from.sessionManager.getSessionFile());
      recovery.begin(recoverAll);
    },
    left: (reason?) => leave(branch, reason),
  };
}

const GO_ON = "The interrupted rlm call is finished; its result stands above. Go on.";

/** Pi's reasons to leave a session for another one. */
const SWITCHES = ["new", "resume", "fork"];

/** A load, for example, that has not ended by then is interrupted by the end of the process. */
const CLOSE_MS = 5_000;

/**
 * Leaves a session with Pi. If it goes to another one, a call runs on, unless the settings forbid
 * it. Else what runs is suspended, and if Pi quits, also what runs in sessions that it has left;
 * recovery finishes it when Pi comes back.
 */
async function leave(branch: OnBranch, reason: string | undefined): Promise<void> {
  const { begun, clock, context, goTo, runs } = branch;
  const isSwitch = reason !== undefined && SWITCHES.includes(reason);
  const close = async () => (await begun())?.[Symbol.asyncDispose]();
  const goingOn = runs.leave(isSwitch && mayRunOn(branch));
  if (goingOn) {
    goTo(contextLeft(context()));
    const { over, ...run } = goingOn;
    const closed = over.then(close).catch(() => {});
    keepLeftRun({ ...run, cancel: runs.cancel, suspend: runs.suspend }, closed);
    return;
  }
  const isQuit = !isSwitch && reason !== "reload";
  const others = isQuit ? leftRuns() : [];
  for (const { suspend } of others) suspend();
  const closing = [close().catch(() => {}), ...others.map(({ done }) => done)];
  const sessions = new Set([branch.view().starts.at(-1)?.session, ...others.map(({ session }) => session())]);
  await settledWithin(Promise.all(closing), CLOSE_MS, clock);
  if (isQuit) await tellOfAgents(branch, sessions);
}

/** Tells people who quit Pi how many agents of workflows work on. */
async function tellOfAgents({ begun, atExit }: OnBranch, sessions: ReadonlySet<string | null | undefined>) {
  const store = (await begun()?.catch(() => null))?.store;
  if (!store) return;
  const working = [...sessions].reduce((sum, id) => sum + (id ? startedAgents(store, id).size : 0), 0);
  if (working === 0) return;
  const whose = working === 1 ? "its answer is" : "their answers are";
  const agents = amount(working, "agent of a workflow works on", "agents of workflows work on");
  atExit(`RLM: ${agents}; ${whose} taken when Pi opens the session again`);
}

function mayRunOn({ settings, context }: OnBranch): boolean {
  try {
    return settings(context().cwd).background ?? PI_DEFAULTS.background;
  } catch {
    return PI_DEFAULTS.background;
  }
}

/** Recovery while Pi continues: calls of tools wait for it, and prompts do so for a time. */
function openBackgroundRecovery({ board, clock, context, opened, runs }: OnBranch) {
  let current: Promise<void> | undefined;
  let holdsPrompt = false;
  return {
    isRunning: () => current !== undefined,
    /** A prompt is kept back. */
    holdsPrompt: () => holdsPrompt,
    /** Starts it for the branch on which Pi stands. The user is told if it fails. */
    begin(recover: () => Promise<void>): void {
      const { ui } = context();
      const work = recover()
        .catch((error: unknown) => {
          // Once Pi has left the session, failures are no longer told.
          if (!runs.hasLeft()) ui.notify(harmless(`RLM: ${messageOf(error)}`), "error");
        })
        .finally(() => {
          if (current === work) current = undefined;
        });
      current = work;
    },
    /** Resolves when it has ended, if it runs, or when the signal aborts. */
    async overOrAborted(signal: AbortSignal | undefined): Promise<void> {
      if (current) await settledOrAborted(current, signal);
    },
    /** Keeps a prompt back until it has ended, or until the prompt has waited long enough. */
    async holdPrompt(): Promise<void> {
      if (!current) return;
      const { ui } = context();
      const seconds = (await opened().catch(() => null))?.settings.prompt_wait_s ?? PI_DEFAULTS.prompt_wait_s;
      if (board.current().running) {
        ui.notify(`An interrupted call is being finished; the prompt waits for it, ${seconds} s at the most`, "info");
      }
      holdsPrompt = true;
      const isOver = await settledWithin(current, seconds * 1000, clock);
      holdsPrompt = false;
      if (isOver) return;
      ui.notify("The interrupted call is not finished yet; the prompt goes out without its result", "warning");
    },
  };
}
