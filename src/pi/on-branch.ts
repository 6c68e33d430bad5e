import type { Clock } from "../../runtime/index.ts";
import { agentDirOf } from "../models/index.ts";
import { nullIfFailed } from "../platform/errors.ts";
import { isRecord } from "../platform/json.ts";
import { openedOnce } from "../platform/opened-once.ts";
import type { Session } from "../session/index.ts";
import type { PiSettings } from "../settings/index.ts";
import { PI_DEFAULTS } from "../settings/index.ts";
import type { Tool } from "../tools/index.ts";
import { tools } from "../tools/pi-tools.ts";
import type { BranchView } from "./branch/entries.ts";
import { readBranch, type StartEntry } from "./branch/entries.ts";
import type { Conversations } from "./conversation.ts";
import { openConversations } from "./conversation.ts";
import { announcementsOn } from "./events.ts";
import { type PiActions, type PiContext, quitsByAbort, reserveOf, type ToolResultMessage } from "./host.ts";
import { type Opened, type OpenedParts, openForSession, settingsAt } from "./opened/opened.ts";
import { type Outside, openOutside } from "./outside/index.ts";
import { openReading } from "./reading.ts";
import type { StateBoard } from "./runs/board.ts";
import { openStateBoard } from "./runs/board.ts";
import { openDeparture } from "./runs/departure.ts";
import type { Runs } from "./runs/runs.ts";
import { type Called, openRuns, type RunOutcome, type Work } from "./runs/runs.ts";
import { showBranch, showConversation, showSession } from "./runs/show-branch.ts";

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
  context(): PiContext;
  opened(): Promise<Opened>;
  settings(cwd: string): PiSettings;
  view(): BranchView;
}

export function openBranch(parts: OpenedParts, actions: PiActions): OnBranch {
  const { clock, env } = parts;
  const board = openStateBoard();
  const announced = announcementsOn(actions.events);
  const runs = openRuns({ board, clock, announced, departure: openDeparture(quitsByAbort(actions)) });
  /** Results of recovered calls, by the keys of the calls. */
  const answers = new Map<string, ToolResultMessage>();
  let at: PiContext | undefined;

  function context(): PiContext {
    if (at) return at;
    throw new Error("Pi is not on a session");
  }
  const settings = (cwd: string) => settingsAt(cwd, env);
  const { opened, begun } = openedOnce(() => openForSession(parts, context, actions, runs));
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
  const shared = { actions, answers, board, clock, context, opened, settings, view };
  const reading = openReading({ ...shared, env });
  const conversations = openConversations({ ...shared, reading, outside: outside.asked });
  const goTo = (from: PiContext) => {
    at = from;
  };
  return { ...shared, begun, conversations, goTo, outside, refresh, rested, runs };
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
    const { head, openAsk } = branch.view();
    const isAsk = openAsk && tool.name === "rlm_ask";
    const again = isAsk ? await askedAgain(current, openAsk, called, branch.actions) : null;
    const session = again ?? (await current.sessions.at(head, tool.name === "rlm_load"));
    showSession(board, session, current.store.head(session.id));
    board.progress({ phase: "running" });
    return session;
  };
  const conversation = branch.conversations.at(called.tool_call_id, phase === "recovering");
  const work: Work = (signals) => tool.run(open, called.args, { ...signals, ...hostOf(branch), conversation });
  const outcome = await runs.run({ tool, cwd, ...called }, phase, work);
  if (outcome.details.stopped) return outcome;
  // What is shown must not take the place of the answer.
  await branch.refresh().catch(() => {});
  return outcome;
}

/**
 * The session in which an ask is open, as it is, if the call asks the same question: the ask then goes on, and an entry says
 * that it is this call's now. null if the call is another one, or if the session cannot be had.
 */
async function askedAgain(
  { sessions }: Opened,
  openAsk: StartEntry,
  { tool_call_id, args }: Called,
  actions: PiActions,
): Promise<Session | null> {
  if (!isRecord(args)) return null;
  const session = await nullIfFailed(sessions.interrupted(openAsk.session));
  const open = session?.unfinished();
  if (!session || open?.exec_id !== openAsk.exec_id || open.input !== args.question) return null;
  actions.appendEntry("rlm_start", { ...openAsk, tool_call_id });
  return session;
}

/** The host's part in calls. An ask is driven by the model that Pi uses now; `sub_model` is that of sub-calls. */
function hostOf({ context, settings }: OnBranch) {
  const { cwd, model } = context();
  const mostIngested = () => {
    const { max_ingest_files: files, max_ingest_bytes: bytes } = { ...PI_DEFAULTS, ...settings(cwd) };
    return { files, bytes };
  };
  return { cwd, mostIngested, ...(model ? { rootModel: `${model.provider}/${model.id}` } : {}) };
}

export function toolNamed(name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name);
}
