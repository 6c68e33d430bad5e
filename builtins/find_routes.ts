import { LIMITS } from "../runtime/index.ts";
import { defineBuiltin, integer, optional, string } from "./define.ts";

export const find_routes = defineBuiltin({
  name: "find_routes",
  signature: "function find_routes(topic: string, limit?: number): Route[]",
  summary:
    "Entries of the context's AGENTS.md files that fit a topic, best first, with prefix and fuzzy matching; an entry is `- [label](path) — description`, and limit is 10 by default and at most 50.",
  example: 'find_routes("testing").map(({ path }) => path)',
  errors: { context_not_loaded: "no context is loaded", js_error: "an argument is of the wrong type" },
  types: `interface Route {
  /** Relative to the root of the context. */
  path: string;
  description: string;
  /** 0..1 */
  relevance: number;
  label: string;
}`,
  params: { topic: string, limit: optional(integer) },
  run: (services, { topic, limit = 10 }) =>
    services
      .context()
      .routes(topic, Math.min(Math.max(limit, 1), LIMITS.routeResults))
      .map((route) => ({ ...route })),
});
