import * as v from "valibot";
import { defineBuiltin, optional, string } from "./define.ts";

const Pattern = v.union(
  [v.string(), v.object({ source: v.string(), flags: v.string() })],
  "must be a string or a RegExp",
);

export const find = defineBuiltin({
  name: "find",
  signature: "function find(pattern: string | RegExp, flags?: string): FindResult",
  summary:
    "Regular-expression search over the whole of P in linear time, by Rust's regex dialect (no lookaround, no backreferences). Flags: i (ignore case), m (^ and $ at lines), s (. matches newlines). At most `limits().max_find_results` matches; `capped` says that there are more.",
  example: 'const { matches, capped } = find("TODO|FIXME", "i");\n({ count: matches.length, capped })',
  errors: {
    context_not_loaded: "no context is loaded",
    js_error: "the pattern or the flags are not of this dialect; the message says where",
  },
  types: `interface FindResult {
  /** [start, end] of each match: UTF-16 units of P, in order. */
  matches: [start: number, end: number][];
  /** True where P has more matches than the limit. */
  capped: boolean;
}`,
  params: { pattern: Pattern, flags: optional(string) },
  run(services, { pattern, flags }, scope) {
    const [source, own] = typeof pattern === "string" ? [pattern, ""] : [pattern.source, pattern.flags];
    const found = services.context().find(source, flags ?? own, scope.limits.max_find_results);
    if (found.capped) scope.warn("find_results_capped");
    return { matches: found.matches, capped: found.capped };
  },
});
