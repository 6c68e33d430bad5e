import { isContextOverflow } from "belay-pi-ai/utils/overflow";
import { remedy } from "../../../runtime/index.ts";
import { given, isRecord, parseJson } from "../../platform/json.ts";
import { UNCONNECTED } from "../../platform/outbound.ts";
import { redactedStart, withoutKeys } from "../../platform/redact.ts";
import { type Cure, type FailureCode, failure } from "../failure.ts";
import type { ModelAnswer } from "../port.ts";
import { NO_ANSWER } from "./messages.ts";
import type { SeenResponse } from "./response-watch.ts";

/** Characters of a provider's message that are kept: a gateway may answer with a whole page. */
const MESSAGE_CHARS = 500;
/** Characters of it that patterns look at, pi-ai's among them, which may take the square of its length. */
const SEEN_CHARS = 16_384;

/** The model and the server that failed. */
export interface Place {
  /** `provider/id` */
  readonly id: string;
  /** pi-ai's name of the protocol. */
  readonly api: string;
  /** The address of requests, without credentials. */
  readonly address: string;
  /** It came from --base-url. */
  readonly isNamed: boolean;
  /** Names that may be meant: like it, if no list has it; its successor, if it ends. */
  readonly near: readonly string[];
}

/** The response that came in place of an answer. */
export interface Refusal {
  readonly place: Place;
  /** pi-ai's error message. */
  readonly said: string;
  readonly seen: SeenResponse;
  /** Never shown. */
  readonly secrets: readonly string[];
}

/**
 * Tells why a provider gave no answer: by the HTTP status if it was one of failure, else by the words of the
 * provider's SDK.
 */
export function explain({ place, said: whole, seen, secrets }: Refusal): Explained {
  const said = whole.slice(0, SEEN_CHARS);
  const status = statusOf(said, seen);
  const retryAfterMs = seen.retryAfterMs ?? waitIn(said);
  const code = codeOf(place.api, said, status, retryAfterMs);
  const shown = redactedStart(readable(whole), MESSAGE_CHARS, (words) => withoutKeys(words, secrets));
  const trouble = status === null ? troubleOf(place, shown, seen) : null;
  const error = failure(code, `${place.id}: ${trouble?.message ?? shown}`, cureOf(code, status, place, trouble));
  if (code === "provider_error" && (status ?? 400) < 500 && isTooLong(said, status)) {
    return { error: { ...error, retriable: false, suggestion: TOO_LONG }, isTooLong: true };
  }
  if (retryAfterMs !== null) return { error, retryAfterMs };
  return code === "auth_failed" || code === "no_credit" || status === 404 || trouble?.isUnsent
    ? { error, isOfSetup: true }
    : { error };
}

type Explained = Pick<Extract<ModelAnswer, { ok: false }>, "error" | "retryAfterMs" | "isTooLong" | "isOfSetup">;

const TOO_LONG = "Send less, or name a model with a larger window.";

interface Trouble {
  /** There was no connection at all. */
  readonly isUnsent: boolean;
  readonly message: string;
  readonly suggestion: string;
  /** False if another try would fail in the same way. */
  readonly retriable?: boolean | undefined;
}

/** The fault of the connection, if there was one. */
function troubleOf({ address, isNamed }: Place, said: string, seen: SeenResponse): Trouble | null {
  const { networkError, outbound } = seen;
  if (outbound) return outbound;
  const check = `Check that ${address} can be reached, then call again.`;
  if (networkError !== null && !isUnreached(seen)) {
    return { isUnsent: false, message: `${said} (${networkError}, ${address})`, suggestion: check };
  }
  if (networkError === null && !said.startsWith(NO_CONNECTION)) return null;
  return {
    isUnsent: true,
    message: `no connection to ${address}${networkError === null ? "" : ` (${networkError})`}`,
    suggestion: isNamed ? `Is the server running? If it is, ${remedy("checkServer")}.` : check,
  };
}

/** The connection was never made, so nothing was sent. */
export function isUnreached({ status, networkError, outbound }: SeenResponse): boolean {
  if (outbound) return outbound.isUnsent;
  return status === null && networkError !== null && UNCONNECTED.test(networkError);
}

/** The first words of some SDKs if `fetch` refuses the address: a port of another protocol, for example. */
const NO_CONNECTION = "Connection error.";

function codeOf(api: string, said: string, status: number | null, retryAfterMs: number | null): FailureCode {
  if (status === 429 && retryAfterMs === null && NO_CREDIT.test(said)) return "no_credit";
  if (status === 429 || status === 529 || ((status ?? 503) === 503 && BUSY.test(said))) return "rate_limited";
  const isFiltered = FILTERED.test(said) || (said === UNNAMED && REFUSAL_IS_UNNAMED.test(api));
  if (isFiltered && (status ?? 400) < 500) return "content_filtered";
  if (status === 401 || status === 403 || (status === null && NO_KEY.test(said))) return "auth_failed";
  return "provider_error";
}

/** Finish reasons and error codes of content filters. A gateway also says that a connection was refused, with a status of its own fault. */
const FILTERED =
  /\b(?:refusal|refused)\b|content[_ ](?:filter|management policy|policy)|responsible ?ai|\bsafety\b|\bflagged\b/i;
/** The only words of pi-ai about a stop reason such as `refusal` or `SAFETY` in these protocols. */
const UNNAMED = "An unknown error occurred";
const REFUSAL_IS_UNNAMED = /^(?:anthropic|google|bedrock)/;
/** A stream that ended without the event or the reason that ends an answer, in the words of pi-ai from 0.87 on. */
const BROKEN_OFF = /stream ended (?:before|without)/i;
/** The words of pi-ai about an answer that a filter has ended: a code in place of a sentence. */
const WITHHELD = /^Provider (?:finish|stop)_?reason: (?:content_filter|refusal|safety)$/i;
const BUSY = /rate.?limit|too many requests|throttl|resource_exhausted|overloaded/i;
const NO_KEY = /no api key|api key is required|invalid.{0,9}api.?key|authentication_error/i;
const NO_CREDIT = /insufficient_quota|billing|credit balance/i;

/** Statuses of the client's fault that pass by themselves. */
const PASSING = [408, 409, 425];

function cureOf(code: FailureCode, status: number | null, place: Place, trouble: Trouble | null): Cure {
  if (code !== "provider_error") return {};
  if (status === null) return trouble ? given({ suggestion: trouble.suggestion, retriable: trouble.retriable }) : {};
  if (status >= 500 || PASSING.includes(status)) return {};
  const suggestion = status === 404 ? notFound(place) : "Change the request: the provider does not accept it.";
  return { retriable: false, suggestion };
}

/** The part of a name before its first `/` is the provider: a server that users name is asked for the rest alone. */
function notFound({ id, address, isNamed, near }: Place): string {
  const asked = id.slice(id.indexOf("/") + 1);
  const check = `check the model's name and the base URL (${address}).`;
  if (!isNamed || id === `local/${asked}`) {
    const meant = near.length > 0 ? `did you mean ${near.join(", ")}? If not, ` : "";
    return `The ${isNamed ? "server" : "provider"} was asked for ${asked}: ${meant}${check}`;
  }
  return `The server was asked for ${asked}. If it knows the model as ${id}, name it local/${id}; else ${check}`;
}

/** The status of failure. One of success says nothing about a body that broke off or held an error. */
export function statusOf(said: string, seen: SeenResponse): number | null {
  // pi-ai's messages begin with the status; an error inside of a stream has it as a field, if at all.
  const stated = /^([45]\d\d)\b/.exec(said)?.[1] ?? /"code"\s*:\s*"?([45]\d\d)\b/.exec(said)?.[1];
  const status = (seen.status ?? 0) >= 400 ? seen.status : Number(stated ?? 0);
  return status || null;
}

/** Some providers tell the wait in words only: `try again in 1.5s`. */
function waitIn(said: string): number | null {
  const found = /(?:try again|retry) in (?:(\d+)m)?(\d+(?:\.\d+)?)(ms|s)\b/i.exec(said);
  if (!found) return null;
  const [, minutes = "0", value = "0", unit] = found;
  return Number(minutes) * 60_000 + Number(value) * (unit === "ms" ? 1 : 1000);
}

/** For people: the `message` inside of a JSON error, after the status that stands before it. */
function readable(text: string): string {
  if (text === UNNAMED) return "the provider ended the answer without saying why";
  if (BROKEN_OFF.test(text)) return "the answer broke off before its end";
  if (WITHHELD.test(text)) return "the provider's filter withheld the answer";
  // Newer copies of pi-ai write a colon after the status.
  const said = text.replace(/^(\d{3}): /, "$1 ");
  const at = said.indexOf("{");
  const body = at < 0 ? undefined : parseJson(said.slice(at));
  if (!isRecord(body)) return said;
  const { message } = isRecord(body.error) ? body.error : body;
  return typeof message === "string" ? `${said.slice(0, at)}${message}` : said;
}

/**
 * True if a provider's message says that the request has more tokens than its model takes. pi-ai knows the words of most
 * providers; what it misses is below.
 *
 * @param status of the response if it was one of failure
 */
function isTooLong(said: string, status: number | null): boolean {
  return status === 413 || OTHERS.test(said) || isContextOverflow({ ...NO_ANSWER, errorMessage: said });
}

/**
 * Messages as users of these servers have reported them: Anthropic ("input length and `max_tokens` exceed context limit"),
 * SGLang ("longer than the model's context length", "exceeds the model's maximum context length of"), vLLM ("longer than
 * the maximum model length", "too long to fit into the model"), TGI, Groq's limit for a minute, OpenAI's for one message.
 */
const OTHERS = new RegExp(
  [
    "exceeds? (?:the )?(?:model's )?(?:maximum )?context (?:limit|length|window|size)",
    "longer than the (?:model's context|maximum model) length",
    "too long to fit into the model",
    "tokens \\+ `?max_new_tokens`? must be",
    "reduce your message size",
    "string_above_max_length|string too long",
  ].join("|"),
  "i",
);
