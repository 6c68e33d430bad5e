import { Type } from "typebox";
import type { ExecLimits } from "../../runtime/index.ts";
import { NOTHING_RUN } from "../nothing-run.ts";
import { cellDescription } from "./cell-description.ts";
import { checkContext } from "./context-needed.ts";
import { defineTool, type Tool } from "./define.ts";

const limit = () => Type.Optional(Type.Integer({ minimum: 1 }));

/** The tool of a host without conversations. */
export const rlm_exec = defineTool({
  name: "rlm_exec",
  label: "RLM exec",
  description: cellDescription(),
  promptSnippet: "Run JavaScript over context P, with sub-calls to a model",
  guidelines: ["In rlm_exec print little, put findings into result, keep intermediate values in variables."],
  parameters: Type.Object({
    code: Type.String({ description: "JavaScript" }),
    limits_override: Type.Optional(
      Type.Object(
        { max_output_bytes: limit(), max_execution_ms: limit(), max_find_results: limit() },
        { description: "For this call; clamped by policy" },
      ),
    ),
  }),
  rest: "Variables persist: keep the value in one, and print slices of it in further rlm_exec calls.",
  async run(session, { code, limits_override = {} }, { signal, suspend, conversation }) {
    if (!conversation) checkContext(session);
    const history = await conversation?.history();
    const limits: Partial<ExecLimits> = limits_override;
    return session.exec(code, { limits, signal, suspend, ...(history ? { history } : {}) });
  },
  recorded: (_args, { envelope }) => envelope ?? {},
  failureFields: { traceback: "", ...NOTHING_RUN },
});

/** The tool of a host whose cells read the conversation. */
export const rlm_exec_in_conversation: Tool = { ...rlm_exec, description: cellDescription({ conversation: true }) };
