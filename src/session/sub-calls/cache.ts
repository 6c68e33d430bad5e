import { createHash } from "node:crypto";
import { readSubCall, type SubCallRequest } from "../../../builtins/index.ts";
import { type Json, LIMITS, type Thinking } from "../../../runtime/index.ts";
import type { Models } from "../../model/index.ts";
import type { Store } from "../../store/index.ts";
import { callCount, callsFrom, type ExecRecords } from "../journal/exec-records.ts";

/** Answers of earlier identical plain calls. */
export interface AnswerCache {
  /** The key under which a call's answer is kept; null: the answer must not be used again. */
  keyOf(request: SubCallRequest, callId: string, usual: Thinking): string | null;
  find(key: string): Promise<{ readonly value: Json } | null>;
}

interface Asking {
  readonly models: Models;
  readonly baseUrl: string | undefined;
}

/** A scope of sessions that run the same cell anew. */
interface Scope {
  /** Names what these sessions have in common. */
  readonly scope: string;
  /** The records of the running exec. */
  running(): ExecRecords | null;
}

/**
 * Opens a cache for all sessions of the store, where a call that asks the same gets the same answer, or for those of a scope. A cell
 * may ask the same several times and want different answers, so in a scope its second call gets what the second call got before.
 */
export function openCache(store: Pick<Store, "cached">, asking: Asking, scoped?: Scope): AnswerCache {
  const keyed = scoped && openKeyed(scoped.scope, asking);
  return {
    keyOf(request, callId, usual) {
      if (keyed) return keyed(scoped.running(), callId);
      const asked = askedBy(request, usual, asking);
      return asked && digest(asked);
    },
    async find(key) {
      const found = await store.cached(key);
      return typeof found === "object" && found !== null && "value" in found ? { value: found.value } : null;
    },
  };
}

/** The keys of an exec's calls, each with its number among those that ask the same. Each record is looked at once. */
function openKeyed(scope: string, asking: Asking): (records: ExecRecords | null, callId: string) => string | null {
  let exec: string | undefined;
  let seen = 0;
  const keys = new Map<string, string>();
  const times = new Map<string, number>();
  return (records, callId) => {
    if (!records) return null;
    if (records.start.exec_id !== exec) {
      exec = records.start.exec_id;
      seen = 0;
      keys.clear();
      times.clear();
    }
    for (const { call_id, name, args, thinking = "off" } of callsFrom(records, seen)) {
      const asked = askedBy(readSubCall(name, args), thinking, asking);
      if (!asked) continue;
      const same = digest(asked);
      const number = times.get(same) ?? 0;
      times.set(same, number + 1);
      keys.set(call_id, digest([scope, number, ...asked]));
    }
    seen = callCount(records);
    return keys.get(callId) ?? null;
  };
}

/**
 * The question of a plain call; null: what a sub-agent reads may have changed, and what a model finds by itself depends on
 * its turns.
 */
function askedBy(
  { prompt, system, schema, or_text, model, max_tokens, tools, context, thinking }: SubCallRequest,
  usual: Thinking,
  { models, baseUrl }: Asking,
): readonly Json[] | null {
  if (tools?.length !== 0 || context) return null;
  const level = thinking ?? usual;
  return [
    model ?? models.fallback,
    baseUrl ?? null,
    prompt,
    system ?? null,
    schema ?? null,
    max_tokens ?? LIMITS.subCallMaxTokens,
    ...(or_text ? [{ or_text }] : []),
    // Answers of earlier builds stay known.
    ...(level === "off" ? [] : [{ thinking: level }]),
  ];
}

const digest = (asked: readonly Json[]) => createHash("sha256").update(JSON.stringify(asked)).digest("hex");
