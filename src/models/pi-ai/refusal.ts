import { isContextOverflow } from "belay-pi-ai/utils/overflow";
import { remedy } from "../../../runtime/index.ts";
import { isRecord, parseJson, withoutUndefined } from "../../platform/json.ts";
import { UNCONNECTED } from "../../platform/outbound.ts";
import { redactedStart, withoutKeys } from "../../platform/redact.ts";
import { type Cure, failure } from "../failure.ts";
import type { ModelAnswer, SubCallError } from "../port.ts";
import { isServerAway } from "../replies/away.ts";
import { REFUSALS, type RefusalKind, refusalKind } from "../replies/refusal-kinds.ts";
import { NO_ANSWER } from "./messages.ts";
import type { SeenResponse } from "./response-watch.ts";

/** Characters of a provider's message that are kept: a gateway may answer with a whole page. */
const MESSAGE_CHARS = 500;
/**
 * Characters of it that patterns look at, pi-ai's among them, which may take the square of its
 * length.
 */
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
  /** Tokens of the request's input, estimated. */
  readonly tokens: number;
}

/**
 * Tells why a provider gave no answer: by the HTTP status if it was one of failure, else by the
 * words of the provider's SDK.
 */
export function explain({ place, said: whole, seen, secrets, tokens }: Refusal): Explained {
  const said = whole.slice(0, SEEN_CHARS);
  const status = statusOf(said, seen);
  const shown = redactedStart(readable(whole), MESSAGE_CHARS, (words) => withoutKeys(words, secrets));
  const trouble = status === null ? troubleOf(place, shown, seen) : null;
  const words = wordsOf(said);
  const retryAfterMs = seen.retryAfterMs ?? waitIn(words);
  const kind = trouble
    ? troubleKind(trouble, seen)
    : said === UNNAMED && REFUSAL_IS_UNNAMED.test(place.api)
      ? "filtered"
      : refusalKind({ status, words, hasWait: retryAfterMs !== null, isTooLong: isTooLong(said), tokens });
  const { code, ends, cure } = REFUSALS[kind];
  const message = `${place.id}: ${kind === "malformed" ? UNREAD : ""}${trouble?.message ?? shown}`;
  return {
    error: failure(code, message, { ...cure, ...ownCure(kind, place, trouble) }),
    ...(ends === "row" ? {} : { ends }),
    ...(retryAfterMs === null || !PASSES.has(kind) ? {} : { retryAfterMs }),
    ...(kind === "too_large" ? { isTooLong: true as const } : {}),
    ...(kind === "malformed" ? { unread: said.length } : {}),
    ...(kind !== "malformed" && isServerAway(seen, shown) ? { isAway: true as const } : {}),
  };
}

/**
 * The failure of a reply in which the model refused, or that its provider withheld.
 *
 * @param words as they were sent
 */
export function withheldBy({ place, secrets }: Refusal, words: string): SubCallError {
  const shown = redactedStart(words.trim(), MESSAGE_CHARS, (text) => withoutKeys(text, secrets));
  return failure("content_filtered", `${place.id}: ${shown}`);
}

type Explained = Pick<
  Extract<ModelAnswer, { ok: false }>,
  "error" | "retryAfterMs" | "isTooLong" | "ends" | "unread" | "isAway"
>;

const UNREAD = "the server could not read the model's reply: ";
/** Failures that a server may ask to wait for. */
const PASSES: ReadonlySet<RefusalKind> = new Set<RefusalKind>(["rate", "overload", "failed"]);

function ownCure(kind: RefusalKind, place: Place, trouble: Trouble | null): Cure {
  if (trouble) return withoutUndefined({ suggestion: trouble.suggestion, retriable: trouble.retriable });
  return kind === "model" ? { suggestion: notFound(place) } : {};
}

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
  const { networkError, outbound, odd } = seen;
  if (outbound) return outbound;
  if (odd !== undefined)
    return { isUnsent: false, message: odd, suggestion: `Check the base URL (${address}).`, retriable: false };
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

/**
 * The first words of some SDKs if `fetch` refuses the address: a port of another protocol, for
 * example.
 */
const NO_CONNECTION = "Connection error.";

/** A page in place of an answer is of another address. */
function troubleKind({ isUnsent }: Trouble, { odd }: SeenResponse): RefusalKind {
  if (odd !== undefined) return "model";
  return isUnsent ? "unreached" : "failed";
}

/** The only words of pi-ai about a stop reason such as `refusal` or `SAFETY` in these protocols. */
export const UNNAMED = "An unknown error occurred";
const REFUSAL_IS_UNNAMED = /^(?:anthropic|google|bedrock)/;
/**
 * A stream that ended without the event or the reason that ends an answer, in the words of pi-ai
 * from 0.87 on.
 */
const BROKEN_OFF = /stream ended (?:before|without)/i;

/**
 * The part of a name before its first `/` is the provider: a server that users name is asked for
 * the rest alone.
 */
function notFound({ id, address, isNamed, near }: Place): string {
  const asked = id.slice(id.indexOf("/") + 1);
  const check = `check the model's name and the base URL (${address}).`;
  if (!isNamed || id === `local/${asked}`) {
    const meant = near.length > 0 ? `did you mean ${near.join(", ")}? If not, ` : "";
    return `The ${isNamed ? "server" : "provider"} was asked for ${asked}: ${meant}${check}`;
  }
  return `The server was asked for ${asked}. If it knows the model as ${id}, name it local/${id}; else ${check}`;
}

/**
 * The status of failure. One of success says nothing about a body that broke off or held an error.
 */
export function statusOf(said: string, seen: SeenResponse): number | null {
  // pi-ai's messages begin with the status; an error inside of a stream has it as a field, if at
  // all.
  const stated = /^([45]\d\d)\b/.exec(said)?.[1] ?? /"code"\s*:\s*"?([45]\d\d)\b/.exec(said)?.[1];
  const status = (seen.status ?? 0) >= 400 ? seen.status : Number(stated ?? 0);
  return status || null;
}

/**
 * Some providers tell the wait in words only: `try again in 1m2.5s`, `retry after 26 seconds`,
 * `"retryDelay":"38s"`.
 */
function waitIn(words: string): number | null {
  const wait = WAIT.exec(words)?.[1];
  if (wait === undefined) return null;
  const parts = [...wait.matchAll(/(\d{1,9}(?:\.\d{1,9})?) ?(ms|[smhd])/gi)];
  return parts.reduce((sum, [, value, unit]) => sum + Number(value) * (UNIT_MS[unit?.toLowerCase() ?? ""] ?? 0), 0);
}

const WAIT =
  /(?:try again|retry|wait|"retrydelay":)(?: in| after| for)?[ "](?:about )?((?:\d{1,9}(?:\.\d{1,9})? ?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])(?: and)? ?){1,4})/i;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** For people: the `message` inside of a JSON error, after the status that stands before it. */
function readable(text: string): string {
  if (text === UNNAMED) return "the provider ended the answer without saying why";
  if (BROKEN_OFF.test(text)) return "the answer broke off before its end";
  // Newer copies of pi-ai write a colon after the status.
  const said = text.replace(/^(\d{3}): /, "$1 ");
  const found = errorIn(said);
  if (typeof found === "string") return found;
  if (found === null) return said;
  const { message, metadata } = found;
  if (typeof message !== "string") return said;
  // A router hands on what the provider behind it has said.
  const raw = isRecord(metadata) && typeof metadata.raw === "string" ? `: ${metadata.raw}` : "";
  return `${said.slice(0, said.indexOf("{"))}${message}${raw}`;
}

/**
 * The error that a message of pi-ai holds as JSON: its fields, or its words alone; null: there is
 * none.
 */
function errorIn(said: string): { readonly [key: string]: unknown } | string | null {
  const at = said.indexOf("{");
  const body = at < 0 ? undefined : parseJson(said.slice(at));
  if (!isRecord(body)) return null;
  const { error } = body;
  if (typeof error === "string") return `${said.slice(0, at)}${error}`;
  return isRecord(error) ? error : body;
}

/**
 * The words by which a failure is sorted: what a server repeats of a request or a reply, and
 * addresses, are not among them.
 */
function wordsOf(said: string): string {
  const found = errorIn(said);
  const own = found === null || typeof found === "string" ? (found ?? said) : JSON.stringify(found, withoutEcho);
  return own.replaceAll(/https?:\/\/\S+/g, "");
}

const withoutEcho = (key: string, value: unknown) => (ECHOES.has(key) ? undefined : value);
const ECHOES: ReadonlySet<string> = new Set(["input", "failed_generation", "ctx", "loc", "param"]);

/** True if a provider's message says that the request has more tokens than its model takes. */
function isTooLong(said: string): boolean {
  return OTHERS.test(said) || isContextOverflow({ ...NO_ANSWER, errorMessage: said });
}

/**
 * Messages as users of these servers have reported them: Anthropic ("input length and `max_tokens`
 * exceed context limit"), SGLang ("longer than the model's context length", "exceeds the model's
 * maximum context length of"), vLLM ("longer than the maximum model length", "too long to fit into
 * the model"), TGI, Groq's limit for a minute, OpenAI's for one message.
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
