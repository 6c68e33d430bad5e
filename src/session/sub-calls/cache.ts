import { createHash } from "node:crypto";
import type { SubCallRequest } from "../../../builtins/index.ts";
import { type Json, LIMITS } from "../../../runtime/index.ts";
import type { Models } from "../../model/index.ts";
import type { Store } from "../../store/index.ts";

/** Answers of earlier identical plain calls. */
export interface AnswerCache {
  /** The key under which a call's answer is kept; null: the answer must not be used again. */
  keyOf(request: SubCallRequest): string | null;
  find(key: string): Promise<{ readonly value: Json } | null>;
}

export function openCache(store: Pick<Store, "cached">, models: Models, baseUrl: string | undefined): AnswerCache {
  return {
    keyOf({ prompt, system, schema, or_text, model, max_tokens, tools, context }) {
      // What a sub-agent reads may have changed. What a model finds by itself in a context depends on its turns and the budget.
      if (tools?.length !== 0 || context) return null;
      const asked = [
        model ?? models.fallback,
        baseUrl ?? null,
        prompt,
        system ?? null,
        schema ?? null,
        max_tokens ?? LIMITS.subCallMaxTokens,
        ...(or_text ? [{ or_text }] : []),
      ];
      return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
    },
    async find(key) {
      const found = await store.cached(key);
      return typeof found === "object" && found !== null && "value" in found ? { value: found.value } : null;
    },
  };
}
