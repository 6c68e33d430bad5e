import { Type } from "typebox";
import { defineTool } from "./define.ts";

export const rlm_helpers_list = defineTool({
  name: "rlm_helpers_list",
  label: "RLM helpers",
  description: "List helpers in the order in which they run; set_aside says why one is left out.",
  promptSnippet: "List helpers",
  parameters: Type.Object({}),
  run: async (session) => ({ helpers: await session.helpers.list() }),
  rest: "In rlm_exec, helpers.list() gives them all: print slices.",
  failureFields: { helpers: [] },
});
