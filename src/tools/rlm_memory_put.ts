import { Type } from "typebox";
import { defineTool } from "./define.ts";
import { JSON_VALUE, jsonOf } from "./json-value.ts";

export const rlm_memory_put = defineTool({
  name: "rlm_memory_put",
  label: "RLM memory",
  description: "Store a JSON value under a key (overwrites). Cells read it with memory.get(key).",
  promptSnippet: "Store a JSON value for later rlm calls",
  parameters: Type.Object({ key: Type.String(), value: JSON_VALUE }),
  async run(session, { key, value }) {
    await session.memory.put(key, jsonOf(value));
    return { key };
  },
  recorded: ({ key }) => ({ key }),
  failureFields: { key: null },
});
