import { hash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { boundedJson } from "../../platform/bounded-reads.ts";
import { errorCode } from "../../platform/errors.ts";
import { fetchOut, OutboundError } from "../../platform/outbound.ts";

// Spans are the JSON of OTLP: ids are hex, nanoseconds and whole numbers are text.

/** The ids by which a span is known. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
}

/** The trace of what a person asked for: an ask, or an exec without one. */
export const traceId = (session: string, exec_id: string) => idOf(32, "trace", session, exec_id);
export const spanId = (kind: "exec" | "call", session: string, id: string) => idOf(16, kind, session, id);

const idOf = (digits: number, ...parts: readonly string[]) => hash("sha256", parts.join("\0")).slice(0, digits);

/**
 * A value of an attribute. A text has its first 1,000 characters; an object is the value in OTLP.
 */
export type Value = string | number | boolean | object | null;

/**
 * Attributes without those that have no value: null, false, empty texts, and
 * numbers that JSON cannot hold.
 */
export function attributes(values: Readonly<Record<string, Value>>) {
  return Object.entries(values).flatMap(([key, value]) => {
    const encoded = value === false || value === "" ? null : inOtlp(value);
    return encoded ? [{ key, value: encoded }] : [];
  });
}

function inOtlp(value: Value): object | null {
  if (typeof value === "string") return { stringValue: value.slice(0, 1000).toWellFormed() };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value !== "number") return value;
  return Number.isSafeInteger(value) ? { intValue: String(value) } : fraction(value);
}

/** A number that is a fraction also where it is whole, such as dollars. */
export const fraction = (value: number) => (Number.isFinite(value) ? { doubleValue: value } : null);

/** A request of OTLP as a line of JSON. */
interface SpanLine {
  readonly text: string;
  /** Spans in it. */
  readonly spans: number;
}

/**
 * Requests of OTLP as lines of JSON, as few as there can be, of 4 MB at most each.
 * @param version of Belay
 */
export function* linesOf(spans: Iterable<object>, version: string): Generator<SpanLine> {
  const resource = { attributes: attributes({ "service.name": "belay", "service.version": version }) };
  const scope = JSON.stringify({ name: "belay", version });
  const before = `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${scope},"spans":[`;
  const lineOf = () => ({ text: `${before}${held.join(",")}]}]}]}`, spans: held.length });
  let held: string[] = [];
  let bytes = 0;
  for (const span of spans) {
    const text = JSON.stringify(span);
    const more = Buffer.byteLength(text) + 1;
    if (held.length > 0 && bytes + more > MOST_LINE_BYTES - before.length - 100) {
      yield lineOf();
      held = [];
      bytes = 0;
    }
    held.push(text);
    bytes += more;
  }
  if (held.length > 0) yield lineOf();
}

const MOST_LINE_BYTES = 4_000_000;
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
interface Sent {
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
