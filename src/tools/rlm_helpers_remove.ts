import { Type } from "typebox";
import { defineTool } from "./define.ts";

export const rlm_helpers_remove = defineTool({
  name: "rlm_helpers_remove",
  label: "RLM helper",
  description: "Remove a helper. removed is false if there was none.",
  promptSnippet: "Remove a helper",
  parameters: Type.Object({ name: Type.String() }),
  run: async (session, { name }) => ({ name, removed: await session.helpers.remove(name) }),
  recorded: ({ name }, { before }) => ({ name, removed: before.helpers.some((helper) => helper.name === name) }),
  failureFields: { name: null, removed: false },
});
