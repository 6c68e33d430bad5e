import type { ModelAnswer, SubCallCode, SubCallError, Usage } from "./port.ts";
import { isRecord, parseJson } from "./records.ts";
import { redact } from "./redact.ts";
import type { SeenResponse } from "./response-watch.ts";

type FailedAnswer = Extract<ModelAnswer, { ok: false }>;

export const NO_USAGE: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };

/** Characters of a provider's message that are kept: a gateway may answer with a whole page. */
const MESSAGE_CHARS = 500;

/** The cure for each failure of a request, and whether the same request may succeed later. */
const FAILURES = {
  timeout: { retriable: true, suggestion: "Pass a larger timeout_ms, or ask for less in one call." },
  cancelled: { retriable: false, suggestion: "Make the call again." },
  rate_limited: { retriable: true, suggestion: "Wait, or lower the concurrency." },
  auth_failed: { retriable: false, suggestion: "Check the provider's API key and what it may use." },
  auth_expired: { retriable: false, suggestion: "Run pi and /login." },
  no_model_configured: { retriable: false, suggestion: "Pass --model PROVIDER/ID." },
  content_filtered: { retriable: false, suggestion: "Rephrase the prompt, or name another model." },
  empty_answer: { retriable: true, suggestion: "Ask again, or raise max_tokens if the model thinks first." },
  provider_error: { retriable: true, suggestion: "Call again later; if it stays, check the provider's status." },
} satisfies Partial<Record<SubCallCode, Pick<SubCallError, "retriable" | "suggestion">>>;

export interface FailureOptions {
  readonly suggestion?: string;
  readonly retriable?: boolean;
}

/** A failure by its code, with the cure that belongs to it. */
export function failure(code: keyof typeof FAILURES, message: string, options: FailureOptions = {}): SubCallError {
  return { code, message, ...FAILURES[code], ...options };
}

/** An answer that failed before anything was sent: it costs nothing, and that is certain. */
export function unsent(error: SubCallError): FailedAnswer {
  return { ok: false, usage: NO_USAGE, charged: true, error };
}

export interface FailedModel {
  /** `provider/id` */
  readonly id: string;
  /** pi-ai's name of the protocol. */
  readonly api: string;
  /** Where requests go, without a path. */
  readonly host: string;
}

/**
 * Tells why a provider gave no answer, by the HTTP status where there was one, else by the words of the provider's SDK.
 *
 * @param said what pi-ai gave as the error message
 */
export function failureOf(
  model: FailedModel,
  said: string,
  seen: SeenResponse,
  secrets: readonly string[],
): { error: SubCallError; retryAfterMs?: number } {
  const status = statusOf(said, seen);
  const retryAfterMs = seen.retryAfterMs ?? waitIn(said);
  const code = codeOf(model.api, said, status);
  const reason = seen.networkError === null ? "" : ` (${seen.networkError}, ${model.host})`;
  const message = `${model.id}: ${redact(readable(said), secrets).slice(0, MESSAGE_CHARS)}${reason}`;
  const error = failure(code, message, optionsOf(code, said, status, retryAfterMs, model.host));
  return retryAfterMs === null ? { error } : { error, retryAfterMs };
}

function codeOf(api: string, said: string, status: number | null): keyof typeof FAILURES {
  if (status === 429 || (status === null && RATE_LIMITED.test(said))) return "rate_limited";
  if (FILTERED.test(said) || (said === UNNAMED && REFUSAL_IS_UNNAMED.test(api))) return "content_filtered";
  if (status === 401 || status === 403 || (status === null && NO_KEY.test(said))) return "auth_failed";
  return "provider_error";
}

/** Finish reasons and error codes of content filters. */
const FILTERED = /content[_ ](?:filter|management policy|policy)|responsible ?ai|\bsafety\b|\bflagged\b/i;
/** All that pi-ai says of a stop reason such as `refusal` or `SAFETY` in these protocols. */
const UNNAMED = "An unknown error occurred";
const REFUSAL_IS_UNNAMED = /^(?:anthropic|google|bedrock)/;
const RATE_LIMITED = /rate.?limit|too many requests|throttl|resource_exhausted/i;
const NO_KEY = /no api key|api key is required|invalid.{0,9}api.?key|authentication_error/i;
const NO_CREDIT = /insufficient_quota|billing|credit balance/i;

function optionsOf(
  code: keyof typeof FAILURES,
  said: string,
  status: number | null,
  retryAfterMs: number | null,
  host: string,
): FailureOptions {
  if (code === "rate_limited" && retryAfterMs === null && NO_CREDIT.test(said)) {
    return { retriable: false, suggestion: "Check the plan and credit at the provider." };
  }
  if (code !== "provider_error") return {};
  if (status === null) return { suggestion: `Check that ${host} can be reached, then call again.` };
  if (status === 404) return { retriable: false, suggestion: `Check the model's name and the base URL (${host}).` };
  if (status >= 400 && status < 500 && status !== 408 && status !== 409 && status !== 425) {
    return { retriable: false, suggestion: "Change the request: the provider does not accept it." };
  }
  return {};
}

/** pi-ai's messages begin with the status; a status of success says nothing about a body that broke off. */
function statusOf(said: string, seen: SeenResponse): number | null {
  const status = seen.status ?? Number(/^(\d{3})\b/.exec(said)?.[1] ?? 0);
  return status >= 400 ? status : statusInBody(said);
}

/** The code of an error that came as JSON inside a stream that began with 200. */
function statusInBody(said: string): number | null {
  const status = Number(/"code"\s*:\s*"?([45]\d\d)\b/.exec(said)?.[1] ?? 0);
  return status >= 400 ? status : null;
}

/** Some providers tell the wait in words only: `try again in 1.5s`. */
function waitIn(said: string): number | null {
  const found = /(?:try again|retry) in (?:(\d+)m)?(\d+(?:\.\d+)?)(ms|s)\b/i.exec(said);
  if (!found) return null;
  const [, minutes = "0", value = "0", unit] = found;
  return Number(minutes) * 60_000 + Number(value) * (unit === "ms" ? 1 : 1000);
}

/** The `message` inside of a JSON error, after the status that stands before it. */
function readable(said: string): string {
  const at = said.indexOf("{");
  const body = at < 0 ? undefined : parseJson(said.slice(at));
  if (!isRecord(body)) return said;
  const inner = isRecord(body["error"]) ? body["error"] : body;
  const { message } = inner;
  return typeof message === "string" ? `${said.slice(0, at)}${message}` : said;
}
