import { defineBuiltin, optional, pattern, string } from "./define.ts";

export const count = defineBuiltin({
  name: "count",
  signature: "function count(pattern: string | RegExp, flags?: string): number",
  summary: "How often a pattern matches in the whole of P: as `find` with the same arguments, but without a limit.",
  brief: "Number of matches in the whole of P, by find's pattern and flags, without its limit",
  example: 'count("TODO|FIXME", "i")',
  errors: {
    context_not_loaded: "no context is loaded",
    js_error: "the pattern or the flags are not of find's dialect; the message says where",
  },
  params: { pattern, flags: optional(string) },
  run: (services, { pattern, flags }, scope) =>
    services.context().count(pattern.source, flags ?? pattern.flags, scope.checkTime),
});
