import { INGEST_DEFAULTS, type PiSettings } from "../config/index.ts";
import { openedOnce } from "../platform/opened-once.ts";
import type { Tool } from "../tools/index.ts";
import { tools } from "../tools/pi-tools.ts";
import { type BranchView, readBranch, type Unanswered } from "./branch/entries.ts";
import { askedAgain } from "./branch/open-ask.ts";
import { type Conversations, openConversations } from "./conversation.ts";
import { announcementsOn } from "./events.ts";
import type { PiActions, PiContext, ToolResultMessage } from "./host.ts";
import { type Opened, type OpenedParts, openForSession, settingsAt } from "./opened/opened.ts";
import { type FoldMessage, type Outside, type OutsideParts, openOutside, type PiMessage } from "./outside/index.ts";
import { openReading } from "./reading.ts";
import { withAnswers } from "./recovery/answers-in-context.ts";
import { openBackgroundRecovery } from "./recovery/background.ts";
import { recover } from "./recovery/recover.ts";
import { endTornLine } from "./recovery/torn-tail.ts";
import { openStateBoard, type StateBoard } from "./runs/board.ts";
import { type Called, cancelledBeforeStart, openRuns, type RunOutcome, type Runs, type Work } from "./runs/runs.ts";
import { showBranch, showConversation, showSession } from "./runs/show-branch.ts";
import { settledWithin } from "./waiting.ts";

/** Belay while one instance of the extension lives: Pi makes a new one for every session that it goes to. */
export interface Lifecycle {
  readonly board: StateBoard;
  readonly runs: Runs;
  /** Runs a call of one of our tools. Rejects only if Pi is not on a session. */
  call(tool: Tool, call: Called, context: PiContext): Promise<RunOutcome>;
  /** Pi is on a session, or on another branch of it. */
  arrived(context: PiContext, how: "start" | "tree"): void;
  /** Is called before a prompt goes out, and waits for a time while a call is being finished. */
  prompted(): Promise<void>;
  /** The messages that Pi is about to send, with results that it lacks, and stubs for what is outside. Never throws. */
  messages<M extends PiMessage>(messages: readonly M[]): readonly (M | ToolResultMessage | FoldMessage)[];
  /** The answer to Pi when it is about to compact. Never throws. */
  readonly compacts: Outside["compacts"];
  /** A person's commands about the conversation outside. */
  readonly outside: Outside["asked"];
  /** Brings the board up to the conversation: an answer is over, or something was asked of `outside`. */
  rested(): void;
  /** An interrupted call is being finished. */
  isRecovering(): boolean;
  /** The result of a recovered call, by its id. */
  answer(tool_call_id: string): ToolResultMessage | undefined;
  /** The branch's P. */
  readonly context: Conversations["context"];
  /** The open parts, which the first call opens. @throws RlmError */
  opened(): Promise<Opened>;
  /** The branch as it is now. */
  view(): BranchView;
  /** Brings the board up to the branch. @throws RlmError */
  refresh(): Promise<void>;
  /** Pi leaves the session. What runs is suspended, and recovery finishes it when Pi comes back. */
  left(): Promise<void>;
}

export function openLifecycle(parts: OpenedParts, actions: PiActions): Lifecycle {
  const { clock } = parts;
  const board = openStateBoard();
  const announced = announcementsOn(actions.events);
  const runs = openRuns(board, clock, announced);
  const answers = new Map<string, ToolResultMessage>();
  let at: PiContext | undefined;
  const { opened, begun } = openedOnce(() => openForSession(parts, context, actions, runs));

  function context(): PiContext {
    if (at) return at;
    throw new Error("Pi is not on a session");
  }
  const settings = (cwd: string) => settingsAt(cwd, parts.env);
  const { outside, rested } = openShownOutside({ context, actions, settings, announced: announced.epoch }, board);
  const view = () => readBranch(context().sessionManager.getBranch(), (name) => toolNamed(name) !== undefined);
  const refresh = () => showBranch(board, view(), opened);

  const about = { context, answers, opened, view, board, settings, env: parts.env, clock };
  const conversations = openConversations({ ...about, reading: openReading(about), outside: outside.asked });
  const branch: OnBranch = { board, runs, actions, context, opened, view, refresh, settings, conversations };
  const recovery = openBackgroundRecovery({
    board,
    clock,
    context,
    isSuspended: runs.isSuspended,
    promptWait: async () => (await opened().catch(() => null))?.settings.prompt_wait_s ?? PROMPT_WAIT_S,
  });

  async function recoverAll(): Promise<void> {
    const answered = (message: ToolResultMessage) => void answers.set(message.toolCallId, message);
    const goesOn = await recoverBranch(branch, answered, () => clock.now());
    if (!goesOn || recovery.holdsPrompt() || !context().isIdle()) return;
    const message = { customType: "rlm_recovered", content: GO_ON, display: true };
    actions.sendMessage(message, { triggerTurn: true });
  }

  return {
    board,
    runs,
    opened,
    view,
    refresh,
    answer: (tool_call_id) => answers.get(tool_call_id),
    isRecovering: recovery.isRunning,
    prompted: recovery.holdPrompt,
    messages: (messages) => outside.sent(withAnswers(messages, answers)),
    compacts: outside.compacts,
    outside: outside.asked,
    rested,
    context: conversations.context,
    async call(tool, called, from) {
      at = from;
      await recovery.overOrAborted(called.signal);
      if (called.signal?.aborted && recovery.isRunning()) return cancelledBeforeStart(tool);
      return runAtHead(branch, tool, called, "opening");
    },
    arrived(from, how) {
      at = from;
      answers.clear();
      outside.arrived(how);
      rested();
      if (how === "start") endTornLine(from.sessionManager.getSessionFile());
      recovery.begin(recoverAll);
    },
    async left() {
      runs.suspend();
      const closing = begun()?.then((current) => current[Symbol.asyncDispose]());
      const closed = closing?.catch(() => {});
      if (closed) await settledWithin(closed, CLOSE_MS, clock);
    },
  };
}

const PROMPT_WAIT_S = 120;
/** A load, for example, that has not ended by then is interrupted by the end of the process. */
const CLOSE_MS = 5_000;

const GO_ON = "The interrupted rlm call is finished; its result stands above. Go on.";

/** The branch that Pi stands on, as calls and recovery use it. */
interface OnBranch extends Pick<Lifecycle, "board" | "runs" | "opened" | "view" | "refresh"> {
  readonly actions: PiActions;
  readonly conversations: Conversations;
  context(): PiContext;
  settings(cwd: string): PiSettings;
}

/** Runs a call at the head of the branch, or finishes the open ask that the same call began. */
async function runAtHead(
  branch: OnBranch,
  tool: Tool,
  called: Called,
  phase: "opening" | "recovering",
): Promise<RunOutcome> {
  const { board, runs, context, settings } = branch;
  const { cwd } = context();
  const open = async () => {
    const { sessions, store } = await branch.opened();
    const { head, openAsk } = branch.view();
    const again = openAsk && (await askedAgain(sessions, openAsk, { tool, ...called }, branch.actions));
    const session = again ?? (await sessions.at(head, tool.name === "rlm_load"));
    showSession(board, session, store.head(session.id));
    board.progress({ phase: "running" });
    return session;
  };
  const conversation = branch.conversations.at(called.tool_call_id, phase === "recovering");
  const work: Work = (signals) =>
    tool.run(open, called.args, { ...signals, ...hostOf(context(), settings), conversation });
  const outcome = await runs.run({ tool, cwd, ...called }, phase, work);
  // What is shown must not take the place of the answer.
  await branch.refresh().catch(() => {});
  return outcome;
}

/** Finishes the interrupted calls of the branch. True if there were any and the user wants Pi to go on by itself. */
async function recoverBranch(
  branch: OnBranch,
  answered: (message: ToolResultMessage) => void,
  now: () => number,
): Promise<boolean> {
  const { runs, actions, context, conversations } = branch;
  const seen = branch.view();
  if (!seen.isUsed) return false;
  const opened = await branch.opened();
  const again = (tool: Tool, { tool_call_id, args }: Unanswered) =>
    runAtHead(branch, tool, { tool_call_id, args, signal: undefined }, "recovering");
  const own = { again, answered, now, historyBefore: conversations.before };
  const count = await recover({ opened, runs, actions, context, toolNamed, ...own }, seen);
  await branch.refresh();
  return count > 0 && opened.settings.auto_continue === true;
}

/** The conversation outside, and what brings the board up to it. */
function openShownOutside(parts: OutsideParts, board: StateBoard) {
  const outside = openOutside({
    ...parts,
    announced(epoch) {
      parts.announced(epoch);
      // Pi waits for what is sent; what is shown can wait.
      setImmediate(rested);
    },
  });
  const rested = () => showConversation(board, outside.asked);
  return { outside, rested };
}

/** The host's part in calls. An ask is driven by the model that Pi uses now; `sub_model` is that of sub-calls. */
function hostOf({ cwd, model }: Pick<PiContext, "cwd" | "model">, settings: (cwd: string) => PiSettings) {
  const mostIngested = () => {
    const { max_ingest_files: files, max_ingest_bytes: bytes } = { ...INGEST_DEFAULTS, ...settings(cwd) };
    return { files, bytes };
  };
  return { cwd, mostIngested, ...(model ? { rootModel: `${model.provider}/${model.id}` } : {}) };
}

function toolNamed(name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name);
}
