import * as v from "valibot";
import type { Json, Sampling } from "../../../runtime/index.ts";
import { NO_USAGE, type SubCallTurn, tokensOf, type Usage } from "../../models/index.ts";
import type { Attempt, DeliveryRecord, ToolCall, ToolResult } from "../journal/records.ts";
import type { SessionDescription } from "./description.ts";

/** The journal's facts about one call. Times are ms since the epoch. */
export interface CallDescription {
  readonly call_id: string;
  /** From 1, in its exec. */
  readonly number: number;
  /** The builtin; `root` for the request of a turn. */
  readonly name: string;
  /** The batch of its cell that it belongs to; null: none. */
  readonly batch: number | null;
  /** The prompt; null for a call that asks no model. */
  readonly prompt: string | null;
  /** Every argument, as the cell gave it. */
  readonly args: readonly Json[];
  /** Parameters that the call was asked with, where its arguments name none; null: none. */
  readonly sampling: Sampling | null;
  /** Those of a function of the program; null for other calls. */
  readonly effects: ToolCall["effects"] | null;
  /** `provider/id`: the model that was asked, or whose answer was known, or that was refused; empty if none is known. */
  readonly model: string;
  /** `pending`: no answer is recorded. */
  readonly status: "ok" | "failed" | "pending";
  readonly error_code: string | null;
  /** The answer, or the error that the cell got; null while the call is pending. */
  readonly answer: Json;
  /** The last answer of the model, if it did not fit the schema; else null. */
  readonly misfit: string | null;
  /** Names of parameters that its model does not take: it was asked without them. */
  readonly ignored: readonly string[];
  /** Kinds of what was put right in its replies, such as `punctuation`. */
  readonly mended: readonly string[];
  /** When the call was recorded. */
  readonly asked_at: number;
  /** When its first request left; null: none did, or the record is of an earlier build. */
  readonly sent_at: number | null;
  /** When its answer was recorded; null while the call is pending. */
  readonly ended_at: number | null;
  /** From `asked_at`, or from the resume that sent it again, to its answer: ms. null while the call is pending. */
  readonly time_ms: number | null;
  readonly tokens: number;
  readonly cost_usd: number;
  /** The provider's charge; for a call with a child all that the child has spent. */
  readonly usage: Usage;
  /** The answer came from the cache. */
  readonly cached: boolean;
  /** Present if it is the answer of an earlier run: the run's name, and what the answer took there. */
  readonly reused?: { readonly from: string; readonly tokens: number; readonly cost_usd: number };
  /** Nothing was sent. */
  readonly refused: boolean;
  /** Requests that failed and were sent again: how many, and each with its code and the wait after it. */
  readonly attempts: number;
  readonly retries: readonly Attempt[];
  /** The number of times that a resume sent it again because its answer was not recorded. */
  readonly resent: number;
  /** The provider's batch that answered it; null: its requests were sent at once. */
  readonly delivery: DeliveryRecord | null;
  /** The replies of a sub-agent; null for a call that one reply answered, or if they are not recorded. */
  readonly turns: readonly SubCallTurn[] | null;
  /** The session that answers it, if it has a context of its own. */
  readonly child: ChildDescription | null;
  /** Texts that are not whole here, by field: how many characters each has. */
  readonly cut?: Readonly<Record<string, number>>;
}

/** The child of a call. What its call's record does not tell is null. */
export interface ChildDescription {
  /** Its id. */
  readonly session: string;
  readonly sub_calls: number | null;
  readonly turns: number | null;
  readonly depth_reached: number | null;
  /** The store's description of it; null if that was not asked for, or is left out. */
  readonly description: SessionDescription | null;
}

/** @param resent when resumes sent it again, as far as the journal tells: ms since the epoch */
export function describeCall(
  call: ToolCall,
  number: number,
  result: ToolResult | null,
  resent: readonly number[] = [],
): CallDescription {
  const { call_id, name, args, at } = call;
  const [prompt] = args;
  const { usage = NO_USAGE, attempts = [] } = result ?? {};
  return {
    call_id,
    number,
    name,
    batch: v.parse(Batch, args[2]).id,
    prompt: typeof prompt === "string" ? prompt : null,
    args,
    sampling: call.sampling ?? null,
    effects: call.effects ?? null,
    model: result?.model ?? "",
    status: result ? (result.success ? "ok" : "failed") : "pending",
    error_code: result && !result.success ? v.parse(Failure, result.value).code : null,
    answer: result?.value ?? null,
    misfit: result?.misfit ?? null,
    ignored: result?.ignored ?? [],
    mended: result?.mended ?? [],
    asked_at: at,
    sent_at: result?.sent_at ?? null,
    ended_at: result?.at ?? null,
    time_ms: result ? Math.max(0, result.at - (result.delivery ? at : (resent.at(-1) ?? at))) : null,
    tokens: tokensOf(usage),
    cost_usd: usage.cost_usd,
    usage,
    cached: result?.cached ?? false,
    ...(result?.reused ? { reused: result.reused } : {}),
    refused: result?.refused ?? false,
    attempts: attempts.length,
    retries: attempts,
    // A call by batch is made anew in each wave, and sent once. A function that must not run twice only waited before.
    resent: result?.delivery || call.effects === "once" ? 0 : resent.length,
    delivery: result?.delivery ?? null,
    turns: result?.turns ?? null,
    child: result?.child ? { ...result.child, description: null } : null,
  };
}

/** The error that a cell got, as its record has it. */
const Failure = v.fallback(v.object({ code: v.nullable(v.string()) }), { code: null });
const Batch = v.fallback(v.object({ id: v.nullable(v.number()) }), { id: null });
