import type { Compared, ExecDescription, ResumeDescription, SessionDescription } from "../history/index.ts";

// The form of a trace, which its writers and the page share. A trace is a session, or a run with
// jobs instead of calls.

/** Numbers of a call, each a column of unsigned 32-bit integers. */
export const COLUMNS = [
  // Index of its exec in the head, its number in that, and the batch of its cell; 0: none.
  ...["exec", "number", "batch"],
  // From the exec's start until it was asked, from then until it was sent, and from then until
  // its answer: ms.
  ...["asked", "queue", "run"],
  // Indexes of the head's `kinds`, `models` and, twice, `errors`: the failure, and why a job waits.
  ...["kind", "model", "error", "why"],
  // Tokens, and how many of all these nobody told.
  ...["input", "output", "cached_in", "cache_write", "estimated"],
  // Dollars × 10⁶, and the rest × 10⁹: its own cost, without what a described child has spent.
  ...["micro", "nano"],
  // Requests that failed and were sent again, and the times that a resume sent it again; of a job
  // its tries and lapses.
  ...["tries", "resent"],
  // From the create of the provider's batch that answered it until its answer was taken, ms; and
  // sub-calls of a job.
  ...["delivery", "calls"],
  // UTF-16 units of its prompt and its answer.
  ...["plen", "alen"],
  // Indexes of the head's `phases` and `labels`, and bits by the places of `MARKS`.
  ...["phase", "label", "marks"],
] as const;
export type Column = (typeof COLUMNS)[number];
export type Row = Readonly<Record<Column, number | null>>;

/**
 * Marks of a call: it took over the answer of an earlier run, a person gave its answer, its agent
 * has a worktree of its own, its agent was started and has no answer yet, something was put right in
 * its replies, and its model does not take all of its parameters.
 */
export const MARKS = ["taken over", "by hand", "worktree", "started", "mended", "without a parameter"] as const;

/**
 * Stands for null: in `queue` of a call that was not sent, in `run` of one without an answer, in
 * `delivery` of one sent at once.
 */
export const NONE = 2 ** 32 - 1;

/**
 * The cost of a call: `kept` was answered before an interruption of its exec and not paid again,
 * `lost` failed, and of a `refused` one nothing was sent.
 */
export const KINDS = ["paid", "cached", "kept", "lost", "refused", "pending"] as const;
/** States of jobs. */
export const STATES = ["done", "failed", "running", "waiting", "parked", "cancelling", "cancelled"] as const;
export type Kind = (typeof KINDS)[number] | (typeof STATES)[number];

/**
 * Calls of a page of columns, except the last: a page is decoded in one turn of the event loop.
 */
export const PAGE_CALLS = 8192;

/** Facts that a page has before it has the columns and the texts. Times are ms since the epoch. */
export interface Head {
  readonly trace: 2;
  readonly subject: "session" | "run";
  readonly belay: string;
  readonly made_at: number;
  /** `cut`: some texts are not whole; `cut_texts` says how many. */
  readonly texts: "all" | "cut" | "none";
  readonly cut_texts: number;
  readonly redacted: number;
  /** ` --store …` behind lines for a shell; nothing for the usual store, or without texts. */
  readonly store: string;
  readonly session: TracedSession;
  readonly execs: readonly TracedExec[];
  /** Those that the store has. */
  readonly checkpoints: readonly (readonly [id: string, exec_id: string, kind: "step" | "end", at: number])[];
  readonly models: readonly string[];
  readonly errors: readonly string[];
  readonly kinds: readonly Kind[];
  /** Labels of calls, and the phases that these belong to. The first is empty. */
  readonly labels: readonly string[];
  readonly phases: readonly string[];
  readonly calls: number;
  /**
   * The first text of each chunk, and how many it has. Texts of calls come first, then
   * those of each exec of a session.
   */
  readonly chunks: readonly (readonly [first: number, count: number])[];
  /** Parts of P that were looked at; null without a context, or if that is not recorded. */
  readonly coverage: TracedCoverage | null;
  /**
   * The comparison with another session, with the first of each list; only if that was asked for.
   */
  readonly against?: Compared;
  /** From a server: a name of this content, and one of that of each chunk. */
  readonly revision?: string;
  readonly hashes?: readonly string[];
}

/** The session, or the run. It has no name if texts are left out. */
export interface TracedSession extends Pick<SessionDescription, "id" | "name" | "context" | "forked_from"> {
  readonly status: string;
  /** A sentence about the wait of its unfinished exec: for what, and until when. Empty if no record says that. */
  readonly waiting: string;
  /** Dollars that it may spend; null: no limit is recorded. */
  readonly budget_usd: number | null;
  /** Lines that name what cannot be read; without texts one that counts them. */
  readonly damaged: readonly string[];
  /** Children and jobs that are not in the trace. */
  readonly left_out: readonly string[];
}

type Described = Pick<ExecDescription, "number" | "parent" | "file" | "status" | "error_code" | "checkpoint_id">;

/** An exec; of a run there is one, which has all its jobs. */
export interface TracedExec extends Described {
  readonly id: string;
  /** As `belay show` has it, or `run`. */
  readonly kind: string;
  /** The session above has 0; `of` is the call that the exec's session answers. */
  readonly depth: number;
  readonly of: number | null;
  /** The child's id; null for an exec of the session itself. */
  readonly session: string | null;
  readonly label: string;
  readonly began: number;
  readonly ended: number | null;
  readonly ms: number | null;
  readonly resumes: readonly Omit<ResumeDescription, "checkpoint_id">[];
  readonly turn: number | null;
  /** Only of an ask. */
  readonly ask: TracedAsk | null;
  /** Only of a workflow. */
  readonly workflow: TracedWorkflow | null;
  readonly warnings: readonly string[];
  /** Its calls: from the first, and before this one. */
  readonly from: number;
  readonly to: number;
}

/** Grades of what was looked at, the highest first, as `belay show` has them. */
export const GRADES = ["shown", "found", "ranked", "touched", "never"] as const;
export type Grade = (typeof GRADES)[number];

export interface TracedCoverage {
  /** The line of `belay show`, and the sentence at the end of an ask. */
  readonly told: string;
  readonly sentence: string;
  /**
   * By grade, except `never`, the percent of each stretch of P that reached it or a higher one.
   */
  readonly strip: readonly (readonly number[])[];
  /** By grade, how many documents there are, and the largest of them. */
  readonly documents: readonly {
    readonly count: number;
    readonly largest: readonly (readonly [id: string, chars: number])[];
  }[];
  /** Files of the load that should have text and could not be read; null if there are none. */
  readonly unread: TracedUnread | null;
}

export interface TracedUnread {
  readonly count: number;
  /** The first of them. Without texts there are none. */
  readonly files: readonly (readonly [path: string, reason: string])[];
}

/** An ask beside its texts: how it was answered, and what the answer rests on. */
export interface TracedAsk {
  readonly answered_by: string | null;
  readonly citations: readonly TracedCitation[];
  /** Limits that it met, such as `sub_calls`. */
  readonly limits_met: readonly string[];
  /**
   * Its warnings as sentences: those about itself, and those about the
   * load. Without texts there are none.
   */
  readonly notes: readonly string[];
  readonly load_notes: readonly string[];
}

/** A workflow beside its texts: its head, and what it was started with. */
export interface TracedWorkflow {
  readonly name: string;
  readonly description: string;
  /** JSON; empty if it has none. */
  readonly args: string;
  /** The agent of calls that name none; null: the session's model. */
  readonly agent: string | null;
  /** Indexes of the head's `phases` that its script names before it runs, in its order. */
  readonly phases: readonly number[];
}

export interface TracedCitation {
  /** From 1, among all that the answer gave. */
  readonly number: number;
  readonly doc: string | null;
  readonly line: number | null;
  readonly place: string | null;
  readonly quote: string;
  /** The grade of coverage that its document reached; null: it is not known. */
  readonly grade: Grade | null;
  /** The text around it; null if the context could not be read. */
  readonly around: { readonly text: string; readonly at: number; readonly length: number } | null;
}

/**
 * Texts of an exec, in this order. An answer is that of an ask, or what the model said in a turn.
 */
export const EXEC_TEXTS = ["code", "output", "errors", "result", "error", "answer"] as const;

/** A call's prompt and answer, a job's id and error, or an exec's texts. */
export type Texts = readonly string[];
