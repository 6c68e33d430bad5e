import { createHash } from "node:crypto";
import type { BatchAnswer, BatchRequest, NewBatchRequest, ProviderBatch, RequestToSend } from "../batch-store.ts";
import { corrupt } from "../failure.ts";
import { jsonIn } from "./forms.ts";
import { BODY_BOUNDS, unpackText } from "./pack.ts";
import {
  anyColumn,
  bytesColumn,
  columnsOf,
  instantColumn,
  instantColumnOrNull,
  isSealed,
  numberColumn,
  type Row,
  seal,
  textColumn,
  textColumnOrNull,
  wordColumn,
} from "./row.ts";

// Rows of requests that go by batches, and of these batches. Both databases have the same columns.

/** Columns that the seal of a request is over: those that stay, and the sum of its body. */
const KEPT = ["session", "call", "k", "root", "run", "account", "model", "body_sum", "proof"];

/** All of a request but its body and its answer. */
export const REQUEST_COLUMNS = [...KEPT, "state", "n", "tries", "status", "sha256"].join(", ");

/** The checksums of a request that nobody has answered. */
export function sealsOfRequest({ session, call, k, root, run, account, model, proof }: NewBatchRequest, body: string) {
  const sum = seal([body]);
  return { sum, sha256: seal([session, call, k, root, run, account, model, sum, proof]) };
}

/**
 * The seal of a request with its answer. A row that is damaged keeps its seal, and stays known as
 * damaged.
 */
export function sealOfAnswered(row: Row, status: number, answer: string): Uint8Array {
  const kept = KEPT.map((column) => anyColumn(row, column));
  return isSealed(row, kept) ? seal([...kept, status, answer]) : bytesColumn(row, "sha256");
}

/** A request that is shown, with columns of its batch. @throws RlmError `store_corrupt` */
export function decodeRequest(row: Row): BatchRequest {
  return {
    ...columnsOf(row, ASKED),
    account: textColumn(row, "account"),
    at: instantColumn(row, "at"),
    sent_at: instantColumnOrNull(row, "made_at"),
    batch: textColumnOrNull(row, "batch"),
    state: STATES.find((one) => one === row.state) ?? damaged(row),
    answer: answerOf(row),
  };
}

/** For whom a request is, and whom it asks. */
const ASKED = {
  session: textColumn,
  call: textColumn,
  k: numberColumn,
  root: textColumn,
  run: textColumnOrNull,
  model: textColumn,
};

const STATES = ["waiting", "out", "answered"] as const;

/** null: it has none. @throws RlmError `store_corrupt` if the request is damaged */
export function answerOf(row: Row): BatchAnswer | null {
  const kept = KEPT.map((column) => anyColumn(row, column));
  if (row.state !== "answered") return isSealed(row, kept) ? null : damaged(row);
  const status = numberColumn(row, "status");
  const answer = jsonIn(row, "answer");
  if (!answer || !isSealed(row, [...kept, status, answer.text])) return damaged(row);
  return { status, body: answer.value };
}

/** @throws RlmError `store_corrupt` if the request or its body is damaged */
export function requestOf(row: Row): RequestToSend {
  const body = unpackText(row, "body", BODY_BOUNDS);
  const sum = anyColumn(row, "body_sum");
  if (body === null || !(sum instanceof Uint8Array) || !seal([body]).equals(sum)) return damaged(row);
  answerOf(row);
  return { ...columnsOf(row, { ...ASKED, n: numberColumn, proof: textColumnOrNull }), body };
}

function damaged({ session, call, k }: Row): never {
  throw corrupt(`request ${k} of call ${call} of session ${session} is damaged`);
}

/** A row of a batch. `cancelled` is 0 or 1. */
export interface BatchRow {
  readonly id: string;
  readonly account: string;
  readonly model: string;
  /** The number of its requests. */
  readonly requests: number;
  readonly state: ProviderBatch["state"] | "over";
  /** Instants, ms since the epoch; null: not yet. */
  readonly closed_at: number;
  readonly asked_at: number | null;
  readonly made_at: number | null;
  readonly over_at: number | null;
  readonly look_at: number;
  readonly file: string | null;
  readonly batch: string | null;
  readonly done: number;
  readonly cancelled: number;
  readonly proof: string | null;
}

/** Columns of a batch under its seal. The others change with each look. */
const SEALED = [
  ...(["id", "account", "model", "requests", "state", "closed_at", "file", "asked_at", "batch"] as const),
  ...(["made_at", "cancelled", "over_at", "proof"] as const),
];
export const BATCH_COLUMNS = [...SEALED, "look_at", "done"] as const;

export function sealOfBatch(batch: BatchRow): Buffer {
  return seal(SEALED.map((column) => batch[column]));
}

/** @throws RlmError `store_corrupt` */
export function decodeBatch(row: Row): BatchRow {
  const sealed = SEALED.map((column) => anyColumn(row, column));
  if (!isSealed(row, sealed)) throw corrupt(`the row of batch ${row.id} is damaged`);
  return columnsOf(row, BATCH);
}

const BATCH = {
  id: textColumn,
  account: textColumn,
  model: textColumn,
  requests: numberColumn,
  closed_at: instantColumn,
  file: textColumnOrNull,
  batch: textColumnOrNull,
  asked_at: instantColumnOrNull,
  made_at: instantColumnOrNull,
  over_at: instantColumnOrNull,
  look_at: instantColumn,
  done: numberColumn,
  cancelled: numberColumn,
  proof: textColumnOrNull,
  state: wordColumn("a batch", ["closed", "out", "doubt", "over"]),
};

/**
 * The lease of an account has an id as those of sessions have, and no session has this one: theirs
 * are ULIDs.
 */
export function leaseOfAccount(account: string): string {
  return `account-${createHash("sha256").update(account).digest("hex").slice(0, 40)}`;
}
