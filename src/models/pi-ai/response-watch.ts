import { AsyncLocalStorage } from "node:async_hooks";
import { isRecord } from "../../platform/json.ts";
import { OutboundError } from "../../platform/outbound.ts";

/** Facts of the network about a request. */
export interface SeenResponse {
  /** HTTP status of the last response, or null before one. */
  status: number | null;
  /** Time that the server asks to wait, ms. */
  retryAfterMs: number | null;
  /** `ECONNREFUSED` and the like: why there was no response, or no whole one. */
  networkError: string | null;
  /** The words with which the model refused, or why the prompt was blocked. */
  refusal?: string;
  /**
   * The answer's end, as its stream told it: `cut` is by the limit of tokens. Absent if pi-ai looks
   * itself.
   */
  end?: "missing" | "told" | "cut";
  /** Bytes of the reply are not UTF-8. They are read as U+FFFD. */
  isReplaced?: true;
  /** More answers than the one that was asked for came: all but the first are left out. */
  hasOthers?: true;
  /** Words came behind the end that the answer had told. */
  hasMore?: true;
  /** The reply that came in place of an answer, as a clause. */
  odd?: string;
  /** Why the surroundings let no request through, or where a redirect would have led. */
  outbound?: OutboundError;
}

/**
 * Notes the response to a request. Provider SDKs drop the headers of a refused one, and with them
 * Retry-After.
 */
export async function noted(seen: SeenResponse, answer: Promise<Response>): Promise<Response> {
  try {
    const response = await answer;
    seen.status = response.status;
    seen.retryAfterMs = readRetryAfter(response.headers);
    return response;
  } catch (error) {
    noteFailure(seen, error);
    throw error;
  }
}

/** Notes why `fetch` got no response, or why its body broke off. */
export function noteFailure(seen: SeenResponse, error: unknown): void {
  if (error instanceof OutboundError) seen.outbound = error;
  const cause = error instanceof Error ? error.cause : undefined;
  if (isRecord(cause) && typeof cause.code === "string") seen.networkError = cause.code;
}

/**
 * Retry-After in ms: seconds, or a date, which is compared with the response's own Date header (the
 * clocks of two machines differ). `retry-after-ms` is what OpenAI and Azure send beside it.
 */
function readRetryAfter(headers: Headers): number | null {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms >= 0) return ms;
  const after = headers.get("retry-after") ?? "";
  if (/^\s*\d+(\.\d+)?\s*$/.test(after)) return Number(after) * 1000;
  const wait = Date.parse(after) - (Date.parse(headers.get("date") ?? "") || Date.now());
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}

type Fetch = typeof globalThis.fetch;

/** Answers the requests of one call. @param plain the `fetch` of the process */
export type Fetching = (plain: Fetch, ...request: Parameters<Fetch>) => Promise<Response>;

const calls = new AsyncLocalStorage<Fetching | null>();
let isReplaced = false;

/**
 * Runs `send`. The requests that it makes with `fetch` go to `fetching`; null: to the `fetch` of
 * the process.
 */
export function fetchingBy<T>(fetching: Fetching | null, send: () => T): T {
  replaceFetch();
  return calls.run(fetching, send);
}

/**
 * Google's SDK takes no `fetch` but the global one. Requests of others go to the one that was
 * there.
 */
function replaceFetch(): void {
  if (isReplaced) return;
  isReplaced = true;
  const plain = globalThis.fetch;
  globalThis.fetch = (...request) => {
    const fetching = calls.getStore();
    return fetching ? fetching(plain, ...request) : plain(...request);
  };
}
