import { RlmError } from "../../runtime/index.ts";
import { emptyEnvelope, emptyQueryEnvelope } from "../session/empty-envelope.ts";
import type { QueryEnvelope } from "../session/index.ts";
import { defineOpeningTool } from "./define.ts";
import { factsOf, readObjects, UNREAD } from "./read-objects.ts";
import { rlm_query, SECTIONS, sectionsRead } from "./rlm_query.ts";

/**
 * The query of a host whose conversation has objects: with a target a model reads that alone, and
 * several together.
 */
export const rlm_query_in_conversation = defineOpeningTool({
  name: rlm_query.name,
  label: rlm_query.label,
  description:
    "Answer a simple question without code. About P: finds sections, lets a model read each, merges the notes. With target, objects by their ids: a model reads all of them together. Changes nothing but the budget. For anything more exact use rlm_exec.",
  promptSnippet: "Ask a simple question about P or objects",
  guidelines: [
    "rlm_query, rlm_batch and rlm_ask cost tokens: look up small things directly, or with rlm_search and rlm_peek.",
  ],
  parameters: {
    type: "object",
    properties: {
      prompt: { type: "string", description: "Question or task" },
      instructions: { type: "string", description: "The same" },
      target: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 1, maxItems: 100 }] },
      model: { type: "string" },
      ...SECTIONS,
    },
  },
  async run(open, args, call) {
    const { target, model } = args;
    const instructions = questionIn(args);
    if (target === undefined) {
      if (model !== undefined) throw misfit("model is for calls with target");
      return sectionsRead(await open(), { ...args, prompt: instructions }, call);
    }
    const other = ["max_sections", "search_strategy"].find((key) => Reflect.get(args, key) !== undefined);
    if (other !== undefined) throw misfit(`${other} is for calls without target`);
    const targets = typeof target === "string" ? [target] : target;
    const asked = { tool: "rlm_query", instructions, targets, model, together: targets.length > 1 };
    return ofOneReading(await readObjects(open, asked, call));
  },
  recorded: ({ target }, { envelope, query }) =>
    query && target !== undefined ? ofOneReading(query) : (envelope ?? {}),
  failureFields: { ...emptyEnvelope, ...emptyQueryEnvelope, ...UNREAD },
});

/**
 * `prompt` and `instructions` are one parameter under two names. @throws RlmError
 * `invalid_argument`
 */
function questionIn({ prompt, instructions }: { readonly prompt?: string; readonly instructions?: string }): string {
  const given = prompt ?? instructions;
  if (given !== undefined && (prompt === undefined || instructions === undefined)) return given;
  throw misfit(given === undefined ? "prompt is missing" : "prompt and instructions are two names of one parameter");
}

function misfit(problem: string): RlmError {
  const suggestion = "Pass prompt with max_sections and search_strategy, or prompt with target and model.";
  return new RlmError("invalid_argument", `rlm_query: ${problem}`, { suggestion });
}

/** The answer of a query in which one model has read. */
function ofOneReading(envelope: QueryEnvelope): object {
  const [read] = envelope.results ?? [];
  const { estimate } = envelope;
  return { ...UNREAD, ...factsOf(envelope), ...read, ...(estimate ? { estimate } : {}) };
}
