import { remainingBudget } from "./budget.ts";
import type { Builtin } from "./define.ts";

export const session: Builtin = {
  name: "session",
  signature: "function session(): SessionManifest",
  summary: "Everything about the session in one call: sources, context, helpers, memory, budget, limits.",
  example:
    "const { sources, memory_keys, budget: left } = session();\n({ sources, memory_keys, left: left.sub_calls })",
  types: `interface SessionManifest {
  sources: string[];
  context_chars: number;
  context_tokens_estimate: number;
  context_hash: string | null;
  helpers: string[];
  memory_keys: string[];
  memory_bytes_used: number;
  budget: Budget;
  limits: Limits;
}`,
  source: new URL("./session.guest.js", import.meta.url),
  host: {
    "session.host": (services, _args, scope) => {
      const context = services.loaded();
      return {
        sources: context?.sources ?? [],
        context_chars: context?.length ?? 0,
        context_tokens_estimate: Math.floor((context?.length ?? 0) / 4),
        context_hash: context?.hash ?? null,
        budget: remainingBudget(scope),
        limits: { ...scope.limits },
      };
    },
  },
};
