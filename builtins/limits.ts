import { defineBuiltin } from "./define.ts";

export const limits = defineBuiltin({
  name: "limits",
  signature: "function limits(): Limits",
  summary: "Limits of this exec: output in bytes, running time in ms, matches of one find, result in bytes.",
  example: "limits()",
  types: `interface Limits {
  max_output_bytes: number;
  max_execution_ms: number;
  max_find_results: number;
  max_result_bytes: number;
}`,
  params: {},
  run: (_services, _args, scope) => ({ ...scope.limits }),
});
