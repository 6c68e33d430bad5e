import type { ChildContext, SubCallRequest } from "../../../builtins/index.ts";
import type { CallError, Json, PendingCall, Sampling, Settlement, Thinking } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { type Models, NO_USAGE, type Spent, type SubCallError, type SubCallTurn } from "../../models/index.ts";
import type { CellSettings } from "../ask/api.ts";
import type { AgentPlace, BudgetLimits, ToolCall, ToolResult } from "../journal/records.ts";
import type { StoreQuota } from "../store-quota.ts";
import type { SharedBudget, Unrecorded } from "./budget.ts";
import type { CallKeys } from "./cache.ts";
import type { Places } from "./concurrency.ts";
import type { TreePatience } from "./patience.ts";

/** The costs of an answer, and the batch that it came by. */
export type PricedAnswer = Pick<ToolResult, "model" | "usage" | "delivery">;

/** Answers the calls of async builtins. */
export interface Answers {
  /** Facts of sub-calls that the machine must know before a cell makes one: part of the exec's facts. */
  readonly facts: { readonly [name: string]: Json };
  /** The level of thinking of calls that name none. Absent: off. */
  readonly thinking?: Thinking;
  /**
   * Warnings about models, `provider/id`, that have been asked. Each is told once. Absent: there are none.
   * @param results answers of calls. Whether they came by batch is known by their records, also after a restart
   * @param isFirst no model of the session was asked before
   */
  noticesOf?(asked: readonly string[], results: readonly PricedAnswer[], isFirst: boolean): readonly string[];
  /** Must not reject: a call that fails is an answer. */
  answer(call: PendingCall, context: CallContext): Promise<Answered>;
  /** The model that a call asks, `provider/id`; null: there is none. Absent: unknown. */
  modelOf?(call: Pick<PendingCall, "name" | "args">): string | null;
  /** True if a call that may have been carried out already can be made once more. */
  repeatable(call: PendingCall): boolean;
  /** The effects of a call's function; undefined: the call is not one of a function. Absent: there are no functions. */
  effectsOf?(call: Pick<PendingCall, "name">): ToolCall["effects"] | undefined;
  /** True if requests of an interrupted call wait for a provider batch, or if its agent was begun: it continues. Absent: none do. */
  isUnderWay?(callId: string): Promise<boolean>;
  /** True if an interrupted call continues where it was, by a child, whatever is done with other calls. Absent: none does. */
  resumes?(call: Pick<PendingCall, "name" | "args">): boolean;
  /** Drops what was kept for a process that continues a call: its answer is recorded. Absent: nothing was. */
  recorded?(call: Pick<PendingCall, "id" | "name" | "args">): Promise<void>;
  /** Ends the child or the agent of a call that is given up, and answers what it has spent; null: it has none. Absent: there are no children. */
  discard?(call: PendingCall): Promise<Answered | null>;
  /** The spending of calls that an earlier process left open, by the ledgers of their children. Absent: there are no children. */
  unrecorded?(callIds: readonly string[]): Promise<readonly Unrecorded[]>;
}

/** The exec's part in the answering of one call. */
export interface CallContext {
  readonly budget: SharedBudget;
  /** The level of thinking that the call was recorded with, for a call that names none. */
  readonly thinking: Thinking;
  /** The parameters that the call was recorded with, for those that it does not name. */
  readonly sampling: Sampling;
  /** An earlier process, or try, has made the call. */
  readonly isAgain: boolean;
  /** Aborted when the exec ends or is cancelled. */
  readonly signal: AbortSignal;
  /**
   * Called before a run begins that must not be repeated: a suspension waits for it, and keeps its answer. Resolves when the record
   * of the run is on disk. The signal aborts when the run is given up: the exec ends, is cancelled, or has waited long enough.
   */
  hold(): Promise<AbortSignal>;
  /** Keeps that the agent of the call is about to be started. Resolves when the record is on disk. */
  startsAgent(place: AgentPlace): Promise<void>;
  /** Aborted when the exec is suspended, together with `signal`: a call that can continue later is to stop, and not to end. */
  readonly suspend: AbortSignal | undefined;
  /** Aborted when the session's time has run out. */
  readonly timeOver: AbortSignal;
  /** The conversation that the exec's cell reads; null: there is none. */
  readonly history: Context | null;
  /** The rest of the session's time, ms. */
  timeLeft(): number;
  /** Called when the call's first request has a place: it is being answered from now on. */
  begun(): void;
}

/** The parts that a child session gets from the session whose call it answers. */
export interface ParentCall {
  /** The budget of the call: {@link CallContext.budget}. Each request of the child is held there too. */
  readonly budget: SharedBudget;
  /** Those of the whole tree. */
  readonly places: Places;
  readonly space: StoreQuota;
  readonly patience: TreePatience;
  /** The child's: 1 for a child of a session that a caller opened. */
  readonly depth: number;
  /** The depth that children may have. */
  readonly maxDepth: number;
  /**
   * The child's own limits: sub-calls as they are allotted to its call, time as its call has. Tokens and dollars are those of the
   * session above, since nothing is split beforehand.
   */
  readonly limits: BudgetLimits;
}

/** The answer to a call: what the guest gets, and what the record keeps with it. */
export interface Answered {
  readonly settlement: Settlement;
  readonly record: Omit<
    ToolResult,
    "record" | "exec_id" | "call_id" | "name" | "success" | "value" | "elapsed_ms" | "at"
  >;
  /** The keys under which the answer is kept for later calls; null: it is not kept. */
  readonly cacheKey: CallKeys | null;
}

/** A call that is answered by cells over a P of its own. */
export type ChildRequest = SubCallRequest & { readonly context: ChildContext };

export type ChildCall = Pick<PendingCall, "id" | "counts">;

/** The children of a session: each answers one call, by an ask over a part of P. */
export interface Children {
  /** @throws RlmError if the store fails: the call has no answer then */
  answer(call: ChildCall, request: ChildRequest, context: CallContext, settings: CellSettings): Promise<Answered>;
  /** Ends the child of a call that is given up. @returns what the child has spent; `null` if the call has no child */
  discard(callId: string, request: ChildRequest, settings: CellSettings): Promise<Answered | null>;
  /** Returns the spending of calls that an earlier process left open. */
  unrecorded(callIds: readonly string[]): Promise<readonly Unrecorded[]>;
  /** True if a child has begun to answer the call. */
  isThere(callId: string): Promise<boolean>;
  /** Resolves once no child is open. */
  closed(): Promise<void>;
}

/** The record of a call for which nothing was sent. */
export const FREE: Answered["record"] = {
  usage: NO_USAGE,
  attempts: [],
  model: "",
  refused: false,
  cached: false,
  tool_override_event: null,
};

export function refused(error: SubCallError): Answered {
  const record = { ...FREE, ...limitOf(error) };
  return { settlement: { ok: false, error: guestError(error) }, record, cacheKey: null };
}

/** The limit that a failure names, as the record of its call keeps it. */
export const limitOf = ({ limit }: Pick<SubCallError, "limit">): Pick<ToolResult, "limit_met"> =>
  limit === undefined ? {} : { limit_met: limit };

/** The error as the guest gets it: its class by its code. */
export function guestError({ code, message, suggestion, retriable }: SubCallError): CallError {
  return { name: CLASS_OF[code] ?? "SubAgentError", code, message, suggestion, retriable };
}

const CLASS_OF: Readonly<Partial<Record<SubCallError["code"], string>>> = {
  budget_exceeded: "BudgetExceededError",
  policy_violation: "PolicyViolationError",
  timeout: "SubCallTimeoutError",
  reentrancy_error: "ReentrancyError",
};

const MOST_TURNS = 50;
const MOST_TOOLS = 20;
const NAME_UNITS = 64;

interface Traced extends Pick<Spent, "sent_at" | "turns" | "ignored" | "mended"> {
  readonly misfit?: string;
}

/** The data that a call's record keeps for a trace. The names of tools come from a model, so they are bounded. */
export function traceOf(
  { sent_at, turns, misfit, ignored, mended }: Traced,
  granted: readonly string[],
): Pick<ToolResult, "sent_at" | "turns" | "misfit" | "ignored" | "mended"> {
  // The single reply of a plain call tells nothing that its record does not.
  const isAgent = granted.length > 0 || turns.length > 1;
  return {
    ...(sent_at === null ? {} : { sent_at }),
    ...(misfit === undefined ? {} : { misfit }),
    ...(ignored.length === 0 ? {} : { ignored }),
    ...(mended.length === 0 ? {} : { mended }),
    ...(isAgent ? { turns: turns.slice(0, MOST_TURNS).map(bounded) } : {}),
  };
}

function bounded(turn: SubCallTurn): SubCallTurn {
  return { ...turn, tools: turn.tools.slice(0, MOST_TOOLS).map((name) => name.slice(0, NAME_UNITS).toWellFormed()) };
}

/** The agents of a session: programs of the user's own that answer calls of its workflows. */
export interface Agents {
  /** Returns why the running exec may ask no agent, or not this one; null: it may. */
  refusal(name: string): AgentRefusal | null;
  /** Asks the host, if it wants to be asked: once for each agent and exec. */
  allows(name: string, prompt: string): Promise<boolean>;
  /** Runs work when one more agent may run: of this name, and of the session. `undefined`: the signal aborted before. */
  inTurn<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined>;
  /** Returns the models of a call: its agent alone. */
  modelsFor(id: string, request: SubCallRequest): Promise<Models>;
  /** Returns what the call's record of its beginning says of the place of its outbox; null: it needs no such record. */
  place(): AgentPlace | null;
  /** Returns the doubt of a call that was begun where its outbox is not; null: there is none. */
  doubt(id: string, name: string): SubCallError | null;
  /** True if an earlier process has begun the call. */
  isUnderWay(id: string): Promise<boolean>;
  /** Ends the agent of a call that is given up. Returns its charge; null: none was begun. */
  giveUp(id: string, request: SubCallRequest): Promise<Answered | null>;
  /** Returns the folders of worktrees in which agents of a call have changed something. */
  worktreesOf(id: string): readonly string[];
  /** Drops the outboxes of a call whose answer is recorded. */
  recorded(id: string): Promise<void>;
  /** Drops what is left of calls that are not open, and the folder if it goes with the session. */
  close(): Promise<void>;
}

/** The reason why a call of an agent cannot be made. */
interface AgentRefusal {
  readonly error: SubCallError;
  /** True if the call can be made where the agent is lent: the exec is to stay unfinished. */
  readonly isMissing: boolean;
}
