import type { Cure } from "../failure.ts";
import type { FailureCode } from "../port.ts";

/** The kinds of failures of a provider or server, by who can cure them. */
export type RefusalKind =
  | "credit"
  | "key"
  | "model"
  | "unreached"
  | "rate"
  | "overload"
  | "too_large"
  | "filtered"
  | "malformed"
  | "refused"
  | "failed";

/**
 * The end that a failure makes: of a run that the user can cure, of a try of a job that time can
 * cure, else of a row.
 */
type RefusalEnds = "run" | "job" | "row";

interface RefusalRow {
  readonly code: FailureCode;
  readonly ends: RefusalEnds;
  /** The cure, if it is not that of the code. */
  readonly cure?: Cure;
}

/** The one table of what ends what. docs/batch.md shows it to users. */
export const REFUSALS: Readonly<Record<RefusalKind, RefusalRow>> = {
  credit: { code: "no_credit", ends: "run" },
  key: { code: "auth_failed", ends: "run" },
  model: { code: "provider_error", ends: "run", cure: { retriable: false } },
  unreached: { code: "provider_error", ends: "run" },
  rate: { code: "rate_limited", ends: "job" },
  overload: { code: "rate_limited", ends: "job" },
  too_large: {
    code: "provider_error",
    ends: "row",
    cure: { retriable: false, suggestion: "Send less, or name a model with a larger window." },
  },
  filtered: { code: "content_filtered", ends: "row" },
  malformed: { code: "empty_answer", ends: "row", cure: { suggestion: "Ask again, or ask differently." } },
  refused: {
    code: "provider_error",
    ends: "row",
    cure: { retriable: false, suggestion: "Change the request: the provider does not accept it." },
  },
  failed: { code: "provider_error", ends: "row" },
};

/** The facts by which a failure is sorted. */
interface RefusalFacts {
  /** The HTTP status of failure; null: there was none, such as for an error inside of a stream. */
  readonly status: number | null;
  /** The words and codes of the provider, without what it repeats of the request or of a reply. */
  readonly words: string;
  /** The provider tells when to try again. */
  readonly hasWait: boolean;
  /** The words say that the request has more tokens than the model's window. */
  readonly isTooLong: boolean;
  /** Tokens of the request's input, estimated. */
  readonly tokens: number;
}

/** Sorts a failure that a provider or a server has told. The first sign that fits decides. */
export function refusalKind(facts: RefusalFacts): RefusalKind {
  return SIGNS.find(([, fits]) => fits(facts))?.[0] ?? "failed";
}

const SIGNS: readonly (readonly [kind: RefusalKind, fits: (facts: RefusalFacts) => boolean])[] = [
  ["malformed", ({ status, words }) => (status === null || UNREAD_STATUS.has(status)) && says(words, UNREAD)],
  ["too_large", ({ status, isTooLong }) => status === 413 || (isTooLong && status !== 429 && (status ?? 400) < 500)],
  ["too_large", isAboveRate],
  ["credit", isUnpaid],
  ["rate", ({ status, words }) => status === 429 || (status === null && saysRate(words))],
  ["overload", isOverload],
  ["unreached", ({ status }) => GATEWAY.has(status ?? 0)],
  ["key", ({ status, words }) => status === 401 || ((status === null || status === 400) && says(words, NO_KEY))],
  ["filtered", ({ status, words }) => (status ?? 400) < 500 && says(words, FILTERED)],
  ["key", ({ status }) => status === 403 || status === 407],
  ["model", ({ status, words }) => GONE.has(status ?? 0) || ((status ?? 400) < 500 && says(words, NO_MODEL))],
  ["refused", ({ status }) => status !== null && status < 500 && !PASSING.has(status)],
];

/** Statuses with which servers tell that they could not read what their model made. */
const UNREAD_STATUS: ReadonlySet<number> = new Set([400, 422, 424, 500, 502]);
/**
 * llama.cpp, Ollama, vLLM, Groq, Cerebras, OpenAI and Bedrock about output of a model, never about
 * a request.
 */
const UNREAD: readonly RegExp[] = [
  /output that does not match the expected|output (?:that )?could not be parsed/i,
  /failed to parse (?:input at pos|(?:the )?(?:model(?:'s)? )?(?:output|response|generation|tool calls?\b(?! arg)))/i,
  /(?:error|failed) parsing (?:the )?(?:tool call|model output)/i,
  /tool[_ ]call[_ ](?:validation failed|pars(?:e|ing) (?:error|failed))/i,
  /tool_use_failed|json_validate_failed|output_parse_failed|model_?error_?exception/i,
  /failed to (?:call a function|generate (?:json|tool_?calls?|a valid)|validate json)/i,
  /(?:model )?(?:produced|generated) (?:an? )?(?:invalid|malformed)/i,
  /^(?:\d{3} )?"?invalid diff:/i,
  /harmony ?(?:error|pars)|expecting start token|tokens remaining in message header/i,
];

/** Statuses of the client's fault that pass by themselves. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 425]);

/**
 * True if nobody pays for requests. A quota that comes back by itself is a rate; one of 0 never
 * does.
 */
function isUnpaid({ status, words, hasWait }: RefusalFacts): boolean {
  if (status === 402 || NO_QUOTA.test(words)) return true;
  const passes = hasWait || PASSES.test(words);
  if (passes && (status === 429 || status === null)) return false;
  if (says(words, NO_CREDIT)) return true;
  return (status === 429 || status === 403) && UNPAID.test(words) && !OF_RATE.test(words);
}

const NO_QUOTA = /\blimit:? 0(?![.\d])/i;
const PASSES = /per.?(?:minute|hour|day)/i;
const NO_CREDIT: readonly RegExp[] = [
  /insufficient[_ ](?:\w{1,20}[_ ])?(?:quota|credits?|balance|funds)/i,
  /credit balance|balance (?:is )?(?:too low|insufficient|exhausted)/i,
  /(?:credits?|balance) (?:are|is|has been|have been)? ?(?:depleted|exhausted|used up)/i,
  /out of credits?|(?:no|not have any|any) credits yet|used all available credits/i,
  /requires? (?:more|available) credits|payment (?:is )?required|\btop.?up\b|\brecharge\b|unpaid/i,
  /billing_|billing hard limit|check your billing|billing to be enabled/i,
  /spending limit|credit limit exceeded|key limit exceeded|specified api usage limits/i,
  /account (?:is )?suspended|arrearage|freetieronly|exceeded_?budget|budget_exceeded|余额不足|欠费/i,
];
/** Words that only say so if nothing speaks of a rate. */
const UNPAID = /exceeded your (?:current|monthly|included) |billing|quota (?:is )?(?:exhausted|depleted)/i;
const OF_RATE = /rate.?limit|too many requests/i;

/** True for words about a rate of requests or tokens, which passes by itself. */
export function saysRate(words: string): boolean {
  return /rate.?limit|too many requests|throttl|resource_exhausted/i.test(words);
}

/** True if one request has more tokens than its rate has in a minute: no wait makes room for it. */
function isAboveRate({ status, words, tokens }: RefusalFacts): boolean {
  if ((status !== 429 && status !== null) || NO_QUOTA.test(words)) return false;
  if (/request too large|request is too large/i.test(words)) return true;
  const asked = figure(/\brequested(?: about|:)? (\d[\d,]*)/i.exec(words));
  if (asked !== null) return asked > (figure(/\blimit(?: is| of|:)? (\d[\d,]*)/i.exec(words)) ?? asked);
  const most = figure(/token_count, limit: (\d+)|\blimit of (\d[\d,]*) (?:input |prompt )?tokens/i.exec(words));
  return status === 429 && tokens > (most ?? tokens);
}

function figure(found: RegExpExecArray | null): number | null {
  const digits = found?.slice(1).find((group) => group !== undefined);
  return digits === undefined ? null : Number(digits.replaceAll(",", ""));
}

/** Statuses of a gateway that does not reach its server. */
const GATEWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** A gateway says 503 too if it does not reach its server, which may be gone for good. */
function isOverload({ status, words }: RefusalFacts): boolean {
  if (status === 529 || status === 498) return true;
  if (status === 503) return !UPSTREAM.test(words);
  return (status ?? 500) >= 500 && (saysRate(words) || BUSY.test(words));
}

const UPSTREAM = /upstream|connection refused|no healthy|bad gateway/i;
const BUSY = /overloaded|loading model|model is loading/i;

const NO_KEY: readonly RegExp[] = [
  /no api key|api key is required|incorrect api key|invalid.{0,9}api.?key/i,
  /api.?key.{0,9}(?:invalid|expired|not valid)|authentication_error|security token/i,
  /organization has been disabled|unsupported_country|location is not supported/i,
];
/** Codes and words of content filters. */
const FILTERED: readonly RegExp[] = [
  /\b(?:refusal|refused)\b|content[_ ](?:filter|management policy|policy|exists risk)/i,
  /responsible ?ai|\bsafety\b|\bflagged\b|data_inspection_failed|inappropriate content|敏感内容/i,
  /violat\w{1,5} (?:our |the )?(?:usage|content)/i,
];
/** Statuses of a model, or of an address, that is not there. */
const GONE: ReadonlySet<number> = new Set([404, 405, 410]);
/** Codes and words about a model that is gone, or never was. */
const NO_MODEL: readonly RegExp[] = [
  /model_not_found|model_decommissioned|been decommissioned|deploymentnotfound|invalid_model/i,
  /(?:unknown|invalid) model(?::| name| id|["'`.]|$)|not a valid model|model identifier is invalid/i,
  /model.{0,120} (?:does not exist|not found\b|is not available)|\bmodel not exist|no such model/i,
  /no models? loaded|failed to load model|no endpoints found/i,
];

/** True if one of the patterns is in the words. */
function says(words: string, patterns: readonly RegExp[]): boolean {
  return patterns.some((pattern) => pattern.test(words));
}
