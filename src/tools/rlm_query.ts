import { SEARCH_STRATEGIES } from "../query/index.ts";
import { emptyEnvelope, emptyQueryEnvelope } from "../session/empty-envelope.ts";
import type { Session } from "../session/index.ts";
import { type Arguments, checkContext, defineTool, type Signals } from "./define.ts";

/** Parameters that choose sections. */
export const SECTIONS = {
  max_sections: { type: "integer", minimum: 1, maximum: 50, default: 10 },
  search_strategy: { enum: SEARCH_STRATEGIES, type: "string", default: "auto" },
} as const;

const PARAMETERS = {
  type: "object",
  required: ["prompt"],
  properties: { prompt: { type: "string", description: "Question or task" }, ...SECTIONS },
} as const;

/** The tool of a host without conversations. */
export const rlm_query = defineTool({
  name: "rlm_query",
  label: "RLM query",
  description:
    "Answer a simple question about P without code: finds sections, lets a model read each, merges the notes. Changes nothing but the budget. For anything more exact use rlm_exec.",
  promptSnippet: "Ask a simple question about context P",
  parameters: PARAMETERS,
  run: sectionsRead,
  recorded: (_args, { envelope }) => envelope ?? {},
  failureFields: { ...emptyEnvelope, ...emptyQueryEnvelope },
});

/** Has a model read the sections of P that fit. */
export async function sectionsRead(
  session: Session,
  { prompt, max_sections, search_strategy }: Arguments<typeof PARAMETERS>,
  { signal, suspend }: Signals,
): Promise<object> {
  checkContext(session);
  return session.query(prompt, { maxSections: max_sections, searchStrategy: search_strategy, signal, suspend });
}
