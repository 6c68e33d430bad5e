import type { Json } from "../../../runtime/index.ts";
import { type ContextStats, unreadSentence } from "../../context/index.ts";
import { CELL_TOOL } from "./reply.ts";

/**
 * Version 1 of what a root model is told. The text never changes within an ask: it is kept with its start. A change of the
 * words here is a new version.
 */
export const PROMPT_VERSION = 1;

/** The system prompt. @param reference the builtins, a line each. @param mayRecurse calls may have a context of their own */
export function systemPrompt(reference: string, mayRecurse: boolean): string {
  return [OPENING, ...RULES, ...(mayRecurse ? [RECURSION] : []), ENDING, `Builtins:\n${reference}`].join("\n\n");
}

const OPENING = `You answer a question about a context P that is too large to read. You see P only through JavaScript cells (ES2023, top-level await; no modules, network or files), which run in a sandbox that keeps its top-level variables. Run a cell with the tool ${CELL_TOOL}, or, if you have no tools, by writing one block fenced as \`\`\`js and stopping after it.`;

const RULES = [
  "Look first and guess nothing: print the size of P, its documents and some parts of it before you decide how to search. You see at most 10,000 characters of a cell's output, so print what you need and no more.",
  "Let code count, filter, sort and compare; let models judge and read. llm_query(prompt) asks a model that sees the prompt alone: put the text that it needs into it, up to some 100,000 characters. Ask many at once with llm_query_batch rather than one after the other, and few fat prompts rather than many thin ones.",
  "Failed calls have a `code`; budget() says what is left. Keep in variables what you have found.",
];

const RECURSION =
  "A part of P that needs a search of its own is a call with `context`: llm_query(question, { context: [start, end] }) gives that part to a model with a sandbox like yours. It costs more than a prompt: use it if the part is too large to read at once.";

const ENDING =
  "End with answer(value) in a cell, once you have seen in an output what you claim; answer(value, { cite: [[start, end], …] }) names the places of P that it rests on, which a text may call [1], [2] and so on. A value computed in code need not be printed first.";

/**
 * The first message: the question, and what is known of P without reading it.
 * @param schema of the answer, or null. @param part a sentence that says what part of a larger context P is, for a child; else null
 */
export function firstMessage(question: string, stats: Stats, schema: Json, part: string | null): string {
  return [
    question,
    contextLine(stats),
    ...unreadLines(stats),
    ...(part === null ? [] : [part]),
    ...(schema === null ? [] : [`Answer as JSON that fits: ${JSON.stringify(schema)}`]),
  ].join("\n\n");
}

type Stats = Pick<ContextStats, "length_chars" | "document_count" | "sources" | "skipped" | "replaced">;

const SOURCES_SHOWN = 5;

function contextLine({ length_chars, document_count, sources, replaced = 0 }: Stats): string {
  const shown = sources.slice(0, SOURCES_SHOWN).join(", ");
  const more = sources.length > SOURCES_SHOWN ? `, … ${sources.length - SOURCES_SHOWN} more` : "";
  const documents = document_count === 1 ? "1 document" : `${document_count} documents`;
  const older =
    replaced === 0
      ? ""
      : ` Of these, ${replaced} are older texts of files that have changed: list_docs names the newer text in replaced_by.`;
  return `P has ${length_chars} characters in ${documents}, from ${shown}${more}.${older}`;
}

/** A line about files that P lacks, so that the model does not take them for read; none if all could be read. */
function unreadLines({ skipped }: Stats): string[] {
  const sentence = unreadSentence(skipped, "stats().skipped lists them");
  return sentence === null ? [] : [`${sentence} P lacks them: say so if the answer may stand in one of them.`];
}
