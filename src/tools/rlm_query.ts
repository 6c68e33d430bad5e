import { Type } from "typebox";
import { NOTHING_READ, NOTHING_RUN } from "../nothing-run.ts";
import { SEARCH_STRATEGIES } from "../query/index.ts";
import { checkContext } from "./context-needed.ts";
import { defineTool } from "./define.ts";

export const rlm_query = defineTool({
  name: "rlm_query",
  label: "RLM query",
  description:
    "Answer a simple question about P without code: finds sections, lets a model read each, merges the notes. Changes nothing but the budget. For anything more exact use rlm_exec.",
  promptSnippet: "Ask a simple question about context P",
  parameters: Type.Object({
    prompt: Type.String({ description: "Question or task" }),
    max_sections: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 10 })),
    search_strategy: Type.Optional(Type.Enum([...SEARCH_STRATEGIES], { type: "string", default: "auto" })),
  }),
  async run(session, { prompt, max_sections, search_strategy }, { signal, suspend }) {
    checkContext(session);
    return session.query(prompt, {
      ...(max_sections === undefined ? {} : { maxSections: max_sections }),
      ...(search_strategy === undefined ? {} : { searchStrategy: search_strategy }),
      signal,
      suspend,
    });
  },
  recorded: (_args, { envelope }) => envelope ?? {},
  failureFields: { ...NOTHING_RUN, ...NOTHING_READ },
});
