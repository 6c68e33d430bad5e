import { defineConversationTool } from "./define.ts";

export const rlm_stats = defineConversationTool({
  name: "rlm_stats",
  label: "RLM stats",
  description: "Sizes of the conversation, its window and P; objects in, out, folded; budget; calls; on or off.",
  promptSnippet: "See sizes and budget",
  parameters: { type: "object", properties: {} },
  run: (conversation) => conversation.stats(),
  failureFields: {},
});
