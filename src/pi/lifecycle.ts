import type { Tool } from "../tools/index.ts";
import type { PiActions, PiContext } from "./host.ts";
import { openBranch, runAtHead } from "./on-branch.ts";
import type { OpenedParts } from "./opened/opened.ts";
import type { PiMessage } from "./outside/index.ts";
import { withAnswers } from "./recovery/answers-in-context.ts";
import { openBackgroundRecovery } from "./recovery/background.ts";
import { recover } from "./recovery/recover.ts";
import { endTornLine } from "./recovery/torn-tail.ts";
import { type Called, cancelledBeforeStart, type RunOutcome } from "./runs/runs.ts";
import { settledWithin } from "./waiting.ts";

/** Belay while one instance of the extension lives: Pi makes a new one for every session that it goes to. */
export type Lifecycle = ReturnType<typeof openLifecycle>;

export function openLifecycle(parts: OpenedParts, actions: PiActions) {
  const { clock } = parts;
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
    /** The open parts, which the first call opens. @throws RlmError */
    opened,
    /** The branch as it is now. */
    view: branch.view,
    /** Brings the board up to the branch. @throws RlmError */
    refresh: branch.refresh,
    /** The newest result of a recovered call with this id. */
    answer: (tool_call_id: string) => [...answers.values()].findLast(({ toolCallId }) => toolCallId === tool_call_id),
    /** An interrupted call is being finished. */
    isRecovering: recovery.isRunning,
    /** Is called before a prompt goes out, and waits for a time while a call is being finished. */
    prompted: recovery.holdPrompt,
    /** The messages that Pi is about to send, with results that it lacks, and stubs for what is outside. Never throws. */
    messages: <M extends PiMessage>(messages: readonly M[]) => outside.sent(withAnswers(messages, answers)),
    /** The answer to Pi when it is about to compact. Never throws. */
    compacts: outside.compacts,
    /** A person's commands about the conversation outside. */
    outside: outside.asked,
    /** Brings the board up to the conversation: an answer is over, or something was asked of `outside`. */
    rested,
    /** The branch's P. */
    context: branch.conversations.context,
    /** Runs a call of one of our tools. Rejects only if Pi is not on a session. */
    async call(tool: Tool, called: Called, from: PiContext): Promise<RunOutcome> {
      branch.goTo(from);
      await recovery.overOrAborted(called.signal);
      if (called.signal?.aborted && recovery.isRunning()) return cancelledBeforeStart(tool);
      return runAtHead(branch, tool, called, "opening");
    },
    /** Pi is on a session, or on another branch of it. */
    arrived(from: PiContext, how: "start" | "tree"): void {
      branch.goTo(from);
      answers.clear();
      outside.arrived(how);
      rested();
      if (how === "start") endTornLine(from.sessionManager.getSessionFile());
      recovery.begin(recoverAll);
    },
    /** Pi leaves the session. What runs is suspended, and recovery finishes it when Pi comes back. */
    async left(): Promise<void> {
      runs.suspend();
      const closing = branch.begun()?.then((current) => current[Symbol.asyncDispose]());
      const closed = closing?.catch(() => {});
      if (closed) await settledWithin(closed, CLOSE_MS, clock);
    },
  };
}

/** A load, for example, that has not ended by then is interrupted by the end of the process. */
const CLOSE_MS = 5_000;

const GO_ON = "The interrupted rlm call is finished; its result stands above. Go on.";
