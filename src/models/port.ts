import type { Json, RlmError, Sampling, Thinking } from "../../runtime/index.ts";

/** A provider's charge for one request. Tokens; cost in USD by the model's price list. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cost_usd: number;
  /** Tokens of thinking, a part of `output`; absent: the provider does not say. */
  readonly reasoning?: number;
  /**
   * USD that the provider's cache has saved, by the price of other input: below 0 if what was
   * written to it cost more. Absent: nothing was read or written, or no price is known.
   */
  readonly saved_usd?: number;
  /**
   * Tokens that nobody told: estimated by the lengths of texts, or what an agent held. Absent: all were told.
   */
  readonly estimated?: number;
  /** USD that nobody told: what an agent held. Absent: all were told. */
  readonly estimated_usd?: number;
}

/** USD per million tokens. */
export interface Rates {
  readonly input: number;
  readonly output: number;
}

/** The rates of a model. Requests with more input tokens than `above` have those of the tier. */
export interface Price extends Rates {
  readonly tiers?: readonly (Rates & { readonly above: number })[];
}

/** A tool that a model may call. `parameters` is a JSON Schema of an object. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: { readonly [key: string]: Json };
}

export interface ToolUse {
  readonly id: string;
  readonly name: string;
  /** The model's arguments, unchecked. */
  readonly arguments: { readonly [key: string]: Json };
  /**
   * Reason, as a clause, why its arguments could not be read. They are then empty, and the call is
   * not run.
   */
  readonly problem?: string | undefined;
}

export type ModelMessage =
  | { readonly role: "user"; readonly text: string }
  /** An earlier answer of the same model, as its adapter gave it. */
  | { readonly role: "assistant"; readonly answer: ModelTurn }
  | {
      readonly role: "tool";
      readonly use: Pick<ToolUse, "id" | "name">;
      readonly text: string;
      readonly isError: boolean;
    };

export interface ModelRequest {
  readonly system: string | null;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  /** Output tokens, thinking included. */
  readonly maxTokens: number;
  /** The level of thinking; absent: off. */
  readonly thinking?: Thinking;
  /** Parameters that the caller sets; absent: the provider's own. */
  readonly sampling?: Sampling;
  /**
   * A JSON Schema that the answer is to fit: the provider is asked to keep to it if its API can.
   * The prompt states it too, and the caller checks the answer. Absent: none.
   */
  readonly schema?: Json;
  /** The tools may be left out if the API does not take them together with the schema. */
  readonly mayDropTools?: true;
  /** From sending to the end of the answer, ms. */
  readonly timeoutMs: number;
  /**
   * `short`: other requests that begin with the same messages follow, so the provider is to cache
   * them for minutes. It may charge more for what it writes to its cache, which a request alone
   * would pay for nothing.
   */
  readonly cache: "none" | "short";
  /**
   * The conversation that the request is of, for providers that find their cache by it; absent:
   * none.
   */
  readonly conversation?: string;
  /**
   * UTF-16 units at the beginning of the first message that other calls share, which the provider
   * is to cache. Absent: none.
   */
  readonly shared?: number;
  /** Called when the answer begins. */
  begun?(): void;
  /**
   * Takes the request instead of the network: it goes by a batch, at the batch price and without a
   * timeout. Absent: it is sent.
   */
  readonly post?: Post;
}

/** The place where a model's provider takes batches, and the key for it. */
export interface BatchAccount {
  /** API, base URL and 8 hex digits of the SHA-256 of the key: it can be kept. */
  readonly id: string;
  /** The API that its requests are of. */
  readonly api: string;
  readonly baseUrl: string;
  /** The model by the provider's own name. */
  readonly model: string;
  /** Headers of a request, the key among them: they are never kept. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Proves that an owner of this key has written the fields: write access to a store does not
   * suffice for that.
   */
  prove(fields: readonly Json[]): string;
}

/**
 * Takes a request that goes by a batch, and resolves with the row that answers it. If none has come
 * yet, it waits until the signal aborts, and rejects then.
 */
export type Post = (request: PostedRequest, signal: AbortSignal) => Promise<PostedAnswer>;

export interface PostedRequest {
  readonly account: Pick<BatchAccount, "id" | "prove">;
  /** `provider/id`. */
  readonly model: string;
  /** As the provider takes it in a row of a batch: without what only streams have. */
  readonly body: Json;
}

/** A row: the answer of the provider, or a failure that none has sent. */
export type PostedAnswer = { readonly status: number; readonly body: Json } | { readonly failure: SubCallError };

/** Why a sub-call or one of its requests failed, if a model was to answer it. */
export type FailureCode =
  | "timeout"
  | "cancelled"
  | "rate_limited"
  | "auth_failed"
  | "no_credit"
  | "auth_expired"
  | "no_model_configured"
  | "content_filtered"
  | "empty_answer"
  | "provider_error"
  | "sub_agent_error"
  | "truncated_answer"
  | "window_full"
  | "schema_mismatch"
  | "policy_violation"
  | "reentrancy_error"
  | "budget_exceeded"
  | "no_answer"
  | "answer_lost"
  | "invalid_argument";

/** Why a sub-call failed (semantics 21). */
export type SubCallCode = FailureCode | "host_incompatible" | "not_awaited";

/** A limit of a budget, by the name that `budget()` has for it in cells. */
export type BudgetLimit = "tokens" | "sub_calls" | "time_ms" | "cost_usd" | "functions";

/** A failure that a cell can catch. */
export interface SubCallError {
  readonly code: SubCallCode;
  /** The limit that has no room for the request. Absent: there is another reason. */
  readonly limit?: BudgetLimit;
  /** Names the thing; never holds a key. */
  readonly message: string;
  readonly suggestion: string;
  /** The same call may succeed if it is made again. */
  readonly retriable: boolean;
  /**
   * When the limit of an account ends, ms since the epoch, as the failure says it. Absent: it does
   * not say.
   */
  readonly retry_at?: number;
}

/**
 * One answer of a model. `raw` is the adapter's own form, needed to continue the conversation.
 */
export interface ModelTurn {
  readonly text: string;
  readonly toolUses: readonly ToolUse[];
  /** `length`: cut at maxTokens, thinking included. */
  readonly stop: "end" | "tools" | "length";
  /** True if a cut answer has thinking and nothing else. */
  readonly isThought?: true;
  /**
   * Tokens of the window that an answer was cut at. Absent: there was room left, or it is unknown.
   */
  readonly full?: FullWindow;
  readonly raw: unknown;
  /**
   * Kinds of what was put right in it when it came in, which a warning names. Absent: nothing was.
   */
  readonly mended?: readonly string[];
}

/** A window without room for the whole answer. */
interface FullWindow {
  readonly window: number;
  /** Tokens of the prompt and of the answer, as the provider has counted them. */
  readonly input: number;
  readonly output: number;
}

/** A request that was sent, whatever came of it. */
export type ModelAnswer = {
  readonly usage: Usage;
  /**
   * The provider reported usage, or certainly charged nothing; else usage is zero and the caller
   * charges its estimate.
   */
  readonly charged: boolean;
  /**
   * Names of parameters that the model does not take: the request went without them. Absent: it had
   * all.
   */
  readonly ignored?: readonly string[];
  /**
   * The provider was asked to keep the answer to the request's schema. False: it was not, since the
   * request could not drop its tools. Absent: it cannot be asked.
   */
  readonly isConstrained?: boolean;
  /** The call waited so long for a server that was away, ms. Absent: it did not wait. */
  readonly waitedMs?: number;
} & (
  | { readonly ok: true; readonly turn: ModelTurn }
  | {
      readonly ok: false;
      readonly error: SubCallError;
      /** The server's Retry-After, ms. */
      readonly retryAfterMs?: number;
      /**
       * The request has more tokens than the model's window. Absent: it failed for another reason.
       */
      readonly isTooLong?: true;
      /**
       * The provider refused a part of the request that can be left out: sent again, the request
       * goes without it.
       */
      readonly isAdapted?: true;
      /**
       * Other requests fail in the same way: their run pauses, or their jobs are parked. Absent:
       * this one alone is at fault.
       */
      readonly ends?: "run" | "job";
      /**
       * The model replied, and its server could not read it: the length of what the server says of
       * it, UTF-16 units.
       */
      readonly unread?: number;
      /** No server was there to answer. Absent: one was, or it is unknown. */
      readonly isAway?: true;
    }
);

/** Tokens and USD that a request of a model holds while it runs. */
export interface Reserved {
  readonly tokens: number;
  readonly cost_usd: number;
}

/** A model behind its provider. */
export interface Model {
  /** `provider/id`: in records and messages. */
  readonly id: string;
  /** null: no price is known. */
  readonly price: Price | null;
  /** Tokens that a request and its answer may have together, or null if that is not known. */
  readonly window: number | null;
  /** The most that a request may take. Absent: its text and its price say it. */
  readonly reserves?: Reserved;
  /**
   * Asks the server of the model for its window, if no list has it. Resolves with null if it does
   * not say.
   */
  askWindow?(): Promise<number | null>;
  /** No list has it. */
  readonly unlisted?: boolean;
  /**
   * Once an answer has begun, its provider reads the same beginning of other requests from a cache.
   * Absent: it does not.
   */
  readonly caches?: boolean;
  /** The address of its server, without credentials. Absent: it has none. */
  readonly server?: string;
  /** Its server is on a computer of its user, and may read a long prompt for minutes. */
  readonly isLocal?: boolean;
  /**
   * The price of requests that go by a batch: their estimates and charges are by it. Absent: it is
   * not known to be lower, so they are by `price`, and the caller warns.
   */
  readonly batchPrice?: Price;
  /**
   * Resolves with the account whose batches take its requests. Absent: Belay has no batches of its
   * provider.
   * @throws RlmError as a request would fail: no key, a login that has expired
   */
  batchAccount?(): Promise<BatchAccount>;
  /**
   * Sends one request, once: no retries in here. Never rejects; an abort of the signal ends it
   * within a second with the code `cancelled`, its timeout with `timeout`. Connections are closed
   * in both cases.
   */
  complete(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer>;
}

/** Models by name. */
export interface Models {
  /** The model for calls that name none, or null. */
  readonly fallback: string | null;
  /** Those of these models, `provider/id`, that no list has. */
  unlisted?(names: readonly string[]): readonly string[];
  /** The reason why cells may not name this model; null: they may. Absent: they may name each. */
  refusal?(name: string): RlmError | null;
  /** Says what a user can do if there is no fallback; absent: the usual words. */
  noModelCure?(): string;
  /**
   * @throws RlmError `no_model_configured` for null without a fallback (naming the flag to pass),
   * for unknown names (naming the nearest) and for a provider without a key (naming its variable);
   * `auth_expired`; `invalid_config` for a broken auth.json or models.json of Pi
   */
  resolve(name: string | null): Model;
  /**
   * The price of a model, as `resolve` finds it; no key is needed. null: not known.
   *
   * @throws as `resolve`, except for keys
   */
  price(name: string | null): Model["price"];
}

/** The highest cost of a request: held from before it is sent until its usage is known. */
export interface RequestEstimate {
  readonly input_tokens: number;
  readonly max_tokens: number;
  readonly cost_usd: number;
  /** `provider/id`; absent: nothing is sent to a model of a known provider. */
  readonly model?: string;
}

export interface Reservation {
  /** Replaces the estimate by what the provider charged. Called once. */
  settle(usage: Usage): void;
  /**
   * The provider refused the request because of its rate, and told how long to wait, ms; null: it
   * did not. Called before `settle`. Who holds a rate passes it on, and may wait until the call
   * ends.
   */
  limited?(retryAfterMs: number | null, error: SubCallError): Promise<void>;
}

/** The budget as a sub-call sees it. */
export interface RequestBudget {
  /**
   * Waits for requests in flight until the estimate fits into the budget. Resolves with a
   * SubCallError if it can never fit (`budget_exceeded`), or if the signal aborts first
   * (`cancelled`).
   */
  reserve(estimate: RequestEstimate, signal: AbortSignal): Promise<Reservation | SubCallError>;
  /**
   * A model has answered (null), or no retry helped against a failure that other calls meet too.
   * Who runs those may wait until the call ends.
   */
  answered?(trouble: SubCallError | null): Promise<void>;
}
