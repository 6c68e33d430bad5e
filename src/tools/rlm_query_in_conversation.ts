import { Type } from "typebox";
import { RlmError } from "../../runtime/index.ts";
import { NOTHING_READ, NOTHING_RUN } from "../nothing-run.ts";
import type { QueryEnvelope } from "../session/index.ts";
import { defineReadingTool } from "./define.ts";
import { factsOf, readObjects, UNREAD } from "./read-objects.ts";
import { rlm_query, SECTIONS, sectionsRead } from "./rlm_query.ts";

const text = Type.Optional(Type.String());

/** Of a host whose conversation has objects: with a target a model reads that alone. */
export const rlm_query_in_conversation = defineReadingTool({
  name: rlm_query.name,
  label: rlm_query.label,
  description:
    "Answer a simple question without code. About P: finds sections, lets a model read each, merges the notes. With target, one text by its id: a model reads it all. Changes nothing but the budget. For anything more exact use rlm_exec.",
  promptSnippet: "Ask a simple question about P or one text",
  guidelines: [
    "rlm_query, rlm_batch and rlm_ask cost tokens: look up small things directly, or with rlm_search and rlm_peek.",
  ],
  parameters: Type.Object({
    prompt: Type.Optional(Type.String({ description: "Question or task" })),
    instructions: Type.Optional(Type.String({ description: "The same" })),
    target: text,
    model: text,
    ...SECTIONS,
  }),
  async run(open, args, call) {
    const { target, model } = args;
    const instructions = questionIn(args);
    if (target === undefined) {
      if (model !== undefined) throw misfit("model is for calls with target");
      return sectionsRead(await open(), { ...args, prompt: instructions }, call);
    }
    const other = ["max_sections", "search_strategy"].find((key) => Reflect.get(args, key) !== undefined);
    if (other !== undefined) throw misfit(`${other} is for calls without target`);
    return ofOneObject(await readObjects(open, { tool: "rlm_query", instructions, targets: [target], model }, call));
  },
  recorded: ({ target }, { envelope, query }) =>
    query && target !== undefined ? ofOneObject(query) : (envelope ?? {}),
  failureFields: { ...NOTHING_RUN, ...NOTHING_READ, ...UNREAD },
});

/** `prompt` and `instructions` are one parameter under two names. @throws RlmError `invalid_argument` */
function questionIn({ prompt, instructions }: { readonly prompt?: string; readonly instructions?: string }): string {
  const given = prompt ?? instructions;
  if (given !== undefined && (prompt === undefined || instructions === undefined)) return given;
  throw misfit(given === undefined ? "prompt is missing" : "prompt and instructions are two names of one parameter");
}

function misfit(problem: string): RlmError {
  const suggestion = "Pass prompt with max_sections and search_strategy, or prompt with target and model.";
  return new RlmError("invalid_argument", `rlm_query: ${problem}`, { suggestion });
}

/** The answer of a query that read one object. */
function ofOneObject(envelope: QueryEnvelope): object {
  const [read] = envelope.results ?? [];
  const { estimate } = envelope;
  return { ...UNREAD, ...factsOf(envelope), ...read, ...(estimate ? { estimate } : {}) };
}
