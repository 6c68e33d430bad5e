import type { Answers } from "../../src/session/sub-calls/port.ts";

/** Answers every prompt with its length, without a network; one whose asking aborts the session is never answered. */
export function lengthAnswers({ onAsked }: { readonly onAsked?: (prompt: string) => void } = {}): Answers {
  return {
    facts: { no_model: null },
    async answer({ args: [prompt] }, { signal }) {
      onAsked?.(String(prompt));
      const aborted = { name: "SubAgentError", code: "cancelled", message: "cancelled", suggestion: "" };
      return {
        settlement: signal.aborted ? { ok: false, error: aborted } : { ok: true, value: `${String(prompt).length}` },
        record: RECORD,
        cacheKey: null,
      };
    },
    repeatable: () => true,
  };
}

/** Fields of the record of an answer that came at once from its model. */
export const AT_ONCE = { attempts: [], refused: false, cached: false, tool_override_event: null } as const;

const NO_COST = { input: 1, output: 1, cache_read: 0, cache_write: 0, cost_usd: 0 };
const RECORD = { usage: NO_COST, model: "local/length", ...AT_ONCE };
