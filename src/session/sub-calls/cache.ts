import { createHash } from "node:crypto";
import * as v from "valibot";
import { readSubCall, type SubCallRequest } from "../../../builtins/index.ts";
import { type Json, LIMITS, samplingIn, type Thinking } from "../../../runtime/index.ts";
import type { Models } from "../../models/index.ts";
import { isRecord } from "../../platform/json.ts";
import type { AnswerKey, JobKey, Store } from "../../store/index.ts";
import { callCount, callsFrom, type ExecRecords } from "../journal/exec-records.ts";
import { isSubCall } from "../journal/ledger.ts";
import type { ReusedRecord } from "../journal/records.ts";

/** Answers of earlier identical calls. */
export interface AnswerCache {
  /** The keys under which a call's answer is kept; `null`: it must not be used again. */
  keyOf(request: SubCallRequest, callId: string, usual: Thinking): CallKeys | null;
  /** @param isUnderWay the call is being answered already, so nothing of another run takes its place */
  find(keys: CallKeys, isUnderWay: boolean): Promise<FoundAnswer | null>;
}

/** The keys of a call: at least one of them is there. */
export interface CallKeys {
  /** Key in the cache of the whole store; `null`: the answer is not kept there. */
  readonly cache: string | null;
  /** Key among the answers of the session's job; `null`: the session is not that of a job. */
  readonly answer: AnswerKey | null;
  /** The model that the call asks, `provider/id`; empty if it has none. */
  readonly model: string;
}

interface FoundAnswer {
  readonly value: Json;
  /** The model that gave it; empty if unknown. */
  readonly model: string;
  /** Kinds of what was put right in it; undefined: nothing was. */
  readonly mended?: readonly string[] | undefined;
  /** Present if an earlier run asked for it. */
  readonly reused?: ReusedRecord;
}

interface Asking {
  readonly models: Models;
  readonly baseUrl: string | undefined;
}

/** The job that a session is of. */
interface CachedJob {
  readonly job: JobKey;
  /** Depth that children of its calls may have. */
  readonly maxDepth: number;
  /** Key of the session's context; `null`: it has none. */
  contextKey(): string | null;
  /** The records of the running exec. */
  running(): ExecRecords | null;
}

interface CacheParts extends Asking {
  readonly store: Pick<Store, "cached"> & { readonly jobs: Pick<Store["jobs"], "reuse"> };
  /** True if a call that asks the same as one of any session gets its answer. */
  readonly isShared: boolean;
  /** The second of equal calls of a job takes the second answer. `null`: the session is not that of a job. */
  readonly of: CachedJob | null;
}

/** An answer as the cache of the store keeps it. */
const Kept = v.object({
  value: v.custom<Json>(() => true),
  mended: v.fallback(v.optional(v.array(v.string())), undefined),
});

export function openCache(parts: CacheParts): AnswerCache {
  const { store, isShared, of } = parts;
  const keyed = of && openKeyed(of, parts);
  return {
    keyOf(request, callId, usual) {
      const plain = isShared ? plainQuestion(request, usual, parts) : null;
      const answer = of && keyed ? keyed(of.running(), callId) : null;
      if (plain === null && answer === null) return null;
      return { cache: plain && digest(plain), answer, model: request.model ?? parts.models.fallback ?? "" };
    },
    async find({ cache, answer, model: asked }, isUnderWay) {
      const shared = cache === null ? null : await store.cached(cache);
      if (isRecord(shared) && "value" in shared) return { ...v.parse(Kept, shared), model: asked };
      const known = answer === null ? null : await store.jobs.reuse({ ...answer, ownOnly: isUnderWay });
      if (known === null) return null;
      const { value, model, mended, from, tokens, nanodollars } = known;
      if (from === null) return { value, model, mended };
      return { value, model, mended, reused: { from, tokens, cost_usd: nanodollars / 1e9 } };
    },
  };
}

/** The keys of an exec's calls, each with its number among those that ask the same. Each record is looked at once. */
function openKeyed(of: CachedJob, asking: Asking): (records: ExecRecords | null, callId: string) => AnswerKey | null {
  let exec: string | undefined;
  let seen = 0;
  const keys = new Map<string, AnswerKey>();
  const times = new Map<string, number>();
  return (records, callId) => {
    if (!records) return null;
    if (records.start.exec_id !== exec) {
      exec = records.start.exec_id;
      seen = 0;
      keys.clear();
      times.clear();
    }
    for (const { call_id, name, args, sampling, thinking = "off" } of callsFrom(records, seen)) {
      if (!isSubCall(name)) continue;
      const asked = digest(questionOf({ ...sampling, ...readSubCall(name, args) }, thinking, asking, of));
      const k = times.get(asked) ?? 0;
      times.set(asked, k + 1);
      keys.set(call_id, { ...of.job, asked, k });
    }
    seen = callCount(records);
    return keys.get(callId) ?? null;
  };
}

/** SHA-256, hex, of what a call of a job asks: prompt, model and server, parameters, schema, tools and context. */
export function sumOfQuestion(
  request: SubCallRequest,
  usual: Thinking,
  asking: Asking,
  of: Pick<CachedJob, "contextKey" | "maxDepth">,
): string {
  return digest(questionOf(request, usual, asking, of));
}

function questionOf(
  request: SubCallRequest,
  usual: Thinking,
  { models, baseUrl }: Asking,
  { contextKey, maxDepth }: Pick<CachedJob, "contextKey" | "maxDepth">,
): readonly unknown[] {
  const { prompt, system, schema, or_text, model, max_tokens, tools, context, thinking } = request;
  const { max_turns, max_sub_calls, cites } = request;
  const sampling = samplingIn(request);
  const parameters = [max_tokens ?? null, thinking ?? usual, or_text ?? false, ...(sampling ? [sampling] : [])];
  const own = context && [
    "text" in context ? context.text : [contextKey(), context],
    [max_turns ?? null, max_sub_calls ?? null, cites ?? false, maxDepth],
  ];
  const asked = [
    model ?? models.fallback,
    prompt,
    system ?? null,
    schema ?? null,
    parameters,
    tools ?? null,
    own ?? null,
  ];
  // Two servers may have different models of one name.
  return baseUrl === undefined ? asked : [...asked, { baseUrl }];
}

/**
 * The question of a plain call, for the whole store; `null`: what a sub-agent reads may have changed, and what a model finds by
 * itself depends on its turns.
 */
function plainQuestion(
  request: SubCallRequest,
  usual: Thinking,
  { models, baseUrl }: Asking,
): readonly unknown[] | null {
  const { prompt, system, schema, or_text, model, max_tokens, tools, context, thinking } = request;
  if (tools?.length !== 0 || context) return null;
  const level = thinking ?? usual;
  const sampling = samplingIn(request);
  return [
    model ?? models.fallback,
    baseUrl ?? null,
    prompt,
    system ?? null,
    schema ?? null,
    max_tokens ?? LIMITS.subCallMaxTokens,
    ...(or_text ? [{ or_text }] : []),
    ...(level === "off" ? [] : [{ thinking: level }]),
    ...(sampling ? [sampling] : []),
  ];
}

const digest = (asked: readonly unknown[]) => createHash("sha256").update(JSON.stringify(asked)).digest("hex");
