import type { Json } from "../../runtime/index.ts";
import type { ProviderBatch } from "../store/index.ts";

/**
 * The client of one provider's batches, for one account. Each method sends one request, or as many as pages have, and none of them
 * again: a create that an SDK sends twice is paid twice.
 *
 * @throws ProviderError for an answer with a status of 400 and more, and for no answer
 */
export interface BatchClient {
  /** Uploads the requests; answers the provider's name of the file. Absent: they go with the create. Nothing is paid for yet. */
  upload?(id: string, rows: AsyncIterable<readonly RowRequest[]>): Promise<string>;
  /** Makes the batch; answers the provider's name of it. */
  create(batch: NewBatch): Promise<string>;
  /** Looks for a batch whose create may have been carried out. */
  find(lost: LostBatch): Promise<Found>;
  /** Takes the uploaded requests away, so that a create that is still on its way fails. Absent: the provider has no such means. */
  fence?(file: string): Promise<void>;
  look(batch: string): Promise<Look>;
  /** The rows of a batch that is over, in pieces and in any order; null: the provider does not keep them any more. */
  results(batch: string): Promise<AsyncIterable<readonly ResultRow[]> | null>;
  cancel(batch: string): Promise<void>;
}

export interface RowRequest {
  /** `<id of the batch>-<n>`: a row of the batch has it too. */
  readonly custom_id: string;
  /** JSON. */
  readonly body: string;
}

export interface NewBatch {
  readonly id: string;
  /** null if the client uploads none. */
  readonly file: string | null;
  /** Read only if the client uploads none. */
  readonly rows: AsyncIterable<readonly RowRequest[]>;
  /** Keeps that the create is asked for: it is called right before that is sent. false: it must not be sent any more. */
  asking(): Promise<boolean>;
}

export interface LostBatch extends Pick<ProviderBatch, "requests" | "file"> {
  readonly id: string;
  /** When the create was sent, ms since the epoch. */
  readonly asked_at: number;
  /** The provider's names of batches that are others. */
  readonly known: ReadonlySet<string>;
}

export type Found =
  | { readonly kind: "found"; readonly batch: string }
  /** A batch that goes on could be it; it says so when it is over. */
  | { readonly kind: "maybe" }
  | { readonly kind: "none" };

export type Look =
  /** @property done rows that are done; null: the provider does not say */
  | { readonly state: "out"; readonly done: number | null }
  | { readonly state: "over" }
  /** The provider refused the batch: no row was run. */
  | { readonly state: "refused"; readonly message: string; readonly why: "tokens" | "file" | "other" };

export interface ResultRow {
  readonly custom_id: string;
  /** null: the row was not run, because the batch expired or was cancelled. It is not paid for. */
  readonly answer: { readonly status: number; readonly body: Json } | null;
}

/** The provider refused a request of the client, or did not answer. */
export class ProviderError extends Error {
  /** HTTP status; null: no answer came, so nobody knows whether the request was carried out. */
  readonly status: number | null;
  constructor(message: string, status: number | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
  }
}

/** null for a thing that the provider does not have. */
export function nullIfGone(error: unknown): null {
  if (error instanceof ProviderError && error.status === 404) return null;
  throw error;
}
