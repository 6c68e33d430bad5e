/**
 * Says who should try a job next, and nothing else. It may hand a ticket out twice, late, or after
 * the job has ended: rows and fences decide.
 */
export interface Dispatcher extends AsyncDisposable {
  /**
   * Queues tickets; resolves when all of them are taken. A job with a waiting ticket gets no second
   * one, so whoever is in doubt offers again. One that waits for `afterMs` or `dueMs` comes sooner
   * if the new one would.
   */
  offer(tickets: Iterable<Ticket> | AsyncIterable<Ticket>): Promise<void>;
  /**
   * Hands tickets to `attempt`, at most `concurrency` at once, until `signal` aborts; resolves when
   * the last try has returned. A rejected attempt counts like a death of the process; a ticket that
   * has used up its lapses goes to `dead`, which can say that the job should be tried again. If it
   * rejects, the ticket goes there again later.
   */
  work(
    how: WorkOptions,
    attempt: (tried: Tried) => Promise<Verdict>,
    dead: (letter: DeadLetter) => Promise<Verdict>,
  ): Promise<void>;
  /**
   * Makes `changed` of these tries abort, and offers the jobs again in case nobody is alive to
   * notice.
   */
  nudge(tries: readonly { readonly ticket: Ticket; readonly id: string }[]): Promise<void>;
}

interface WorkOptions {
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/** A request to try a job. */
export interface Ticket {
  readonly run: string;
  readonly n: number;
  /** The lowest is tried first. */
  readonly rank: number;
  /**
   * Not before so many ms, as the job's row has it. A ticket of the job that is offered for an
   * earlier time takes its place.
   */
  readonly afterMs?: number;
  /** The number of its tries that died before it was offered. Default: 0. */
  readonly lapses?: number;
}

export interface Tried extends Omit<Ticket, "afterMs"> {
  readonly id: string;
  /** The number of times that the ticket came back because its worker went silent. */
  readonly lapses: number;
  /** A hint to read the job's row again. */
  readonly changed: AbortSignal;
}

/** With one lapse more a ticket is dead. */
export const MOST_LAPSES = 5;

/** A ticket that has used up its lapses. */
export interface DeadLetter extends Omit<Tried, "changed"> {
  /** The reason that its last try left. */
  readonly why: string;
}

/**
 * The verdict of a try on its ticket: the job needs no further try, its ticket should come again
 * after `againMs`, or the job is due in `dueMs`. Its lapses are forgotten, unless the verdict names
 * those that still count.
 */
export type Verdict =
  | "over"
  | { readonly againMs: number; readonly lapses?: number }
  /** Its row names this time, and may be changed: the ticket comes sooner if the job is offered. */
  | { readonly dueMs: number; readonly lapses?: number };
