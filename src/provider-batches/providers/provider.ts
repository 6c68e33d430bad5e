import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import type { BatchAccount } from "../../models/port.ts";
import type { ProviderBatch } from "../../store/index.ts";

/**
 * The particulars of one provider's batches, and of servers with its APIs. A provider is a file
 * that declares this, and its line in `index.ts`.
 */
export interface BatchProvider<Api extends string = string> {
  /** APIs of the requests that its batches take. */
  readonly apis: readonly Api[];
  /**
   * True if there are no batches at an address, although it has one of the APIs.
   *
   * @param names of the provider and of the host
   */
  refusal(names: string): boolean;
  /** Factor of the price of a request by batch at this host; 1 if it is not known to be lower. */
  price(host: string): number;
  /** The header that has the key. */
  readonly keyHeader: "authorization" | "x-api-key" | "x-goog-api-key";
  /** Other headers of its requests. */
  headers?(model: BatchedModel): readonly (readonly [name: string, value: string])[];
  /**
   * The whole answer to a request, such as the body of a row, as the server-sent events of a
   * streamed one.
   *
   * @throws Error for an answer of another form
   */
  events(answer: unknown, api: Api): string;
  /**
   * The client of an account's batches.
   *
   * @param stop cuts off requests, except those that make or take away something
   */
  open(account: BatchAccount, stop?: AbortSignal): BatchClient;
}

/** The part of a model that headers of its batches depend on. */
export interface BatchedModel {
  readonly reasoning: boolean;
  /** Particulars of its API. */
  readonly compat?: unknown;
}

/**
 * The client of one provider's batches, for one account. Each method sends one request, or as many
 * as pages have, and none of them again: a create that an SDK sends twice is paid twice.
 *
 * @throws ProviderError for an answer with a status of 400 and more, and for no answer
 */
export interface BatchClient {
  /**
   * Uploads the requests, and returns the provider's name of the file. Absent: they go with the
   * create. Nothing is paid for yet.
   */
  upload?(id: string, rows: AsyncIterable<readonly RowRequest[]>): Promise<string>;
  /** Creates the batch, and returns the provider's name of it. */
  create(batch: NewBatch): Promise<string>;
  /** Looks for a batch whose create may have been carried out. */
  find(lost: LostBatch): Promise<Found>;
  /**
   * Deletes the uploaded requests, so that a create that is still on its way fails. Absent: the
   * provider has no such means.
   */
  fence?(file: string): Promise<void>;
  look(batch: string): Promise<Look>;
  /**
   * The rows of a batch that has ended, in pieces and in any order; null: the provider does not
   * keep them any more.
   */
  results(batch: string): Promise<AsyncIterable<readonly ResultRow[]> | null>;
  cancel(batch: string): Promise<void>;
}

export interface RowRequest {
  /** `<id of the batch>-<n>`: the row with the result has it too. */
  readonly custom_id: string;
  /** JSON. */
  readonly body: string;
}

interface NewBatch {
  readonly id: string;
  /** null if the client uploads none. */
  readonly file: string | null;
  /** Read only if the client uploads none. */
  readonly rows: AsyncIterable<readonly RowRequest[]>;
  /**
   * Keeps that the create is asked for. It is called right before the create is sent, which must
   * not happen if this is false.
   */
  asking(): Promise<boolean>;
}

export interface LostBatch extends Pick<ProviderBatch, "id" | "requests" | "file"> {
  /** When the create was sent, ms since the epoch. */
  readonly asked_at: number;
  /** The provider's names of batches that are others. */
  readonly known: ReadonlySet<string>;
}

type Found =
  | { readonly kind: "found"; readonly batch: string }
  /** A batch that continues could be it; it says so when it has ended. */
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
  /** HTTP status; null: no answer came, so it is unknown whether the request was carried out. */
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

/**
 * True for names and hosts of resellers, whose batches Belay does not know, and of subscriptions,
 * which pay for none.
 */
export const isReseller = (names: string): boolean => RESELLERS.test(names);

const RESELLERS = /azure|vertex|aiplatform|bedrock|mistral|openrouter|copilot|codex|chatgpt|cloudflare/;

const text = v.nullish(v.string());

/**
 * A part of an answer, as far as pi-ai and a stream need it. It is a server's text, and is handed
 * on as it is.
 */
export const AnswerPart = v.looseObject({
  type: text,
  text,
  thinking: text,
  signature: text,
  name: text,
  arguments: text,
});

/** An event of a stream. */
export const dataEvent = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;

/** An event of a stream that is named by its type. */
export const typedEvent = (event: { readonly type: string }): string => `event: ${event.type}\n${dataEvent(event)}`;
