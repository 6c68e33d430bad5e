memory.put("b", [1]);
memory.put("a", "x");
helpers.add("second", "function two() { return 2 }");
helpers.add("first", "const one = 1");
//---
const { sources, budget: left, ...rest } = session();
result = { ...rest, sources: sources.length, left: Object.keys(left) };
//=> {"result_json":{"context_chars":1563,"context_tokens_estimate":390,"helpers":["second","first"],
//   "memory_keys":["b","a"],"memory_bytes_used":8,"sources":1,
//   "left":["tokens","sub_calls","time_ms","remaining_tokens","remaining_sub_calls","remaining_time_ms",
//   "spent_tokens","spent_cost_usd"],
//   "limits":{"max_output_bytes":102400,"max_execution_ms":30000,"max_find_results":10000,"max_result_bytes":1048576}}}
