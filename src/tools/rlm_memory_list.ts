import { Type } from "typebox";
import { defineTool } from "./define.ts";

export const rlm_memory_list = defineTool({
  name: "rlm_memory_list",
  label: "RLM memory",
  description: "List the keys.",
  promptSnippet: "List stored keys",
  parameters: Type.Object({}),
  run: async (session) => ({ keys: await session.memory.list() }),
  rest: "In rlm_exec, memory.list() gives them all: print slices.",
  failureFields: { keys: [] },
});
