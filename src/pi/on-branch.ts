import type { Clock } from "../../runtime/index.ts";
import { unreadSentence } from "../context/index.ts";
import { agentDirOf } from "../models/index.ts";
import { nullIfFailed } from "../platform/errors.ts";
import { homeFolder } from "../platform/home.ts";
import { isRecord } from "../platform/json.ts";
import { lazy } from "../platform/lazy.ts";
import { type LoadResult, type Session, summaryOf } from "../session/index.ts";
import { PI_DEFAULTS, type PiSettings, refuseVariables } from "../settings/index.ts";
import type { Store } from "../store/index.ts";
import type { Tool } from "../tools/index.ts";
import { tools } from "../tools/pi-tools.ts";
import { type WorkflowHost, workflowHost } from "../workflow/index.ts";
import { type BranchHead, type BranchView, readBranch, type StartEntry } from "./branch/entries.ts";
import { type Conversations, openConversations } from "./conversation.ts";
import { announcementsOn } from "./events.ts";
import type { Asked } from "./externalize/asked.ts";
import { type Outside, openOutside } from "./externalize/follow.ts";
import { type PiActions, type PiContext, quitsByAbort, reserveOf, type ToolResultMessage } from "./host.ts";
import { type Opened, type OpenedParts, openForSession, settingsAt } from "./opened/opened.ts";
import { openReading } from "./reading.ts";
import { statsOf } from "./recovery/recorded.ts";
import { type ContextState, openStateBoard, type StateBoard } from "./runs/board.ts";
import { type Called, openRuns, type RunOutcome, type Runs, type Work } from "./runs/runs.ts";

/** The branch that Pi stands on, as calls and recovery use it. */
export interface OnBranch {
  begun(): Promise<Opened> | undefined;
  readonly conversations: Conversations;
  goTo(from: PiContext): void;
  readonly outside: Outside;
  refresh(): Promise<void>;
  rested(): void;
  readonly runs: Runs;
  readonly actions: PiActions;
  /** Results of recovered calls, by the keys of the calls. */
  readonly answers: Map<string, ToolResultMessage>;
  readonly board: StateBoard;
  readonly clock: Clock;
  /** Prints a line once Pi has given the terminal back. */
  atExit(line: string): void;
  context(): PiContext;
  opened(): Promise<Opened>;
  settings(cwd: string): PiSettings;
  /** The settings that scripts of workflows see. @throws RlmError `invalid_config` */
  workflows(): Promise<WorkflowHost>;
  view(): BranchView;
}

export function openBranch(parts: OpenedParts, actions: PiActions): OnBranch {
  const { atExit, clock, env } = parts;
  const board = openStateBoard();
  const announced = announcementsOn(actions.events);
  const runs = openRuns({ board, clock, announced, quitsByAbort: quitsByAbort(actions) });
  /** Results of recovered calls, by the keys of the calls. */
  const answers = new Map<string, ToolResultMessage>();
  let at: PiContext | undefined;

  function context(): PiContext {
    if (at) return at;
    throw new Error("Pi is not on a session");
  }
  const settings = (cwd: string) => settingsAt(cwd, env);
  const { opened, begun } = lazy(() => openForSession(parts, context, actions, runs));
  const outside = openOutside({
    context,
    actions,
    settings,
    reserve: () => reserveOf(context(), agentDirOf(env)),
    announced(epoch) {
      announced.epoch(epoch);
      // Pi waits for what is sent; what is shown can wait.
      setImmediate(rested);
    },
  });
  const rested = () => showConversation(board, outside.asked);
  const view = () => readBranch(context().sessionManager.getBranch(), (name) => toolNamed(name) !== undefined);
  const refresh = () => showBranch(board, view(), opened);
  const shared = { actions, answers, atExit, board, clock, context, opened, settings, view };
  const reading = openReading({ ...shared, env });
  const conversations = openConversations({ ...shared, reading, outside: outside.asked });
  const goTo = (from: PiContext) => {
    at = from;
  };
  const workflows = async () => {
    refuseVariables(["agents", "agent_models"], env);
    return workflowHost(settings(context().cwd), homeFolder(env));
  };
  return { ...shared, workflows, begun, conversations, goTo, outside, refresh, rested, runs };
}

/** Runs a call at the head of the branch, or finishes the open ask that the same call began. */
export async function runAtHead(
  branch: OnBranch,
  tool: Tool,
  called: Called,
  phase: "opening" | "recovering",
): Promise<RunOutcome> {
  const { board, runs, context } = branch;
  const { cwd } = context();
  const open = async () => {
    const current = await branch.opened();
    const { head, openWork } = branch.view();
    const isAgain = openWork?.kind === RESUMED_BY[tool.name];
    const again = openWork && isAgain ? await askedAgain(branch, tool, { current, openWork, called }) : null;
    const session = again ?? (await current.sessions.at(head, tool.name === "rlm_load"));
    showSession(board, session, current.store.head(session.id));
    board.progress({ phase: "running" });
    return session;
  };
  const conversation = branch.conversations.at(called.tool_call_id, phase === "recovering");
  const work: Work = (signals) => tool.run(open, called.args, { ...signals, ...hostOf(branch), conversation });
  const outcome = await runs.run({ tool, cwd, ...called }, phase, work);
  if (outcome.details.stopped) return outcome;
  // A failure to show something must not replace the answer.
  await branch.refresh().catch(() => {});
  return outcome;
}

/** Kinds of execs that the same call again continues, by the tools that begin them. */
const RESUMED_BY: Readonly<Record<string, string>> = { rlm_ask: "ask", rlm_workflow: "cell" };

interface Again {
  readonly current: Opened;
  /** The exec that is open on the branch. */
  readonly openWork: StartEntry;
  readonly called: Called;
}

/**
 * The session in which an ask or a workflow is open, as it is, if the call asks the same: it then
 * continues, and an entry says that it is this call's now. null if the call is another one, or if the
 * session cannot be had.
 */
async function askedAgain(branch: OnBranch, tool: Tool, { current, openWork, called }: Again): Promise<Session | null> {
  const { tool_call_id, args } = called;
  if (!isRecord(args)) return null;
  const session = await nullIfFailed(current.sessions.interrupted(openWork.session));
  const open = session?.unfinished();
  if (!session || open?.exec_id !== openWork.exec_id) return null;
  const cell = await tool.asks(session, args, hostOf(branch));
  const isSame = cell === null ? open.input === args.question : String(open.input).startsWith(cell);
  if (!isSame) return null;
  branch.actions.appendEntry("rlm_start", { ...openWork, tool_call_id });
  return session;
}

/**
 * The host's part in calls. An ask is driven by the model that Pi uses now; `sub_model` is that of
 * sub-calls.
 */
function hostOf({ context, settings, workflows }: OnBranch) {
  const { cwd, model } = context();
  const mostIngested = () => {
    const { max_ingest_files: files, max_ingest_bytes: bytes } = { ...PI_DEFAULTS, ...settings(cwd) };
    return { files, bytes };
  };
  return { cwd, mostIngested, workflows, ...(model ? { rootModel: `${model.provider}/${model.id}` } : {}) };
}

export function toolNamed(name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name);
}

/**
 * Brings the board up to the branch. Nothing is opened for a branch on which RLM was not used.
 * @throws RlmError
 */
async function showBranch(
  board: StateBoard,
  { head, completed, isUsed }: BranchView,
  open: () => Promise<Opened>,
): Promise<void> {
  board.change({ checkpoints: completed.size });
  if (!isUsed) return;
  const { sessions, store } = await open();
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

/** Shows a session that is open. */
function showSession(board: StateBoard, session: Session, checkpoint: string | null): void {
  const stats = session.stats();
  const context = stats && contextState(stats);
  board.change({ session: session.id, checkpoint, budget: session.budget(), context });
}

/**
 * Brings the board up to what of the conversation is outside. If Pi has left the session, nothing
 * is shown anew.
 */
function showConversation(board: StateBoard, asked: Pick<Asked, "overview" | "size">): void {
  try {
    const { objects, epochs } = asked.overview();
    const out = objects.filter(({ is }) => is !== "in");
    const isShown = epochs.length > 0 && out.length > 0;
    if (!isShown && board.current().conversation === null) return;
    const tokens = out.reduce((sum, object) => sum + object.tokens, 0);
    board.change({ conversation: isShown ? { objects: out.length, tokens, next: asked.size() } : null });
  } catch {
    // A failure to show something must not end Pi's work.
  }
}

/**
 * The context of a session that is not open. What the session says of itself is cheaper to read,
 * and often suffices.
 */
async function contextOf(store: Store, head: BranchHead): Promise<ContextState | null> {
  const row = await store.find(head.session);
  if (!row || head.context === null) return null;
  const { context } = summaryOf(row);
  if (!context || row.head !== head.checkpoint) {
    const stats = await statsOf(store, head.context);
    return stats && contextState(stats);
  }
  const { sources, chars } = context;
  return { sources, chars, tokens_estimate: Math.floor(chars / 4), documents: null };
}

function contextState(stats: LoadResult["stats"]): ContextState {
  return {
    sources: stats.sources,
    chars: stats.length_chars,
    tokens_estimate: stats.length_tokens_estimate,
    documents: stats.document_count,
    unread: unreadSentence(stats.skipped, "stats().skipped in a cell"),
  };
}
