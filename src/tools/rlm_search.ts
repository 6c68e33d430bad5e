import { Type } from "typebox";
import { defineConversationTool } from "./define.ts";

export const rlm_search = defineConversationTool({
  name: "rlm_search",
  label: "RLM search",
  description: "Search this whole conversation and P, however old. Answers ids and offsets for rlm_peek, at most 50.",
  promptSnippet: "Search all of the conversation and P",
  parameters: Type.Object({
    pattern: Type.String({ minLength: 1, description: "Text in any case, or /regex/flags as for find" }),
    scope: Type.Optional(Type.Array(Type.String(), { description: "Ids to search" })),
  }),
  answersText: true,
  async run(conversation, params, { signal }) {
    // A server lists its tools before what works with texts is loaded.
    const { searchConversation } = await import("./search-conversation.ts");
    return { text: await searchConversation(conversation, params, signal) };
  },
  failureFields: {},
});
