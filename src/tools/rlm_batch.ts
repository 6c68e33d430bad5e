import { emptyEnvelope } from "../session/empty-envelope.ts";
import type { QueryEnvelope } from "../session/index.ts";
import { defineOpeningTool } from "./define.ts";
import { factsOf, readObjects } from "./read-objects.ts";

export const rlm_batch = defineOpeningTool({
  name: "rlm_batch",
  label: "RLM batch",
  description:
    "rlm_query with the same instructions for each of many objects, in parallel. A failure replaces an answer.",
  promptSnippet: "Ask the same of many objects by their ids",
  guidelines: ["To ask the same of many files use rlm_ingest, then rlm_batch with the ids that it answers."],
  parameters: {
    type: "object",
    required: ["instructions", "targets"],
    properties: {
      instructions: { type: "string" },
      targets: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 100 },
      model: { type: "string" },
    },
  },
  rest: "Ask for shorter answers, or about fewer objects at a time.",
  run: async (open, { instructions, targets, model }, call) =>
    resultsOf(await readObjects(open, { tool: "rlm_batch", instructions, targets, model, passesOver: true }, call)),
  recorded: (_args, { query }) => (query ? resultsOf(query) : {}),
  failureFields: { ...emptyEnvelope, results: [], answered: 0, failed: 0 },
});

/** The answers of a query that read objects, in their order. */
function resultsOf(envelope: QueryEnvelope): object {
  const { results = [], estimate } = envelope;
  const failed = results.filter((read) => "error" in read).length;
  const counts = { answered: results.length - failed, failed };
  return { ...factsOf(envelope), results, ...counts, ...(estimate ? { estimate } : {}) };
}
