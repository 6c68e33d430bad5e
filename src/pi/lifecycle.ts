import type { Clock } from "../../runtime/index.ts";
import type { PiSettings } from "../config/index.ts";
import { summaryOf } from "../session/index.ts";
import type { Store } from "../store/index.ts";
import { type Tool, type ToolEnvelope, tools } from "../tools/index.ts";
import { type BranchHead, type BranchView, readBranch, type Unanswered } from "./branch/entries.ts";
import type { PiActions, PiContext, ToolResultMessage } from "./host.ts";
import { type Life, type LifeParts, openLife } from "./opened/opened.ts";
import { withAnswers } from "./recovery/answers-in-context.ts";
import { statsOf } from "./recovery/recorded.ts";
import { recover } from "./recovery/recover.ts";
import { endTornLine } from "./recovery/torn-tail.ts";
import { type ContextState, openStateBoard, type StateBoard } from "./runs/board.ts";
import { type ProgressDetails, tallyOf } from "./runs/details.ts";
import { contextState, openRuns, outcomeOf, type RunOutcome, type Runs, showSession } from "./runs/runs.ts";

/** Belay while one instance of the extension lives: Pi makes a new one for every session that it goes to. */
export interface Lifecycle {
  readonly board: StateBoard;
  readonly runs: Runs;
  /** Runs a call of one of our tools. Rejects only where Pi is not on a session. */
  call(tool: Tool, call: Called, context: PiContext): Promise<RunOutcome>;
  /** Pi is on a session, or on another branch of it. */
  arrived(context: PiContext, how: "start" | "tree"): void;
  /** Before a prompt goes out: waits, for a time, for what is being finished. */
  prompted(): Promise<void>;
  /** The messages that Pi is about to send, whole. */
  messages<M extends { readonly role: string }>(messages: readonly M[]): readonly (M | ToolResultMessage)[];
  /** An interrupted call is being finished. */
  isRecovering(): boolean;
  /** The result of a recovered call, by its id. */
  answer(tool_call_id: string): ToolResultMessage | undefined;
  /** What is open, opened where it is not. @throws RlmError */
  life(): Promise<Life>;
  /** What the branch says now. */
  view(): BranchView;
  /** Brings the board up to the branch. @throws RlmError */
  refresh(): Promise<void>;
  /** Pi leaves the session: what runs stops where it is, and is finished when Pi comes back. */
  left(): Promise<void>;
}

export interface Called {
  readonly tool_call_id: string;
  readonly args: unknown;
  readonly signal: AbortSignal | undefined;
  onUpdate?(details: ProgressDetails): void;
}

export function openLifecycle(parts: LifeParts, actions: PiActions): Lifecycle {
  const { clock } = parts;
  const board = openStateBoard();
  const runs = openRuns(board, clock);
  const answers = new Map<string, ToolResultMessage>();
  let at: PiContext | undefined;
  let opening: Promise<Life> | undefined;
  let recovery: Promise<void> | undefined;
  let isPromptWaiting = false;

  function context(): PiContext {
    if (at) return at;
    throw new Error("Pi is on no session");
  }
  const view = () => readBranch(context().sessionManager.getBranch(), (name) => toolNamed(name) !== undefined);

  function life(): Promise<Life> {
    if (opening) return opening;
    const opened = openLife(parts, context, actions, runs);
    opening = opened;
    // What was wrong may have been corrected by the next call.
    opened.catch(() => {
      if (opening === opened) opening = undefined;
    });
    return opened;
  }

  async function run(tool: Tool, called: Called, phase: "opening" | "recovering"): Promise<RunOutcome> {
    const { cwd } = context();
    const work = (signals: { signal: AbortSignal; suspend: AbortSignal }): Promise<ToolEnvelope> =>
      tool.run(
        async () => {
          const { sessions, store } = await life();
          const session = await sessions.at(view().head, tool.name === "rlm_load");
          showSession(board, session, store.head(session.id));
          board.progress({ phase: "running" });
          return session;
        },
        called.args,
        { cwd, ...signals },
      );
    const outcome = await runs.run({ tool, cwd, ...called }, phase, work);
    // What is shown must not take the place of the answer.
    await show().catch(() => {});
    return outcome;
  }

  async function show(): Promise<void> {
    const { head, completed, isUsed } = view();
    board.change({ checkpoints: completed.size });
    if (!isUsed) return;
    const { sessions, store } = await life();
    const current = sessions.current();
    const isThere = head?.session === current?.id && head?.checkpoint === store.head(current?.id ?? "");
    if (current && (!head || isThere)) return showSession(board, current, store.head(current.id));
    board.change({
      session: head?.session ?? null,
      checkpoint: head?.checkpoint ?? null,
      budget: null,
      context: head && (await contextOf(store, head)),
    });
  }

  async function recoverBranch(): Promise<void> {
    const seen = view();
    if (!seen.isUsed) return;
    const opened = await life();
    const recovered = await recover(
      {
        life: opened,
        runs,
        actions,
        context,
        toolNamed,
        again: (tool, { tool_call_id, args }: Unanswered) =>
          run(tool, { tool_call_id, args, signal: undefined }, "recovering"),
        now: () => clock.now(),
        answered: (message) => void answers.set(message.toolCallId, message),
      },
      seen,
    );
    await show();
    if (recovered === 0 || !opened.settings.auto_continue || isPromptWaiting || !context().isIdle()) return;
    const message = { customType: "rlm_recovered", content: GO_ON, display: true };
    actions.sendMessage(message, { triggerTurn: true });
  }

  return {
    board,
    runs,
    life,
    view,
    refresh: show,
    answer: (tool_call_id) => answers.get(tool_call_id),
    isRecovering: () => recovery !== undefined,
    async call(tool, called, from) {
      at = from;
      await settledOrAborted(recovery, called.signal);
      return called.signal?.aborted && recovery ? notBegun(tool) : run(tool, called, "opening");
    },
    arrived(from, how) {
      at = from;
      answers.clear();
      if (how === "start") endTornLine(from.sessionManager.getSessionFile());
      const work = recoverBranch()
        .catch((error: unknown) => {
          if (runs.isSuspended()) return;
          from.ui.notify(`RLM: ${error instanceof Error ? error.message : String(error)}`, "error");
        })
        .finally(() => {
          if (recovery === work) recovery = undefined;
        });
      recovery = work;
    },
    async prompted() {
      if (!recovery) return;
      const { ui } = context();
      const settings = await life().then(
        (opened) => opened.settings,
        () => NO_SETTINGS,
      );
      const seconds = settings.prompt_wait_s ?? PROMPT_WAIT_S;
      if (board.current().running) {
        ui.notify(`An interrupted call is being finished; the prompt waits for it, ${seconds} s at the most`, "info");
      }
      isPromptWaiting = true;
      const over = await settledWithin(recovery, seconds * 1000, clock);
      isPromptWaiting = false;
      if (!over)
        ui.notify("The interrupted call is not finished yet; the prompt goes out without its result", "warning");
    },
    messages: (messages) => withAnswers(messages, answers),
    async left() {
      runs.suspend();
      const closing = opening?.then((opened) => opened[Symbol.asyncDispose]());
      if (closing)
        await settledWithin(
          closing.catch(() => {}),
          CLOSE_MS,
          clock,
        );
    },
  };
}

const PROMPT_WAIT_S = 120;
const NO_SETTINGS: PiSettings = {};
/** What has not ended by then, a load for example, is interrupted by the end of the process. */
const CLOSE_MS = 5_000;

const GO_ON = "The interrupted rlm call is finished; its result stands above. Go on.";

function toolNamed(name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name);
}

/** The user did not want to wait until it could begin. */
function notBegun(tool: Tool): RunOutcome {
  const failure = { code: "cancelled", message: "cancelled before it began", suggestion: "Call the tool again." };
  const facts = { session: null, exec_id: null, calls: tallyOf([]), elapsed_ms: 0, recovered: false };
  return outcomeOf(tool, tool.failed(failure), facts);
}

/** Whether the work was over within the time. */
function settledWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const callOff = clock.after(ms, () => resolve(false));
    void work.finally(() => {
      callOff();
      resolve(true);
    });
  });
}

/** Resolves where one of them comes: whoever aborts a call does not want to wait for another one. */
async function settledOrAborted(work: Promise<unknown> | undefined, signal: AbortSignal | undefined): Promise<void> {
  if (!work || signal?.aborted) return;
  const aborted = new Promise<void>((resolve) => {
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([work, aborted]);
}

/** The context at a state that is not open. What the session says of itself is cheaper to read, and often it. */
async function contextOf(store: Store, { session, context_hash }: BranchHead): Promise<ContextState | null> {
  const row = await store.find(session);
  if (!row || context_hash === null) return null;
  const { context } = summaryOf(row);
  if (context?.hash !== context_hash) {
    const stats = await statsOf(store, context_hash);
    return stats && contextState(stats);
  }
  const { sources, chars, hash } = context;
  return { sources, chars, hash, tokens_estimate: Math.floor(chars / 4), documents: null };
}
