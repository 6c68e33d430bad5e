import type { SubCallRequest } from "../../builtins/index.ts";
import type { Clock, Json, Thinking } from "../../runtime/index.ts";
import type { Context } from "../context/index.ts";
import type { Models, SubCallError } from "../model/index.ts";
import type { Session } from "./api.ts";
import type { AskModels } from "./ask-models.ts";
import type { ExecAsked, TurnRequest } from "./exec/request.ts";
import type { AskRecords } from "./journal/account.ts";
import type { ExecEnvelope, ExecFailure } from "./journal/envelope.ts";
import type { RemainingBudget } from "./journal/ledger.ts";
import type { ChildRecord, EndedBy } from "./journal/records.ts";

/** A place of P that an answer rests on, checked by the host. Offsets are UTF-16 units, `end` excluded. */
export interface Citation {
  /** Whether it is a range of P. One that is not does not undo the answer. */
  readonly valid: boolean;
  readonly doc: string | null;
  /** 1-based; of `start`, in the document. */
  readonly line: number | null;
  /** In the document. */
  readonly start: number | null;
  readonly end: number | null;
  /** In P. */
  readonly p_start: number | null;
  readonly p_end: number | null;
  /** From P itself, at most 300 characters. */
  readonly quote: string | null;
}

/** What an ask is asked for. */
export interface AskOptions {
  /** The root model, `provider/id`; default: the session's. */
  readonly model?: string;
  /** The model of plain sub-calls; default: the session's. */
  readonly subModel?: string;
  /** Turns before the closing one (default 20, at most 100). */
  readonly maxTurns?: number;
  /** Levels of sub-calls with a context of their own (default: the session's). */
  readonly maxDepth?: number;
  /** Output tokens of a turn, thinking included (default 16,000). */
  readonly turnTokens?: number;
  /** The level of thinking of the root model and of those of its cells (default: the session's). */
  readonly thinking?: Thinking;
  /** How the model runs cells (default `auto`: a tool, or fenced blocks if its provider refuses tools). */
  readonly protocol?: "auto" | "tools" | "fence";
  /** JSON Schema that the answer fits. */
  readonly schema?: Json;
  /** Whether the envelope has `trajectory` (default false). */
  readonly trajectory?: boolean;
  /** Aborting ends the ask as cancelled. */
  readonly signal?: AbortSignal;
  /** Aborting stops the ask where it is: `resume` goes on with it, in this process or another. */
  readonly suspend?: AbortSignal;
}

/** What a turn has come to, for people who wait. */
export interface TurnProgress {
  /** 0 for the ask of a caller; a child is one deeper than the session whose call it answers. */
  readonly depth: number;
  /** Ids of the calls that lead to the child, that of the caller's session first; empty for the ask itself. */
  readonly path: readonly string[];
  readonly turn: number;
  readonly of: number;
  readonly phase: "asked" | "replied" | "ran";
  /** Counts of the ask so far. */
  readonly cells: number;
  readonly sub_calls: number;
  readonly tokens: number;
  readonly cost_usd: number;
  /** This turn: what the model said, the code of its cells and what it saw of them. */
  readonly detail: { readonly text: string; readonly cells: readonly { code: string; observation: string }[] };
}

/** How an ask was answered. */
export type AskEnvelope = AskFields & (AskAnswer | AskFailure);

interface AskFields {
  readonly session_id: string;
  readonly ask_id: string;
  readonly question: string;
  readonly turns: number;
  readonly cells: number;
  /** Sub-calls of its cells and of all children below. */
  readonly sub_calls: number;
  /** Sub-calls of its own cells that had a context of their own. */
  readonly children: number;
  /** Depth of the deepest session that was reached; 0 for an ask without children that a caller asked. */
  readonly depth_reached: number;
  /** What its turns, its sub-calls and all children below have spent. */
  readonly usage: AskUsage;
  /** Each begins with its code. */
  readonly warnings: readonly string[];
  /** Time of its turns and cells, ms. */
  readonly execution_time_ms: number;
  readonly budget: RemainingBudget;
  /** The number of resumes: after a kill, after it was suspended, and after its provider had failed. */
  readonly resumed: number;
  /** Replies that the newest resume took from the journal. */
  readonly replayed_turns: number;
  /** Its turns with their cells, as far as they are recorded. Only present if it was asked for. */
  readonly trajectory?: readonly TrajectoryTurn[];
}

export interface AskUsage {
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cost_usd: number;
  /** Tokens of thinking, a part of `output`; absent: no provider said. */
  readonly reasoning?: number;
}

interface AskAnswer {
  readonly success: true;
  /** A text, or the value that was given to `answer`. */
  readonly answer: Json;
  readonly answered_by: "answer" | "text" | "closing";
  readonly citations: readonly Citation[];
}

interface AskFailure extends Pick<ExecFailure, "error_code" | "error_message" | "suggestion"> {
  readonly success: false;
  /** The ask is not over: `resume` goes on with it. Only if it is so. */
  readonly resumable?: true;
}

/** A turn and the cells that its reply asked for. */
export interface TrajectoryTurn {
  readonly turn: number;
  readonly text: string;
  /** Why the turn gave no reply; null if it gave one. */
  readonly error_code: string | null;
  readonly usage: AskUsage;
  readonly elapsed_ms: number;
  readonly cells: readonly {
    readonly exec_id: string;
    readonly code: string;
    readonly success: boolean;
    readonly observation: string;
    readonly calls: readonly TrajectoryCall[];
  }[];
}

/** A call that a cell of an ask made. */
export interface TrajectoryCall {
  readonly call_id: string;
  /** `provider/id`; empty if no model was asked. */
  readonly model: string;
  /** `pending`: no answer is recorded. */
  readonly status: "ok" | "failed" | "pending";
  /** The session that answered it, if it had a context of its own. */
  readonly child?: ChildRecord;
}

/** What an ask needs of the session that it runs in. */
export interface AskHost {
  readonly session_id: string;
  /** A sentence that says what part of its caller's context P is, for a child; null: P is all of it. */
  readonly part: string | null;
  readonly models: Models;
  readonly askModels: AskModels;
  readonly clock: Clock;
  readonly random: () => number;
  readonly context: Context;
  /** The records of the ask, as far as they are kept. */
  records(): AskRecords;
  budget(): RemainingBudget;
  /**
   * Waits until a request of another session of the tree is over, which may leave more of the budget than it held. false: none
   * is in flight, or the signal aborts.
   */
  moreBudget(signal: AbortSignal): Promise<boolean>;
  /** Whether envelopes have the trajectory. */
  readonly trajectory: boolean;
  /** What the turn began with that was interrupted; null: none was. */
  begunTurn(): Json | null;
  /** Sends a turn. false: it was suspended, and is not over. */
  turn(request: TurnRequest, asked: ExecAsked): Promise<boolean>;
  /** Runs a cell of the root model by the settings of its ask. */
  cell(source: string, settings: CellSettings, asked: ExecAsked): Promise<ExecEnvelope>;
  /** Records that this process goes on with an ask that was begun before. */
  goOn(): Promise<void>;
  /** Records how the ask ended; a turn or cell of it that was interrupted is given up. */
  end(ending: AskEnding): Promise<void>;
  /** Warnings about models that the ask names. */
  noticesOf(models: readonly string[]): readonly string[];
  onTurn(progress: TurnProgress): void;
}

/** What an ask says of the sub-calls of its cells. */
export interface CellSettings {
  /** The root model of children, `provider/id`; null: the session has none. */
  readonly model: string | null;
  /** The model of plain sub-calls, `provider/id`. */
  readonly sub_model: string | null;
  readonly protocol: "auto" | "tools" | "fence";
  /** Output tokens of a turn of a child; null: as many as an ask has by default. */
  readonly turn_tokens: number | null;
  /** The level of thinking of calls that name none. */
  readonly thinking: Thinking;
  /** How deep children may be. */
  readonly max_depth: number;
}

/** A call that a child answers. */
export interface ChildAsked {
  readonly request: SubCallRequest;
  /** The level of thinking of the call. */
  readonly thinking: Thinking;
  readonly settings: CellSettings;
  /** Aborting ends the child; the reason is an RlmError that says why. */
  readonly signal: AbortSignal;
  /** Aborting stops the child where it is. */
  readonly suspend?: AbortSignal;
}

/** How a call was answered. Citations are places of the child's P. */
export type ChildEnd =
  | { readonly ok: true; readonly answer: Json; readonly citations: readonly Citation[] }
  | { readonly ok: false; readonly error: SubCallError };

export interface AskEnding {
  readonly success: boolean;
  readonly error_code: string | null;
  readonly error_message: string | null;
  /** What was answered, how, and where that is in P; null for a failure. */
  readonly answer: Json;
  /** What cancelled it, if its caller said so. */
  readonly ended_by?: EndedBy;
}

/** What an ask takes from its session. */
export interface AskedSession extends Pick<AskHost, "models" | "askModels"> {
  /** The depth of the session: 0 if a caller opened it, else one more than its parent's. */
  readonly depth: number;
  readonly maxDepth: number;
  /** The level of thinking of an ask that names none. */
  readonly thinking: Thinking;
}

/** The layer that drives asks, lent to a session by the host that opened it: it stands above sessions. */
export interface Asks {
  /**
   * What an ask begins with, as its first record keeps it.
   * @throws RlmError `invalid_argument`, `no_model_configured`
   */
  begin(question: string, options: AskOptions, session: AskedSession): Promise<Json>;
  /** For hosts that load a context before they ask. @throws RlmError `invalid_argument` for a schema that an ask refuses */
  checkSchema(schema: Json): Promise<void>;
  /** Drives an ask to its end, or to where it is suspended. Whether it has begun anew is in its records. */
  drive(host: AskHost, asked: ExecAsked, isResumed: boolean): Promise<AskEnvelope>;
  /** Answers a call with context by the ask of a child, which is asked at most once. @throws RlmError if the store fails */
  child(session: Pick<Session, "ask" | "discard" | "resume">, asked: ChildAsked): Promise<ChildEnd>;
  /** What an ask that is over has answered. */
  recorded(host: Pick<AskHost, "session_id" | "records" | "budget" | "trajectory">): AskEnvelope;
}
