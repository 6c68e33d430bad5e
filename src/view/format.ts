// The form of a trace, which the writers and the page share.

/** Numbers of a call, each a column of unsigned 32-bit integers. */
export const COLUMNS = [
  /** Index of its exec in the head, and the batch of its cell; 0: none. */
  "exec",
  "batch",
  /** From the exec's start until it was asked, from then until it was sent, and from then until its answer: ms. */
  "asked",
  "queue",
  "run",
  /** Indexes of `KINDS`, and of the head's `models` and `errors`. */
  "kind",
  "model",
  "error",
  "input",
  "output",
  "cached_in",
  "cache_write",
  /** Dollars × 10⁶, and the rest × 10⁹: its own cost, without what a described child has spent. */
  "micro",
  "nano",
  /** Requests that failed and were sent again, and the times that a resume sent it again. */
  "tries",
  "resent",
  /** UTF-16 units of its prompt and its answer. */
  "plen",
  "alen",
] as const;
export type Column = (typeof COLUMNS)[number];

/** Stands in `queue` for a call that was not sent, and in `run` for one that has no answer. */
export const NONE = 2 ** 32 - 1;

/**
 * The cost of a call: `kept` was answered before an interruption of its exec and not paid again, `lost` failed, and of a
 * `refused` one nothing was sent.
 */
export const KINDS = ["paid", "cached", "kept", "lost", "refused", "pending"] as const;
export type Kind = (typeof KINDS)[number];

/** Calls of a page of columns: a page is decoded in one turn of the event loop. */
export const PAGE_CALLS = 8192;

/** Facts that a page has before it has the columns and the texts. Times are ms since the epoch. */
export interface Head {
  readonly trace: 2;
  readonly belay: string;
  readonly made_at: number;
  /** `cut`: some texts are not whole; `cut_texts` says how many. */
  readonly texts: "all" | "cut" | "none";
  readonly cut_texts: number;
  readonly redacted: number;
  readonly session: TracedSession;
  readonly execs: readonly TracedExec[];
  /** Those that the store has. */
  readonly checkpoints: readonly (readonly [id: string, exec_id: string, kind: "step" | "end", at: number])[];
  readonly models: readonly string[];
  readonly errors: readonly string[];
  readonly kinds: readonly string[];
  readonly columns: readonly string[];
  readonly calls: number;
  /** Calls in each page of columns. */
  readonly pages: readonly number[];
  /** The first text of each chunk, and how many it has. Texts of calls come first, those of execs after them. */
  readonly chunks: readonly (readonly [first: number, count: number])[];
  /** Parts of P that were looked at; null without a context, or if that is not recorded. */
  readonly coverage: TracedCoverage | null;
  /** The comparison with another session; only if that was asked for. */
  readonly against?: TracedCompared;
  /** From a server: which content each page and chunk has. */
  readonly revisions?: { readonly pages: readonly string[]; readonly chunks: readonly string[] };
}

/** A session against an older one, as `belay show --against` tells it. Lists have the first of each kind. */
export interface TracedCompared {
  readonly against: { readonly id: string; readonly name: string | null };
  /** The sentence of `belay show --against`. */
  readonly told: string;
  readonly past: { readonly is_shared: boolean; readonly calls: number; readonly last: TracedPlace | null };
  readonly counts: Readonly<Record<"same" | "again" | "new" | "gone" | "replaced", number>>;
  readonly cost_usd: number;
  readonly cost_usd_before: number;
  readonly cost_usd_asked: number;
  readonly calls: readonly (TracedPlace & {
    /** The place of one that is `gone` is in the other session, and so is `was`. */
    readonly is: "again" | "new" | "gone";
    readonly why: string | null;
    readonly documents: readonly string[];
    readonly above: TracedPlace | null;
    readonly was: TracedPlace | null;
    readonly cost_usd: number;
    readonly words: string;
  })[];
  readonly documents:
    | (Readonly<Record<"total" | "equal" | "changed" | "new" | "gone", number>> & {
        readonly listed: Readonly<Record<"changed" | "new" | "gone", readonly string[]>>;
      })
    | null;
  readonly result: TracedEnd | null;
  readonly answer: TracedEnd | null;
}

/** The numbers of an exec and of its call, from 1. */
export interface TracedPlace {
  readonly exec: number;
  readonly call: number;
}

/** An end against that of another session, with the hunks of a diff. */
export interface TracedEnd {
  readonly is: "same" | "changed" | "new" | "gone";
  readonly lines: number | null;
  readonly hunks: string | null;
}

export interface TracedSession {
  readonly id: string;
  /** null: it has none, or texts are left out. */
  readonly name: string | null;
  readonly status: string;
  /** Dollars that it may spend; null: no limit is recorded. */
  readonly budget_usd: number | null;
  readonly context: { readonly hash: string; readonly chars: number; readonly sources: readonly string[] } | null;
  readonly forked_from: string | null;
  /** Lines that name what cannot be read; without texts one that counts them. */
  readonly damaged: readonly string[];
  /** Ids of children that are not in the trace. */
  readonly left_out: readonly string[];
}

export interface TracedExec {
  readonly id: string;
  /** From 1, in its session. */
  readonly number: number;
  readonly kind: string;
  readonly parent: number | null;
  /** The session above has 0; `of` is the call that the exec's session answers. */
  readonly depth: number;
  readonly of: number | null;
  /** The child's id; null for an exec of the session itself. */
  readonly session: string | null;
  readonly label: string;
  readonly file: string | null;
  readonly status: "ok" | "failed" | "unfinished";
  readonly error_code: string | null;
  readonly began: number;
  readonly ended: number | null;
  readonly ms: number | null;
  readonly resumes: readonly TracedResume[];
  readonly checkpoint_id: string | null;
  readonly turn: number | null;
  readonly ask: TracedAsk | null;
  readonly warnings: readonly string[];
  /** Its calls: from the first, and before this one. */
  readonly from: number;
  readonly to: number;
  /** The number of its texts (`EXEC_TEXTS`) among all; null: they are left out. */
  readonly text: number | null;
}

/** Grades of what was looked at, the highest first, as `belay show` has them. */
export const GRADES = ["shown", "found", "ranked", "touched", "never"] as const;

export interface TracedCoverage {
  /** The sentence of `belay show`. */
  readonly told: string;
  /** By grade, but for `never`, the percent of each stretch of P that reached it or a higher one. */
  readonly strip: readonly (readonly number[])[];
  /** By grade, how many documents there are, and the largest of them. */
  readonly documents: readonly {
    readonly count: number;
    readonly largest: readonly (readonly [id: string, chars: number])[];
  }[];
}

export type TracedResume = {
  readonly at: number;
  readonly gap_ms: number;
  readonly replayed: number;
  readonly resent: number;
  readonly failed: number;
};

export interface TracedAsk {
  readonly answered_by: string | null;
  readonly citations: readonly TracedCitation[];
}

export interface TracedCitation {
  readonly doc: string | null;
  readonly line: number | null;
  readonly quote: string;
  /** The text around it; null if the context could not be read. */
  readonly around: { readonly text: string; readonly at: number; readonly length: number } | null;
}

/** Texts of an exec, in this order. An answer is that of an ask, or what the model said in a turn. */
export const EXEC_TEXTS = ["code", "output", "errors", "result", "error", "answer"] as const;

/** A call's prompt and answer, or an exec's texts. */
export type Texts = readonly string[];
