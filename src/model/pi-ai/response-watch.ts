import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import { isRecord } from "../../platform/json.ts";

/** Facts of the network about a request. */
export interface SeenResponse {
  /** HTTP status of the last response, or null before one. */
  status: number | null;
  /** Time that the server asks to wait, ms. */
  retryAfterMs: number | null;
  /** `ECONNREFUSED` and the like: why there was no response. */
  networkError: string | null;
}

const calls = new AsyncLocalStorage<SeenResponse>();
const byRequest = new WeakMap<object, SeenResponse>();
let subscribed = false;

/**
 * Runs `send` and notes the responses to the requests that it makes with `fetch`. Provider SDKs drop the headers of a
 * refused request, and with them Retry-After; Node's fetch tells of each request on diagnostics channels
 * (`undici:request:*`), without a patched global.
 */
export function watchResponses<T>(seen: SeenResponse, send: () => T): T {
  subscribeOnce();
  return calls.run(seen, send);
}

function subscribeOnce(): void {
  if (subscribed) return;
  subscribed = true;
  subscribe("undici:request:create", (event) => {
    const seen = calls.getStore();
    if (seen && isRecord(event) && isRecord(event.request)) byRequest.set(event.request, seen);
  });
  subscribe("undici:request:headers", (event) => {
    const seen = seenBy(event);
    if (!seen || !isRecord(event) || !isRecord(event.response)) return;
    const { statusCode, headers } = event.response;
    seen.status = typeof statusCode === "number" ? statusCode : null;
    seen.retryAfterMs = readRetryAfter(headersOf(headers));
  });
  subscribe("undici:request:error", (event) => {
    const seen = seenBy(event);
    if (!seen || !isRecord(event) || !isRecord(event.error)) return;
    const { code } = event.error;
    if (typeof code === "string") seen.networkError = code;
  });
}

function seenBy(event: unknown): SeenResponse | undefined {
  return isRecord(event) && isRecord(event.request) ? byRequest.get(event.request) : undefined;
}

/** Names and values take turns, as bytes. */
function headersOf(raw: unknown): Map<string, string> {
  const texts = Array.isArray(raw) ? raw.map((part) => String(part)) : [];
  const headers = new Map<string, string>();
  for (let at = 0; at + 1 < texts.length; at += 2) headers.set((texts[at] ?? "").toLowerCase(), texts[at + 1] ?? "");
  return headers;
}

/**
 * Retry-After in ms: seconds, or a date, which is compared with the response's own Date header (the clocks of two machines
 * differ). `retry-after-ms` is what OpenAI and Azure send beside it.
 */
function readRetryAfter(headers: ReadonlyMap<string, string>): number | null {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms >= 0) return ms;
  const after = headers.get("retry-after") ?? "";
  if (/^\s*\d+(\.\d+)?\s*$/.test(after)) return Number(after) * 1000;
  const wait = Date.parse(after) - Date.parse(headers.get("date") ?? "");
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}
