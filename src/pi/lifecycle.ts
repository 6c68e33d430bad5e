import type { Context } from "../context/index.ts";
import type { Tool } from "../tools/index.ts";
import type { BranchView } from "./branch/entries.ts";
import type { PiActions, PiContext, ToolResultMessage } from "./host.ts";
import { leave } from "./leaving.ts";
import { openBranch, runAtHead } from "./on-branch.ts";
import type { Opened, OpenedParts } from "./opened/opened.ts";
import type { CompactionWish, PiAnswer } from "./outside/compaction.ts";
import type { FoldMessage } from "./outside/fold.ts";
import type { Asked, PiMessage } from "./outside/index.ts";
import { withAnswers } from "./recovery/answers-in-context.ts";
import { openBackgroundRecovery } from "./recovery/background.ts";
import { insert, recover } from "./recovery/recover.ts";
import { endTornLine } from "./recovery/torn-tail.ts";
import type { StateBoard } from "./runs/board.ts";
import { leftRunIn } from "./runs/left.ts";
import type { Runs } from "./runs/runs.ts";
import { type Called, cancelledBeforeStart, type RunOutcome } from "./runs/runs.ts";

/** Belay while one instance of the extension lives: Pi makes a new one for every session that it goes to. */
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
  /** Pi is about to leave the session, unless somebody keeps it there. */
  departs(): void;
  /** Pi stays, and what it has stopped is cancelled. */
  stays(): Promise<void>;
  /** Cancels what runs, or what runs on in the session of the branch since Pi left it. Returns false if nothing does. */
  cancel(): boolean;
  /** The messages that Pi is about to send, with results that it lacks, and stubs for what is outside. Never throws. */
  messages<M extends PiMessage>(messages: readonly M[]): readonly (M | ToolResultMessage | FoldMessage)[];
  /** The answer to Pi when it is about to compact. Never throws. */
  compacts(wish: CompactionWish & { readonly reserve: number }): PiAnswer;
  /** A person's commands about the conversation outside. */
  readonly outside: Asked;
  /** Brings the board up to the conversation: an answer is over, or something was asked of `outside`. */
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
    answer: (tool_call_id: string) => [...answers.values()].findLast(({ toolCallId }) => toolCallId === tool_call_id),
    isRecovering: recovery.isRunning,
    async prompted(): Promise<void> {
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
    async call(tool: Tool, called: Called, from: PiContext): Promise<RunOutcome> {
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
    arrived(from: PiContext, how: "start" | "tree"): void {
      branch.goTo(from);
      answers.clear();
      outside.arrived(how);
      rested();
      if (how === "start") endTornLine(from.sessionManager.getSessionFile());
      recovery.begin(recoverAll);
    },
    left: (reason?: string) => leave(branch, reason),
  };
}

const GO_ON = "The interrupted rlm call is finished; its result stands above. Go on.";
