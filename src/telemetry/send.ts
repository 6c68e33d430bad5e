import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { errorCode } from "../platform/errors.ts";
import type { SpanLine } from "./lines.ts";
import { HEADERS } from "./names.ts";

/** The collector that spans are sent to. */
export interface Collector {
  /** Its address, without `/v1/traces`. */
  readonly url: string;
  /** The variables of the process: `OTEL_EXPORTER_OTLP_HEADERS`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The outcome of sending. A request that fails ends it. */
export interface Sent {
  readonly spans: number;
  readonly requests: number;
  /** Why the rest was not sent: a status of HTTP, or a code. It quotes nothing of the collector. null: all was sent. */
  readonly problem: string | null;
}

/** Sends each line as a request. @param whole ends all of it; null: each request has 30 s */
export async function sendLines(lines: Iterable<SpanLine>, to: Collector, whole: AbortSignal | null): Promise<Sent> {
  const headers = headersIn(to.env[HEADERS] ?? "");
  if (!headers) return { spans: 0, requests: 0, problem: HEADERS };
  let sent = { spans: 0, requests: 0 };
  for (const { text, spans } of lines) {
    const problem = await post(tracesOf(to.url), headers, text, () => whole ?? AbortSignal.timeout(REQUEST_MS));
    if (problem !== null) return { ...sent, problem };
    sent = { spans: sent.spans + spans, requests: sent.requests + 1 };
  }
  return { ...sent, problem: null };
}

const REQUEST_MS = 30_000;
const TRIES = 3;
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

async function post(url: URL, headers: Headers, text: string, time: () => AbortSignal): Promise<string | null> {
  const body = await promisify(gzip)(text);
  let last: string | null = null;
  for (let tries = 1; ; tries++) {
    const signal = time();
    try {
      // Headers with a key go to no other address.
      const answer = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
      await answer.body?.cancel();
      if (answer.ok) return null;
      last = String(answer.status);
      if (tries === TRIES || !AGAIN.has(answer.status)) return last;
      await setTimeout(waitMs(answer.headers.get("retry-after"), tries), undefined, { signal });
    } catch (error) {
      return signal.aborted ? (last ?? "no answer in time") : errorCode(Object(error).cause);
    }
  }
}

/** Seconds or a date, as HTTP has it; shorter than a request may take. */
function waitMs(retryAfter: string | null, tries: number): number {
  const seconds = Number(retryAfter ?? Number.NaN);
  const asked = Number.isNaN(seconds) ? Date.parse(retryAfter ?? "") - Date.now() : seconds * 1000;
  return Number.isNaN(asked) ? 250 * tries : Math.min(Math.max(0, asked), REQUEST_MS / 3);
}

function tracesOf(url: string): URL {
  const traces = new URL(url);
  const path = traces.pathname.replace(/\/+$/, "");
  traces.pathname = path.endsWith("/v1/traces") ? path : `${path}/v1/traces`;
  return traces;
}

/** The headers of `NAME=VALUE,NAME=VALUE`, whose values are encoded as in a URL; null if they are not. */
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
