import type { Json } from "../../../runtime/index.ts";
import type { DueJob } from "../jobs/port.ts";

/**
 * Requests that go by a provider's batches, as rows. A parcel is one request of a call, with its answer later. A shipment is the
 * parcels that are sent as one batch. A change of a shipment is made under the fence of its account's lease: with an older fence it
 * changes nothing and answers false. Instants are those of the store's clock, in ms since the epoch.
 */
export interface Shipping {
  /**
   * Keeps a request: it is on disk when this resolves. A parcel of this key that still waits becomes the new request; one that is
   * out or answered stays as it is, and one that was given up while it was out is wanted again. Returns the parcel as it stands then.
   */
  keep(parcel: NewParcel): Promise<Parcel>;
  /** Those of a call, in the order of their numbers. */
  parcels(session: string, call: string): Promise<readonly Parcel[]>;
  /**
   * Nobody needs the parcels of these root sessions any more. They go; those that are out are given up, and stay until their
   * shipment is over. `unsent`: only those that have not left go, and jobs that wait for nothing any more wait for a try. Holds of
   * requests that have not left are free; those of the others become doubtful.
   */
  giveUp(of: Waiters, which: "all" | "unsent"): Promise<void>;
  /** The open parcels of a run or of a root session, by shipment; those without one first. */
  waits(of: Waiters): Promise<readonly Waits[]>;
  /**
   * Jobs of a queue, 1,000 at the most, that waited for answers and wait for a try now: each needs a ticket. Jobs parked as `held` are
   * among them once the money that requests by batch hold has room for them, or is spent.
   */
  delivered(queue: string): Promise<readonly DueJob[]>;

  /** Parcels that may leave now, by account and model. */
  groups(): Promise<readonly Group[]>;
  /** Takes the lease of an account; answers its fence. null: another process has it, or this store had it already. */
  lease(account: string): Promise<number | null>;
  release(account: string): Promise<void>;
  /**
   * Gives the oldest parcels of a group to a new shipment, at least one and at most so many with so many bytes of requests.
   * null: none waits, or the fence is an older one.
   */
  close(
    of: Pick<Group, "account" | "model">,
    fence: number,
    most: Pick<Group, "parcels" | "bytes">,
  ): Promise<Shipment | null>;
  /** Shipments that are not over, the oldest first. */
  open(): Promise<readonly Shipment[]>;
  /** The provider's names of all batches of an account that are known. */
  batches(account: string): Promise<readonly string[]>;
  /** Changes a shipment that is not over. */
  step(id: string, fence: number, change: ShipmentChange): Promise<boolean>;
  /** Requests of a shipment in the order of their numbers, from this number on: 500, or fewer if they are large. None: that was all. */
  requests(id: string, from: number): Promise<readonly ParcelRequest[]>;
  /**
   * Keeps answers of rows of a shipment, 500 at the most. Those of unknown and answered parcels are left out. Jobs that wait for
   * nothing any more wait for a try.
   */
  answer(id: string, fence: number, answers: readonly RowAnswer[]): Promise<boolean>;
  /** Ends a shipment, with what becomes of its parcels that have no answer. Wakes jobs as `answer` does. */
  end(id: string, fence: number, rest: Rest): Promise<boolean>;
  /** Pauses the open runs of these queues that have open parcels in an account. Returns their number. */
  pause(account: string, queues: readonly string[], why: string): Promise<number>;
}

/** Those that wait for parcels: the jobs of a run, or a root session. */
export type Waiters = { readonly run: string } | { readonly root: string };

/** Number of times that a parcel is sent, at the most. */
export const PARCEL_TRIES = 3;

export interface NewParcel {
  readonly session: string;
  readonly call: string;
  /** Number of the request in its call, from 0. */
  readonly k: number;
  /** The session that waits for it: the one that a caller opened. */
  readonly root: string;
  /** The run of that session's job; null: it is of none. */
  readonly run: string | null;
  /** API, base URL and 8 hex digits of the SHA-256 of the key. */
  readonly account: string;
  /** `provider/id`. */
  readonly model: string;
  readonly body: Json;
  /** Made with the account's key over what is asked and for whom. A request without it is not sent. */
  readonly proof: string;
}

/** An open parcel is waiting or out. */
export interface Parcel extends Omit<NewParcel, "body" | "proof"> {
  readonly state: "waiting" | "out" | "answered";
  readonly at: number;
  /** When its shipment's create was answered; null: not yet. */
  readonly sent_at: number | null;
  /** The provider's name of its batch; null: not known yet. */
  readonly batch: string | null;
  readonly answer: ParcelAnswer | null;
}

/** The answer to a request. With the status 0 no server has sent it: the body is a failure with `code`, `message`, `suggestion`, `retriable`. */
export interface ParcelAnswer {
  readonly status: number;
  readonly body: Json;
}

export interface RowAnswer extends ParcelAnswer {
  /** Number of the parcel in its shipment, from 0. */
  readonly n: number;
  /** Another try may help: the parcel waits again. This is its answer if it was sent as often as a parcel may be. */
  readonly again: boolean;
}

export type Rest =
  /** They have this answer. */
  | { readonly kind: "answered"; readonly answer: ParcelAnswer }
  /** They were not run, and wait again. `otherwise` is the answer of those that were sent as often as a parcel may be. */
  | { readonly kind: "again"; readonly otherwise: ParcelAnswer }
  /** The batch was refused before anything ran: they wait again, after so many ms, in shipments of at most so many. */
  | { readonly kind: "refused"; readonly afterMs: number; readonly most: number | null };

/** Parcels of one account and model that wait. */
export interface Group extends Pick<Shipment, "account" | "model" | "parcels"> {
  /** Bytes of their requests. */
  readonly bytes: number;
  /** ms since the oldest and since the newest was kept. */
  readonly oldestMs: number;
  readonly newestMs: number;
  /**
   * More may come before an answer does: all parcels are of runs, and of these runs some open one has a job that waits or runs and
   * has no open parcel.
   */
  readonly grows: boolean;
}

export interface Shipment extends Pick<NewParcel, "account" | "model"> {
  /** A ULID. */
  readonly id: string;
  readonly parcels: number;
  /** Its parcels that are open, without those that are given up. */
  readonly wanted: number;
  /** `closed`: it has its parcels. `out`: the provider has it. `doubt`: nobody can tell whether the provider has it. */
  readonly state: "closed" | "out" | "doubt";
  /** ms since it got them. */
  readonly closedMs: number;
  /** The provider's name of the uploaded requests; null: there are none. */
  readonly file: string | null;
  /** When its create was sent; null: it was not. */
  readonly asked_at: number | null;
  readonly askedMs: number | null;
  /** The provider's name of the batch; null: not known. */
  readonly batch: string | null;
  /** ms since the answer to the create was kept, or the batch was found; null: neither was. */
  readonly madeMs: number | null;
  /** ms until it is to be looked at; 0: now. */
  readonly lookMs: number;
  /** The provider was asked to cancel it. */
  readonly cancelled: boolean;
  /** Made with the account's key over the names that the provider gave; null: it has given none. */
  readonly proof: string | null;
}

/** The fields that are there replace those of the shipment. */
export interface ShipmentChange extends Partial<Pick<Shipment, "state" | "file" | "lookMs" | "proof">> {
  /** Now, or not at all. */
  readonly asked?: boolean;
  /** The provider's name of the batch: the shipment is made now. */
  readonly batch?: string;
  /** Rows that the provider says are done. */
  readonly done?: number;
  readonly cancelled?: true;
}

export interface ParcelRequest extends Pick<NewParcel, "session" | "call" | "k" | "root" | "run" | "model"> {
  readonly n: number;
  readonly proof: string | null;
  /** JSON. */
  readonly body: string;
}

/** Open parcels of a run or session that are in one shipment, or in none yet. */
export interface Waits extends Pick<Shipment, "account" | "model" | "batch"> {
  readonly state: "waiting" | Shipment["state"];
  readonly calls: number;
  /** Rows that the provider said are done, of the whole shipment. */
  readonly done: number;
  /** When the shipment was made, or its oldest parcel was kept. */
  readonly since: number;
  /** ms that the last shipments of the account took, nine at the most. */
  readonly earlier: readonly number[];
}
