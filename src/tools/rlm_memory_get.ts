import { Type } from "typebox";
import { defineTool } from "./define.ts";

export const rlm_memory_get = defineTool({
  name: "rlm_memory_get",
  label: "RLM memory",
  description: "Read the value of a key; null if there is none.",
  promptSnippet: "Read a stored value",
  parameters: Type.Object({ key: Type.String() }),
  run: async (session, { key }) => ({ key, value: await session.memory.get(key) }),
  rest: "In rlm_exec, memory.get(key) gives the whole value: print slices or parts of it.",
  failureFields: { key: null, value: null },
});
