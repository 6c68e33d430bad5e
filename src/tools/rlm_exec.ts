import { type Builtin, builtins, cellReference } from "../../builtins/index.ts";
import { DEFAULT_BUDGET, DEFAULT_EXEC_LIMITS, type ExecLimits } from "../../runtime/index.ts";
import { emptyEnvelope } from "../session/empty-envelope.ts";
import { checkContext, defineTool, type Tool } from "./define.ts";

const LIMIT = { type: "integer", minimum: 1 } as const;

/**
 * The model's text about rlm_exec: the rules of a cell, the builtins by their definitions, two
 * patterns.
 *
 * @param conversation cells can read the conversation
 */
export function cellDescription(conversation = false, defined: readonly Builtin[] = builtins): string {
  return `${RULES}\n\n${cellReference(defined, "named", conversation)}\n\n${PATTERNS}`;
}

const SECONDS = DEFAULT_EXEC_LIMITS.max_execution_ms / 1000;

const RULES = `Run a JavaScript cell (ES2023, top-level await; no modules, network, files) over the context P. Top-level variables persist across calls. Set result (JSON) to return it as result_json, result_meta for paging facts; print() goes to stdout. Answers are cut at 50 KB: filter and aggregate in code. By default a cell may run ${SECONDS} s, waiting excepted, and a question has ${DEFAULT_BUDGET.max_sub_calls} sub-calls: budget() tells what is left.`;

const PATTERNS = `Search, then let models read the parts:
const hits = search("retry policy", 8);
result = (await llm_query_batch(hits.map((h) => "Which retries?\\n" + h.text), { tools: [] })).results;

Count exactly, keep the rest for later:
const { matches, capped } = find("TODO|FIXME", "i");
memory.put("todos", matches);
result = { count: matches.length, capped, first: matches.slice(0, 5).map(([s, e]) => peek(s - 40, e + 60)) };`;

/** The tool of a host without conversations. */
export const rlm_exec = defineTool({
  name: "rlm_exec",
  label: "RLM exec",
  description: cellDescription(),
  promptSnippet: "Run JavaScript over context P, with sub-calls to a model",
  guidelines: ["In rlm_exec print little, put findings into result, keep intermediate values in variables."],
  parameters: {
    type: "object",
    required: ["code"],
    properties: {
      code: { type: "string", description: "JavaScript" },
      limits_override: {
        type: "object",
        properties: { max_output_bytes: LIMIT, max_execution_ms: LIMIT, max_find_results: LIMIT },
        description: "For this call; clamped by policy",
      },
    },
  },
  rest: "Variables persist: keep the value in one, and print slices of it in further rlm_exec calls.",
  async run(session, { code, limits_override = {} }, { signal, suspend, conversation }) {
    if (!conversation) checkContext(session);
    const history = await conversation?.history();
    const limits = withinSettings(session.limits, limits_override);
    return session.exec(code, { limits, signal, suspend, ...(history ? { history } : {}) });
  },
  recorded: (_args, { envelope }) => envelope ?? {},
  failureFields: { traceback: "", ...emptyEnvelope },
});

/**
 * The limits that a model asks for, but none beyond one that the user has set. Where the user has
 * set none, policy clamps it.
 */
function withinSettings(set: Readonly<ExecLimits>, asked: Partial<ExecLimits>): Partial<ExecLimits> {
  const limits = { ...asked };
  for (const name of ["max_output_bytes", "max_execution_ms", "max_find_results"] as const) {
    const wanted = asked[name];
    if (wanted !== undefined && set[name] !== DEFAULT_EXEC_LIMITS[name]) limits[name] = Math.min(wanted, set[name]);
  }
  return limits;
}

/** The tool of a host whose cells read the conversation. */
export const rlm_exec_in_conversation: Tool = { ...rlm_exec, description: cellDescription(true) };
