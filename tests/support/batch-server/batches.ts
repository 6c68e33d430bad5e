import { setTimeout } from "node:timers/promises";
import type { BatchApi } from "../../../src/provider-batches/providers/index.ts";
import { type Asked, failureOf, promptOf, type ScriptedRow, written } from "./answers.ts";

/** How a batch fares. Without any field: all its rows run at once, and it is in the list. */
export interface Fate {
  /** ms before its rows run; a promise: they wait for it. */
  readonly wait?: number | Promise<unknown>;
  /** It expires when so many rows have run. */
  readonly expireAfter?: number;
  /** No row runs: there are too many tokens, its input file is gone, or its form is wrong. */
  readonly refuse?: "tokens" | "file" | "other";
  /** ms for which lists leave it out. */
  readonly hiddenMs?: number;
  /** Its results are not kept: 404. */
  readonly forgotten?: boolean;
}

/** A batch when it is made. */
export interface MadeBatch {
  /** From 0, over all keys. */
  readonly index: number;
  readonly id: string;
  readonly api: BatchApi;
  readonly key: string;
  /** `belay_shipment`, the display name without `belay-`, or the beginning of the ids of its rows. */
  readonly shipment: string;
  readonly rows: readonly Row[];
}

export interface Row {
  readonly custom_id: string;
  readonly body: unknown;
}

export interface Batch extends MadeBatch {
  readonly model: string;
  readonly file: string;
  /** Address of the server. */
  readonly server: string;
  readonly created: number;
  readonly metadata: unknown;
  readonly fate: Fate;
  readonly results: Result[];
  state: "open" | "over" | "expired" | "cancelled" | "refused";
  cancelled: boolean;
}

/** @property status null: the row was not run */
type Result = { readonly custom_id: string; readonly status: number | null; readonly body: object };

/** A row or a live request that was run. */
export interface Ran extends Asked {
  readonly key: string;
  /** null: it was live. */
  readonly batch: string | null;
  readonly status: number;
}

/** All that belongs to a key. */
export interface World {
  readonly key: string;
  readonly files: Map<string, string>;
  readonly batches: Map<string, Batch>;
}

export type Answer = (asked: Asked) => ScriptedRow | Promise<ScriptedRow>;

/** Runs a request, and notes that. A row that asks for a stream is refused, as providers do. */
export async function ran(asked: Asked, answer: Answer, by: Pick<Ran, "key" | "batch">, all: Ran[]) {
  const streams = by.batch !== null && STREAMED.test(JSON.stringify(asked.body));
  const said = streams ? { status: 400, message: "rows of a batch have no stream" } : await answer(asked);
  const result = written(asked, said);
  all.push({ ...asked, ...by, status: result.status });
  return result;
}

/** What only streams have, in JSON: texts have other quotes. */
const STREAMED = /"(?:stream":true|stream_options":|eager_input_streaming":)/;

/** Runs the rows of a batch, the last one first. */
export async function runBatch(batch: Batch, answer: Answer, all: Ran[], closed: AbortSignal): Promise<void> {
  const { wait = 0, expireAfter = Number.POSITIVE_INFINITY, refuse } = batch.fate;
  if (wait !== 0) await (typeof wait === "number" ? setTimeout(wait, undefined, { signal: closed }) : wait);
  if (refuse) {
    batch.state = "refused";
    return;
  }
  const { api, model, key, id } = batch;
  for (const { custom_id, body } of batch.rows.toReversed()) {
    if (closed.aborted) return;
    if (batch.cancelled || batch.results.length >= expireAfter) {
      batch.results.push({ custom_id, status: null, body: {} });
      continue;
    }
    const asked = { api, model, body, custom_id, prompt: promptOf(body) };
    const { status, body: answered } = await ran(asked, answer, { key, batch: id }, all);
    batch.results.push({ custom_id, status, body: answered });
  }
  const isWhole = batch.results.every(({ status }) => status !== null);
  batch.state = isWhole ? "over" : batch.cancelled ? "cancelled" : "expired";
}

const REFUSED = {
  tokens: ["token_limit_exceeded", "Enqueued token limit reached for m. Limit: 10 enqueued tokens.", 8],
  file: ["file_not_found", "No such file: the input file may not exist", 5],
  other: ["invalid_json_line", "This line is not parseable as valid JSON.", 3],
} as const;

const seconds = (ms: number) => Math.floor(ms / 1000);
const iso = (ms: number) => new Date(ms).toISOString();
const done = ({ results }: Batch, failed: boolean) =>
  results.filter(({ status }) => status !== null && status >= 400 === failed).length;

/** A batch as its provider shows it. */
export function shown(batch: Batch): object {
  if (batch.api === "anthropic-messages") return shownMessageBatch(batch);
  return batch.api === "google-generative-ai" ? shownOperation(batch) : shownOpenAi(batch);
}

function shownOpenAi(batch: Batch): object {
  const { id, state, created, file, metadata, fate, rows, api } = batch;
  const isOver = state !== "open" && state !== "refused";
  const has = (failed: boolean) => isOver && fileOf(batch, failed) !== "";
  const [code, message] = REFUSED[fate.refuse ?? "other"];
  return {
    ...{ id, object: "batch", input_file_id: file, completion_window: "24h", metadata, created_at: seconds(created) },
    endpoint: api === "openai-responses" ? "/v1/responses" : "/v1/chat/completions",
    status: { open: "in_progress", over: "completed", refused: "failed", expired: state, cancelled: state }[state],
    errors: state === "refused" ? { object: "list", data: [{ code, message, line: null, param: null }] } : null,
    output_file_id: has(false) ? `${id}-output` : null,
    error_file_id: has(true) ? `${id}-errors` : null,
    request_counts: { total: rows.length, completed: done(batch, false), failed: done(batch, true) },
  };
}

function shownMessageBatch(batch: Batch): object {
  const { id, state, created, rows, cancelled, results } = batch;
  const isOver = state !== "open";
  const left = results.filter(({ status }) => status === null).length;
  const open = { processing: rows.length, succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  const over = { processing: 0, succeeded: done(batch, false), errored: done(batch, true) };
  const ended = { canceled: cancelled ? left : 0, expired: cancelled ? 0 : left };
  return {
    ...{ id, type: "message_batch", created_at: iso(created), expires_at: iso(created + 86_400_000) },
    processing_status: isOver ? "ended" : cancelled ? "canceling" : "in_progress",
    request_counts: isOver ? { ...over, ...ended } : open,
    ...{ ended_at: isOver ? iso(Date.now()) : null, archived_at: null, cancel_initiated_at: null },
    results_url: isOver ? `${batch.server}/v1/messages/batches/${id}/results` : null,
  };
}

function shownOperation(batch: Batch): object {
  const { id, state, created, rows, shipment, fate, model } = batch;
  const isOver = state !== "open";
  const output = state === "over" || (isOver && state !== "refused" && batch.results.some(({ status }) => status));
  const file = output ? { responsesFile: `files/${id.replace("batches/", "")}-output` } : {};
  const [, message, code] = REFUSED[fate.refuse ?? "other"];
  const name = { open: "RUNNING", over: "SUCCEEDED", refused: "FAILED", expired: "EXPIRED", cancelled: "CANCELLED" };
  const successfulRequestCount = done(batch, false);
  const stats = successfulRequestCount === 0 ? {} : { successfulRequestCount: `${successfulRequestCount}` };
  return {
    name: id,
    metadata: {
      ...{ displayName: `belay-${shipment}`, state: `BATCH_STATE_${name[state]}`, createTime: iso(created) },
      ...{ model: `models/${model}`, batchStats: { requestCount: `${rows.length}`, ...stats }, output: file },
    },
    ...(isOver ? { done: true } : {}),
    ...(state === "refused" ? { error: { code, message } } : isOver ? { response: file } : {}),
  };
}

/** The results of a batch as lines. @param failed of OpenAI, where those that failed have a file of their own */
export function fileOf(batch: Batch, failed: boolean): string {
  const isOpenAi = batch.api.startsWith("openai");
  // Gemini says nothing of rows that expired.
  const all = batch.results.filter(
    ({ status }) => status !== null || batch.cancelled || batch.api !== "google-generative-ai",
  );
  const ours = all.filter(({ status }) => !isOpenAi || (status === null || status >= 400) === failed);
  return ours.map((result) => `${JSON.stringify(lineOf(batch, result))}\n`).join("");
}

function lineOf({ api, cancelled }: Batch, { custom_id, status, body }: Result): object {
  if (api === "anthropic-messages") {
    if (status === null) return { custom_id, result: { type: cancelled ? "canceled" : "expired" } };
    return {
      custom_id,
      result: status < 400 ? { type: "succeeded", message: body } : { type: "errored", error: body },
    };
  }
  if (api === "google-generative-ai") {
    if (status === null) return { key: custom_id, error: { code: 1, message: "not run" } };
    return { key: custom_id, ...(status < 400 ? { response: body } : failureOf(api, status, "scripted", true)) };
  }
  const code = cancelled ? "batch_cancelled" : "batch_expired";
  if (status === null) return { id: "r", custom_id, response: null, error: { code, message: "not run" } };
  return { id: "r", custom_id, response: { status_code: status, request_id: "q", body }, error: null };
}
