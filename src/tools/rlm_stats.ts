import { Type } from "typebox";
import { defineConversationTool } from "./define.ts";

export const rlm_stats = defineConversationTool({
  name: "rlm_stats",
  label: "RLM stats",
  description: "Sizes of the conversation, its window and P; texts in it, out and folded; budget left.",
  promptSnippet: "See sizes and budget",
  parameters: Type.Object({}),
  run: (conversation) => conversation.stats(),
  failureFields: {},
});
