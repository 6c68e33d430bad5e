import { type Builtin, builtins, cellReference } from "../../builtins/index.ts";
import { DEFAULT_BUDGET, DEFAULT_EXEC_LIMITS } from "../../runtime/index.ts";

/** The model's text about rlm_exec: the rules of a cell, the builtins by their definitions, two patterns. */
export function cellDescription({
  defined = builtins,
  conversation = false,
}: {
  readonly defined?: readonly Builtin[];
  /** Cells can read the conversation. */
  readonly conversation?: boolean;
} = {}): string {
  return `${RULES}\n\n${cellReference(defined, "named", conversation)}\n\n${PATTERNS}`;
}

const SECONDS = DEFAULT_EXEC_LIMITS.max_execution_ms / 1000;

const RULES = `Run a JavaScript cell (ES2023, top-level await; no modules, network, files) over the context P. Top-level variables persist across calls. Set result (JSON) to return it as result_json, result_meta for paging facts; print() goes to stdout. Answers are cut at 50 KB: filter and aggregate in code. By default a cell may run ${SECONDS} s, waiting excepted, and a context has ${DEFAULT_BUDGET.max_sub_calls} sub-calls: budget() tells what is left.`;

const PATTERNS = `Search, then let models read the parts:
const hits = search("retry policy", 8);
result = (await llm_query_batch(hits.map((h) => "Which retries?\\n" + h.text), { tools: [] })).results;

Count exactly, keep the rest for later:
const { matches, capped } = find("TODO|FIXME", "i");
memory.put("todos", matches);
result = { count: matches.length, capped, first: matches.slice(0, 5).map(([s, e]) => peek(s - 40, e + 60)) };`;
