import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { boundedJson } from "../../platform/bounded-json.ts";
import { errorCode } from "../../platform/errors.ts";
import { fetchOut, OutboundError } from "../../platform/outbound.ts";
import type { SpanLine } from "./otlp.ts";

/** The variable that has the headers of requests, with keys. */
const HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";

/** The collector that spans are sent to. */
export interface Collector {
  /** Its address, without `/v1/traces`. */
  readonly url: string;
  /** The variables of the process: `OTEL_EXPORTER_OTLP_HEADERS`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The outcome of a sending. */
export interface Sent {
  readonly spans: number;
  readonly requests: number;
  /** Spans among those sent that the collector did not take. */
  readonly rejected: number;
  /**
   * Why the rest was not sent: a status of HTTP, or a code. It quotes nothing of the
   * collector. null: all was sent.
   */
  readonly problem: string | null;
}

/**
 * Sends each line as a request. The first that fails is the last.
 *
 * @param whole ends all of it; null: each request has 30 s
 */
export async function sendLines(lines: Iterable<SpanLine>, to: Collector, whole: AbortSignal | null): Promise<Sent> {
  const headers = headersIn(to.env[HEADERS] ?? "");
  let sent = { spans: 0, requests: 0, rejected: 0 };
  if (!headers) return { ...sent, problem: HEADERS };
  for (const { text, spans } of lines) {
    const answer = await post(tracesOf(to.url), headers, text, () => whole ?? AbortSignal.timeout(REQUEST_MS));
    if (typeof answer === "string") return { ...sent, problem: answer };
    const rejected = sent.rejected + Math.min(answer, spans);
    sent = { spans: sent.spans + spans, requests: sent.requests + 1, rejected };
  }
  return { ...sent, problem: null };
}

const REQUEST_MS = 30_000;
const TRIES = 3;
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The number of rejected spans, or why the request failed. */
async function post(url: URL, headers: Headers, text: string, time: () => AbortSignal): Promise<number | string> {
  const body = await promisify(gzip)(text);
  let last = "no answer in time";
  for (let tries = 1; ; tries++) {
    const signal = time();
    try {
      const answer = await fetchOut(fetch, url, { method: "POST", headers, body, signal });
      if (answer.ok) return rejectedIn(answer);
      await answer.body?.cancel();
      last = String(answer.status);
      if (tries === TRIES || !AGAIN.has(answer.status)) return last;
      await setTimeout(waitMs(answer.headers.get("retry-after"), tries), undefined, { signal });
    } catch (error) {
      if (error instanceof OutboundError) return error.message;
      return signal.aborted ? last : errorCode(Object(error).cause);
    }
  }
}

const MOST_ANSWER_BYTES = 64 * 1024;

/** Reads `partialSuccess` of OTLP. An answer that cannot be read rejects nothing. */
async function rejectedIn(answer: Response): Promise<number> {
  const told = Object(await boundedJson(answer, MOST_ANSWER_BYTES).catch(() => null));
  const count = Number(told.partialSuccess?.rejectedSpans);
  return Number.isSafeInteger(count) ? Math.max(0, count) : 0;
}

/** Seconds or a date, as HTTP has it; shorter than a request may take. */
function waitMs(retryAfter: string | null, tries: number): number {
  const seconds = Number(retryAfter ?? Number.NaN);
  const asked = Number.isNaN(seconds) ? Date.parse(retryAfter ?? "") - Date.now() : seconds * 1000;
  return Number.isNaN(asked) ? 250 * tries : Math.min(Math.max(0, asked), REQUEST_MS / 3);
}

function tracesOf(url: string): URL {
  const traces = new URL(url);
  traces.pathname = traces.pathname.replace(/(?:\/v1\/traces)?\/*$/, "/v1/traces");
  return traces;
}

/**
 * The headers of `NAME=VALUE,NAME=VALUE`, whose values are encoded as in a URL; null if they are
 * not.
 */
function headersIn(text: string): Headers | null {
  const headers = new Headers();
  try {
    for (const pair of text.split(",").filter((pair) => pair.trim() !== "")) {
      const at = pair.indexOf("=");
      headers.set(pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim()));
    }
  } catch {
    return null;
  }
  headers.set("content-type", "application/json");
  headers.set("content-encoding", "gzip");
  return headers;
}
