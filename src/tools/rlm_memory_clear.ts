import { Type } from "typebox";
import { defineTool } from "./define.ts";

export const rlm_memory_clear = defineTool({
  name: "rlm_memory_clear",
  label: "RLM memory",
  description: "Remove all keys and values.",
  promptSnippet: "Clear stored values",
  parameters: Type.Object({}),
  async run(session) {
    await session.memory.clear();
    return {};
  },
  recorded: () => ({}),
  failureFields: {},
});
