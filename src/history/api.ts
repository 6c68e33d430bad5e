import type { Json, Sampling } from "../../runtime/index.ts";
import type { ToldSkips } from "../context/index.ts";
import type { SubCallTurn, Usage } from "../models/index.ts";
import type { ProviderWait, SessionSummary } from "../session/index.ts";
import type { AskDescription, TurnDescription } from "../session/journal/ask-records.ts";
import type { ToldCoverage } from "../session/journal/coverage.ts";
import type { CoverageTotals, SummedCoverage } from "../session/journal/coverage-sums.ts";
import type { Attempt, DeliveryRecord, ExecKind, ToolCall } from "../session/journal/records.ts";

/** The store's description of a session: its execs with their calls, and its checkpoints. */
export interface SessionDescription extends Omit<SessionSummary, "execs"> {
  /** Its current checkpoint; null before the first. */
  readonly head: string | null;
  /** Settings with which it was created (model, limits …), never a key; null if nothing is recorded. */
  readonly settings: Json;
  /** In journal order. */
  readonly execs: readonly ExecDescription[];
  /**
   * The parts of the context that its execs have looked at since the last load. null without a
   * context, and if it is lost; absent of a session that answers a call of the one described.
   */
  readonly coverage?: SessionCoverage | null;
  /**
   * Files of its sources that are not in the context, the first 1,000 of them;
   * null and absent as `coverage` is.
   */
  readonly skipped?: ToldSkips | null;
  /** Providers' batches that its unfinished exec waits for; only if there are any. */
  readonly waits?: readonly ProviderWait[];
  /** The oldest first; `parent` makes a tree of them. */
  readonly checkpoints: readonly CheckpointDescription[];
  /**
   * The missing or damaged parts, named line by line; only if the session is described `partly`.
   */
  readonly damaged?: readonly string[];
}

/** The coverage of a session. */
export interface SessionCoverage extends CoverageTotals {
  /** Ids of documents, the largest first, at most 1,000. */
  readonly never_opened: readonly string[];
}

/** A session with what its description leaves out. */
export interface WholeDescription {
  readonly session: SessionDescription;
  /** The key of its context in the store; null without a context. */
  readonly key: string | null;
  /** The parts of its context that were looked at; null without a context, and if it is lost. */
  readonly covered: SummedCoverage | null;
}

export interface CheckpointDescription {
  readonly id: string;
  readonly parent: string | null;
  readonly exec_id: string;
  readonly kind: "step" | "end";
  /** ms since the epoch. */
  readonly at: number;
  /** Pages of 4 KiB that changed, and what they take on disk, bytes. */
  readonly pages: number;
  readonly bytes: number;
  /** The session's current checkpoint. */
  readonly head: boolean;
}

/** The journal's facts about one exec. Times are ms since the epoch. */
export interface ExecDescription {
  readonly exec_id: string;
  /** From 1, in the session's whole life. */
  readonly number: number;
  readonly kind: ExecKind;
  /**
   * The number of the exec above it: of a turn its ask, of a cell of an ask the turn that
   * asked for it; null for others.
   */
  readonly parent: number | null;
  /** First line of the cell, question or path. */
  readonly input: string;
  /** The whole cell or question; of other kinds what the host asked for. */
  readonly source: Json;
  /** The file that the cell is from, or null. */
  readonly file: string | null;
  readonly status: "ok" | "failed" | "unfinished";
  readonly error_code: string | null;
  readonly began_at: number;
  /** null while it is unfinished. */
  readonly ended_at: number | null;
  /** Wall time in which a process ran it, ms; for an ask that of its turns and cells. null while it is unfinished. */
  readonly time_ms: number | null;
  /** The number of times that it was continued in a new process, and each time. */
  readonly resumed: number;
  readonly resumes: readonly ResumeDescription[];
  /** Tokens of its calls; for an ask, of its turns and cells. */
  readonly tokens: number;
  readonly cost_usd: number;
  /** The request of a turn is a call of the turn. An ask makes none itself. */
  readonly calls: readonly CallDescription[];
  /** Its output; if it is unfinished, until its newest checkpoint. */
  readonly stdout: string;
  readonly stderr: string;
  readonly warnings: readonly string[];
  readonly result_json: Json;
  /** The traceback, or why an exec failed that ran no cell; null if it did not fail. */
  readonly error: string | null;
  /** Cells that are to be run after it, by name. */
  readonly rest: readonly string[];
  /** The exec whose cell it runs again, with answers that a person gave to some calls; null if it runs none again. */
  readonly again: AgainDescription | null;
  /** Checkpoint of the state after it; null if there is none, or if it was dropped. */
  readonly checkpoint_id: string | null;
  /** The parts of the context that it looked at; null if that is not recorded. */
  readonly coverage: ToldCoverage | null;
  /** Only of an ask. */
  readonly ask: AskDescription | null;
  /** Only of a turn. */
  readonly turn: TurnDescription | null;
  /** Texts that are not whole here, by field: how many characters each has. */
  readonly cut?: Readonly<Record<string, number>>;
}

/** An exec whose cell was run again in a fork. */
export interface AgainDescription {
  /** Its number; null if its records are lost. */
  readonly exec: number | null;
  readonly by_hand: readonly number[];
}

/** A process that continued an exec. */
export interface ResumeDescription {
  readonly at: number;
  /** Time since the record before it, ms. No process recorded anything in between. */
  readonly gap_ms: number;
  /** Checkpoint that it continued from; null for the exec's start. */
  readonly checkpoint_id: string | null;
  /** Counts: recorded answers that were used, calls that were sent again, and calls that failed instead. */
  readonly replayed: number;
  readonly resent: number;
  readonly failed: number;
}

/** The journal's facts about one call. Times are ms since the epoch. */
export interface CallDescription {
  readonly call_id: string;
  /** From 1, in its exec. */
  readonly number: number;
  /** The builtin; `root` for the request of a turn. */
  readonly name: string;
  /** The batch of its cell that it belongs to, or null. */
  readonly batch: number | null;
  /** The prompt; null for a call that asks no model. */
  readonly prompt: string | null;
  /** The name that its cell gives it, and the part of the work that it belongs to; null: it gives none. */
  readonly label: string | null;
  readonly phase: string | null;
  /** Every argument, as the cell gave it. */
  readonly args: readonly Json[];
  /** Parameters from the session, for those that its arguments do not name; null: none. */
  readonly sampling: Sampling | null;
  /** Effects of a function of the program; null for other calls. */
  readonly effects: ToolCall["effects"] | null;
  /**
   * `provider/id`: the model that was asked, or whose answer was known, or that was
   * refused, or `agent:NAME/MODEL` of a pending call; empty if none is known.
   */
  readonly model: string;
  /** `pending`: no answer is recorded. */
  readonly status: "ok" | "failed" | "pending";
  readonly error_code: string | null;
  /** The answer, or the error that the cell got; null while the call is pending. */
  readonly answer: Json;
  /** The last answer of the model, if it did not fit the schema; else null. */
  readonly misfit: string | null;
  /** Names of parameters that its model does not take: it was asked without them. */
  readonly ignored: readonly string[];
  /** Kinds of repairs to its replies, such as `punctuation`. */
  readonly mended: readonly string[];
  /** Time at which the call was recorded. */
  readonly asked_at: number;
  /** Time at which its first request was sent; null if none was. */
  readonly sent_at: number | null;
  /** Time at which its answer was recorded; null while the call is pending. */
  readonly ended_at: number | null;
  /**
   * From `asked_at`, or from the resume that sent it again, to its answer: ms.
   * null while the call is pending.
   */
  readonly time_ms: number | null;
  readonly tokens: number;
  readonly cost_usd: number;
  /** The provider's charge; for a call with a child all that the child has spent. */
  readonly usage: Usage;
  /** The answer came from the cache. */
  readonly cached: boolean;
  /** The earlier run whose answer it reuses, and what the answer cost there. Absent: none. */
  readonly reused?: { readonly from: string; readonly tokens: number; readonly cost_usd: number };
  /** Folders of worktrees in which its agent has changed something. They stay until the session is dropped. */
  readonly worktrees: readonly string[];
  /** True if a person gave the answer, in a fork. */
  readonly by_hand: boolean;
  /** The agent of the user's that was asked; null: a model was. */
  readonly agent: string | null;
  /** True if that agent was started on this computer and the call is pending. */
  readonly started: boolean;
  /** Nothing was sent. */
  readonly refused: boolean;
  /**
   * Requests that failed and were sent again: how many, and each with
   * its code and the wait after it.
   */
  readonly attempts: number;
  readonly retries: readonly Attempt[];
  /** The number of times that a resume sent it again because its answer was not recorded. */
  readonly resent: number;
  /** The provider's batch that answered it; null if its requests were sent at once. */
  readonly delivery: DeliveryRecord | null;
  /**
   * The replies of a sub-agent; null for a call that one reply answered, or if they are not
   * recorded.
   */
  readonly turns: readonly SubCallTurn[] | null;
  /** The session that answers it, if it has a context of its own. */
  readonly child: ChildDescription | null;
  /** Texts that are not whole here, by field: how many characters each has. */
  readonly cut?: Readonly<Record<string, number>>;
}

/** The child of a call. Facts that its call's record lacks are null. */
export interface ChildDescription {
  /** Its id. */
  readonly session: string;
  readonly sub_calls: number | null;
  readonly turns: number | null;
  readonly depth_reached: number | null;
  /** The store's description of it; null if that was not asked for, or is left out. */
  readonly description: SessionDescription | null;
}
