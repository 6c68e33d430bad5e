import type { Json, Thinking } from "../../../runtime/index.ts";
import type { ToldSkips } from "../../context/index.ts";
import type { Usage } from "../../models/index.ts";
import type { CoverageTotals } from "../journal/coverage-sums.ts";
import type { ExecFailure } from "../journal/envelope.ts";
import type { RemainingBudget } from "../journal/ledger.ts";
import type { AskLimit, BudgetLimits, ChildRecord } from "../journal/records.ts";

import type { WaitOptions } from "../option-types.ts";

/** A place of P that an answer rests on, checked by the host. Offsets are UTF-16 units, `end` excluded. */
export interface Citation {
  /** True if it is a range of P. An answer with invalid citations stays an answer. */
  readonly valid: boolean;
  readonly doc: string | null;
  /** 1-based; of `start`, in the document. */
  readonly line: number | null;
  /** The page, slide, cell or row of a converted document: `p.12`, `Sales!17`; of `start`. */
  readonly place: string | null;
  /** In the document. */
  readonly start: number | null;
  readonly end: number | null;
  /** In P. */
  readonly p_start: number | null;
  readonly p_end: number | null;
  /** From P itself, at most 300 characters. */
  readonly quote: string | null;
}

/** Options of an ask. */
export interface AskOptions extends WaitOptions {
  /** The root model, `provider/id`; default: the session's. */
  readonly model?: string | undefined;
  /** The model of plain sub-calls; default: the session's. */
  readonly subModel?: string | undefined;
  /** Turns before the closing one (default 20, at most 100). */
  readonly maxTurns?: number | undefined;
  /** Levels of sub-calls with a context of their own (default: the session's). */
  readonly maxDepth?: number | undefined;
  /** Output tokens of a turn, thinking included (default 16,000). */
  readonly turnTokens?: number | undefined;
  /** The level of thinking of the root model and of those of its cells (default: the session's). */
  readonly thinking?: Thinking | undefined;
  /** The way in which the model runs cells (default `auto`: a tool, or fenced blocks if its provider refuses tools). */
  readonly protocol?: Protocol | "auto" | undefined;
  /** A budget for this ask only, within the session's. A resume keeps it with its spending. */
  readonly budget?: { readonly [limit in keyof BudgetLimits]?: BudgetLimits[limit] | undefined } | undefined;
  /** JSON Schema that the answer fits. */
  readonly schema?: Json | undefined;
  /** Returns all turns in `trajectory` (default false). */
  readonly trajectory?: boolean | undefined;
  /** Aborting ends the ask as cancelled. */
  readonly signal?: AbortSignal | undefined;
  /** Aborting stops the ask where it is: `resume` continues it, in this process or another. */
  readonly suspend?: AbortSignal | undefined;
}

/** The answer of an ask, or why there is none. */
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
  /** The cost of its turns, its sub-calls and all children below. */
  readonly usage: Usage;
  /** Limits that stopped it, or a child, from doing more. Empty if none did. */
  readonly limits_met: readonly AskLimit[];
  /** Each begins with its code. */
  readonly warnings: readonly string[];
  /** Time of its turns and cells, ms. */
  readonly execution_time_ms: number;
  readonly budget: RemainingBudget;
  /** The parts of the context that its own cells have looked at; null without a context, and if it is lost. */
  readonly coverage: CoverageTotals | null;
  /** Files of the load that are not in the context; null without a context, and if it is lost. The first 20 are listed. */
  readonly skipped: ToldSkips | null;
  /** The number of resumes: after a kill, after it was suspended, and after its provider had failed. */
  readonly resumed: number;
  /** Replies that the newest resume took from the journal. */
  readonly replayed_turns: number;
  /** Its turns with their cells, as far as they are recorded. Only present if it was asked for. */
  readonly trajectory?: readonly TrajectoryTurn[];
}

interface AskAnswer {
  readonly success: true;
  /** A text, or the value that was given to `answer`. */
  readonly answer: Json;
  readonly answered_by: "answer" | "text" | "closing";
  readonly citations: readonly Citation[];
}

interface AskFailure extends Pick<ExecFailure, "error_code" | "error_message" | "suggestion" | "waits"> {
  readonly success: false;
  /** The ask is unfinished: `resume` continues it. Otherwise absent. */
  readonly resumable?: true;
}

/** A turn and the cells that its reply asked for. */
export interface TrajectoryTurn {
  readonly turn: number;
  readonly text: string;
  /** Why the turn gave no reply; null if it gave one. */
  readonly error_code: string | null;
  readonly usage: Usage;
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

/** Settings of an ask for the sub-calls of its cells. */
export interface CellSettings {
  readonly protocol: Protocol | "auto";
  /** The level of thinking of calls that name none. */
  readonly thinking: Thinking;
  /** The depth that children may have. */
  readonly max_depth: number;
  /** The root model of children, `provider/id`; null: the session has none. */
  readonly model: string | null;
  /** The model of plain sub-calls, `provider/id`. */
  readonly sub_model: string | null;
  /** Output tokens of a turn of a child; null: as many as an ask has by default. */
  readonly turn_tokens: number | null;
}

/** The way in which a root model runs cells: by calls of a tool, or in fenced blocks of its text. */
export type Protocol = "tools" | "fence";
