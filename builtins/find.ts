import * as v from "valibot";
import type { Json } from "../runtime/index.ts";
import { defineBuiltin, optional, pattern, string } from "./define.ts";
import type { ContextServices, Range } from "./services.ts";

const Options = v.strictObject(
  { docs: v.exactOptional(v.boolean("docs must be true or false")) },
  "must be { docs: true }",
);

export const find = defineBuiltin({
  name: "find",
  signature: `function find(pattern: string | RegExp, flags?: string): FindResult
function find(pattern: string | RegExp, flags: string | undefined, options: { docs: true }): FoundPlaces`,
  summary:
    "Regular-expression search over the whole of P in linear time, by Rust's regex dialect (no lookaround, no backreferences). Flags: i (ignore case), m (^ and $ at lines), s (. matches newlines). At most `limits().max_find_results` matches; `capped` says that there are more. With `docs: true` each match has its document, line and column.",
  brief:
    "Linear-time regex search over all of P, in Rust's dialect: no lookaround, no backreferences; flags i m s. A third argument { docs: true } gives { id, line, column, text } of each match",
  example: 'const { matches, capped } = find("TODO|FIXME", "i");\n({ count: matches.length, capped })',
  errors: {
    context_not_loaded: "no context is loaded",
    js_error: "the pattern or the flags are not of this dialect; the message says where",
  },
  types: `interface FindResult {
  /** [start, end] of each match: UTF-16 units of P, in order. */
  matches: [start: number, end: number][];
  /** True if P has more matches than the limit. */
  capped: boolean;
}
interface FoundPlaces {
  matches: FoundPlace[];
  capped: boolean;
}
interface FoundPlace {
  /** The document's id. */
  id: string;
  /** The match: UTF-16 units of P. */
  start: number;
  end: number;
  /** In the document, from 1; column in UTF-16 units. */
  line: number;
  column: number;
  /** The line that the match begins on; of a long one about 200 units around it. */
  text: string;
  /** Present in converted documents: p.12, as doc_at gives it. */
  place?: string;
}`,
  params: { pattern, flags: optional(string), options: optional(Options) },
  run(services, { pattern, flags, options }, scope) {
    const context = services.context();
    const limit = scope.limits.max_find_results;
    const { matches, capped } = context.find(pattern.source, flags ?? pattern.flags, limit, scope.checkTime);
    context.coverage.matched(matches);
    if (capped) scope.warn("find_results_capped");
    if (options?.docs !== true) return { matches, capped };
    scope.offClock(() => context.prepareLines());
    return { matches: matches.map((range) => foundPlace(context, range)), capped };
  },
});

function foundPlace(context: ContextServices, [start, end]: Range): Json {
  const { id = "", line = 1, column = 1, place = null } = context.place(start) ?? {};
  const found = { id, start, end, line, column, text: context.lineText(start) };
  return place === null ? found : { ...found, place };
}
