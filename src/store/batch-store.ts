import type { Json } from "../../runtime/index.ts";
import type { DueJob } from "./job-store.ts";

/**
 * Requests that go by a provider batches, as rows: one row for each request of a call, with its
 * answer later, and one for each batch. A change of a batch is made under the fence of its
 * account's lease: with an older fence it changes nothing and returns false. Instants are those of
 * the store's clock, in ms since the epoch.
 */
export interface BatchStore {
  /**
   * Keeps a request: it is on disk when this resolves. If one with this key still waits, the new
   * one replaces it. One that is out or answered stays as it is; one that was given up while it was
   * out is wanted again. Returns the request as it is then.
   */
  keep(request: NewBatchRequest): Promise<BatchRequest>;
  /** Requests of a call, in the order of their numbers. */
  ofCall(session: string, call: string): Promise<readonly BatchRequest[]>;
  /**
   * Gives up the requests of these root sessions. Those that are out stay until their batch is
   * over, and the others go. `unsent`: only those that have not left go, and jobs that wait for
   * nothing any more wait for a try. A batch that was not yet asked for has not left: it is over,
   * and its other requests wait for another one. What requests hold that have not left is free; what the others
   * hold becomes doubtful.
   */
  giveUp(of: Waiters, which: "all" | "unsent"): Promise<void>;
  /**
   * The open requests of a run or of a root session, by batch; those without a batch come first.
   */
  waits(of: Waiters): Promise<readonly Waits[]>;
  /**
   * Jobs of a queue, 1,000 at the most, that waited for answers and wait for a try now: each needs
   * a ticket. Jobs parked as `held` are among them once the money that requests by batch hold has
   * room for them, or is spent.
   */
  delivered(queue: string): Promise<readonly DueJob[]>;

  /** Requests that may leave now, by account and model. */
  groups(): Promise<readonly Group[]>;
  /**
   * Takes the lease of an account. Returns its fence, or null if another process has it, or this
   * store had it already.
   */
  lease(account: string): Promise<number | null>;
  release(account: string): Promise<void>;
  /**
   * Gives the oldest requests of a group to a new batch: at least one, and at most so many with so
   * many bytes.
   *
   * @returns null if none waits, or the fence is an older one
   */
  close(
    of: Pick<Group, "account" | "model">,
    fence: number,
    most: Pick<Group, "requests" | "bytes">,
  ): Promise<ProviderBatch | null>;
  /** Batches that are not over, the oldest first. */
  open(): Promise<readonly ProviderBatch[]>;
  /** The provider's names of all batches of an account that are known. */
  names(account: string): Promise<readonly string[]>;
  /** Changes a batch that is not over. */
  step(id: string, fence: number, change: BatchChange): Promise<boolean>;
  /**
   * Requests of a batch from this number on, in order: 500, or fewer if they are large. Returns
   * none after the last one.
   */
  toSend(id: string, from: number): Promise<readonly RequestToSend[]>;
  /**
   * Keeps results of a batch, 500 at the most. Those of unknown and answered requests are left out.
   * Jobs that wait for nothing any more wait for a try.
   */
  answer(id: string, fence: number, results: readonly BatchResult[]): Promise<boolean>;
  /**
   * Ends a batch, with what becomes of its requests that have no answer. Wakes jobs as `answer`
   * does.
   */
  end(id: string, fence: number, rest: Rest): Promise<boolean>;
  /**
   * Pauses the open runs of these queues that have open requests in an account. Returns their
   * number.
   */
  pause(account: string, queues: readonly string[], why: string): Promise<number>;
}

/** Waiters for requests by batch: the jobs of a run, or a root session. */
export type Waiters = { readonly run: string } | { readonly root: string };

/** Number of times that a request is sent, at the most. */
export const REQUEST_TRIES = 3;

export interface NewBatchRequest {
  readonly session: string;
  readonly call: string;
  /** Number of the request in its call, from 0. */
  readonly k: number;
  /** The session that waits for it: the one that a caller opened. */
  readonly root: string;
  /** The run of that session's job; null if it does not belong to a job. */
  readonly run: string | null;
  /** API, base URL and 8 hex digits of the SHA-256 of the key. */
  readonly account: string;
  /** `provider/id`. */
  readonly model: string;
  readonly body: Json;
  /**
   * Made with the account's key over the request and its session. A request without it is not sent.
   */
  readonly proof: string;
}

/** A request that goes by a batch. It is open while it waits or is out. */
export interface BatchRequest extends Omit<NewBatchRequest, "body" | "proof"> {
  readonly state: "waiting" | "out" | "answered";
  readonly at: number;
  /** When the provider answered the create of its batch; null: not yet. */
  readonly sent_at: number | null;
  /** The provider's name of its batch; null: not known yet. */
  readonly batch: string | null;
  readonly answer: BatchAnswer | null;
}

/**
 * The answer to a request. With the status 0 no server has sent it: the body is a failure with
 * `code`, `message`, `suggestion`, `retriable`.
 */
export interface BatchAnswer {
  readonly status: number;
  readonly body: Json;
}

export interface BatchResult extends BatchAnswer {
  /** Number of the request in its batch, from 0. */
  readonly n: number;
  /**
   * Another try may help: the request waits again. If it was sent `REQUEST_TRIES` times, this is
   * its answer.
   */
  readonly again: boolean;
}

export type Rest =
  /** They have this answer. */
  | { readonly kind: "answered"; readonly answer: BatchAnswer }
  /**
   * They were not run, and wait again. `otherwise` is the answer of those that were sent
   * `REQUEST_TRIES` times.
   */
  | { readonly kind: "again"; readonly otherwise: BatchAnswer }
  /**
   * The batch was refused before anything ran: they wait again, after so many ms, in batches of at
   * most so many.
   */
  | { readonly kind: "refused"; readonly afterMs: number; readonly most: number | null };

/** Requests of one account and model that wait. */
export interface Group extends Pick<ProviderBatch, "account" | "model" | "requests"> {
  readonly bytes: number;
  /** ms since the oldest and since the newest was kept. */
  readonly oldestMs: number;
  readonly newestMs: number;
  /**
   * More may come before an answer does: all requests are of runs, and of these runs some open one
   * has a job that waits or runs and has no open request.
   */
  readonly grows: boolean;
}

export interface ProviderBatch extends Pick<NewBatchRequest, "account" | "model"> {
  /** A ULID. */
  readonly id: string;
  /** The number of its requests. */
  readonly requests: number;
  /** The number of those that are open and not given up. */
  readonly wanted: number;
  /**
   * `closed`: it has its requests. `out`: the provider has it. `doubt`: it is unknown whether the
   * provider has it.
   */
  readonly state: "closed" | "out" | "doubt";
  /** ms since it got its requests. */
  readonly closedMs: number;
  /** The provider's name of the uploaded requests; null: there are none. */
  readonly file: string | null;
  /** When its create was sent; null: it was not. */
  readonly asked_at: number | null;
  readonly askedMs: number | null;
  /** The provider's name of the batch; null: not known. */
  readonly batch: string | null;
  /** ms since the answer to the create was saved, or the batch was found; null: neither. */
  readonly madeMs: number | null;
  /** ms until it is to be looked at; 0: now. */
  readonly lookMs: number;
  /** The provider was asked to cancel it. */
  readonly cancelled: boolean;
  /** Made with the account's key over the provider's names; null: it has given none. */
  readonly proof: string | null;
}

/** The fields that are there replace those of the batch. */
export interface BatchChange extends Partial<Pick<ProviderBatch, "state" | "file" | "lookMs" | "proof">> {
  /** Now, or not at all. */
  readonly asked?: boolean;
  /** The provider's name of the batch, which is made now. */
  readonly batch?: string;
  /** Rows that the provider says are done. */
  readonly done?: number;
  readonly cancelled?: true;
}

/** A request as it is sent with its batch. */
export interface RequestToSend extends Pick<NewBatchRequest, "session" | "call" | "k" | "root" | "run" | "model"> {
  readonly n: number;
  readonly proof: string | null;
  /** JSON. */
  readonly body: string;
}

/** Open requests of a run or session that are in one batch, or in none yet. */
export interface Waits extends Pick<ProviderBatch, "account" | "model" | "batch"> {
  readonly state: "waiting" | ProviderBatch["state"];
  readonly calls: number;
  /** Rows of the whole batch that the provider reported as done. */
  readonly done: number;
  /** Time at which the batch was created, or its oldest request saved. */
  readonly since: number;
  /** Times of the account's newest batches, ms, at most nine. */
  readonly earlier: readonly number[];
}
