import type { Json } from "../../../runtime/index.ts";
import { type ContextStats, DELETED_KIND, largeNote, unreadSentence } from "../../context/index.ts";
import { CELL_TOOL, type Doubt, isCell } from "./reply.ts";

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
  const note = largeNote(stats);
  return [
    question,
    contextLine(stats),
    ...(note === null ? [] : [note]),
    ...unreadLines(stats),
    ...(part === null ? [] : [part]),
    ...(schema === null ? [] : [`Answer as JSON that fits: ${JSON.stringify(schema)}`]),
  ].join("\n\n");
}

type Stats = Pick<ContextStats, "length_chars" | "document_count" | "large" | "sources" | "skipped" | "replaced">;

const SOURCES_SHOWN = 5;

function contextLine({ length_chars, document_count, sources, skipped, replaced = 0 }: Stats): string {
  const shown = sources.slice(0, SOURCES_SHOWN).join(", ");
  const more = sources.length > SOURCES_SHOWN ? `, … ${sources.length - SOURCES_SHOWN} more` : "";
  const documents = document_count === 1 ? "1 document" : `${document_count} documents`;
  const older =
    replaced === 0
      ? ""
      : ` Of these, ${replaced} are older texts of files that have changed: list_docs names the newer text in replaced_by.`;
  const deleted = skipped.reasons[DELETED_KIND] ?? 0;
  const gone =
    deleted === 0
      ? ""
      : ` Of these, ${deleted} are texts of files that are deleted by now: stats().skipped names them.`;
  return `P has ${length_chars} characters in ${documents}, from ${shown}${more}.${older}${gone}`;
}

/** A line about files that P lacks, so that the model does not take them for read; none if all could be read. */
function unreadLines({ skipped }: Stats): string[] {
  const sentence = unreadSentence(skipped, "stats().skipped lists them");
  return sentence === null ? [] : [`${sentence} P lacks them: say so if the answer may stand in one of them.`];
}

/** Notes of Belay to a root model between its turns. Recorded as it was sent, so a later build may say it differently. */

export const lastWithCode = "This is the last turn in which code is run: answer in it, or in plain text after it.";

export const answeredUnseen =
  "You answered before you saw anything of P. The output of your cell stands above: look at it, then answer.";

export const nudge = "No cell was run: nothing of P was seen. Run a cell first, then answer.";

export const sameAgain = "The same cell gave the same output: change something.";

/** Why a text is not taken for the answer. @param hasCalled the model can call the tool, and blocks are not cells */
export function doubted({ kind, detail }: Doubt, hasCalled: boolean): string {
  const how = hasCalled ? `call ${CELL_TOOL}` : "write it in a block fenced as ```js, and stop after it";
  switch (kind) {
    case "block":
      if (isCell({ language: detail }))
        return `The block in your text is not run: ${how}, or repeat the text if it was your answer.`;
      return `The block in ${detail} is not run: cells are JavaScript. Write the same in JavaScript, or repeat the text if it was your answer.`;
    case "call":
      return `Your call came as text and was not run: ${detail}. To run its code, ${how}.`;
    case "code":
      return `Your reply is code that nothing runs. To run it as a cell, ${how}; if it was your answer, repeat it.`;
    case "step":
      return "You announced a step and took none. Take it now, or give the answer.";
  }
}

/** The beginning of a line that asks about a part which nothing fills in. */
export const ABOUT_ANSWER = "Your answer ";

/** The reason why an answer is not whole yet. @param isName it is nothing but the name of a variable */
export function unfilled(part: string, isName: boolean): string {
  if (isName)
    return `${ABOUT_ANSWER}is ${part}, which names a variable: give its value, or repeat it if that was your answer.`;
  return `${ABOUT_ANSWER}has ${part}, which nothing fills in: give the value in its place, or repeat it if that was your answer.`;
}

/** Why an answer is taken that may not be meant as one: the model was asked, and stayed with it. */
export const UNSURE = {
  call: "the model gave a call that was not run",
  code: "the model gave code that was not run",
  step: "the model announced a further step",
} as const;

/** Why an answer is taken although its reply asked for more. @param cells that were not run */
export const behind = (cells: number) =>
  `the same reply had ${cells === 1 ? "a further cell, which was" : `${cells} further cells, which were`} not run`;

export const misfit = (problem: string) => `The answer does not fit: ${problem}`;

export function closing(hasSchema: boolean): string {
  const how = hasSchema ? "as JSON that fits the schema, and nothing else" : "in plain text";
  return `Answer now, ${how}, from what you have seen. No code is run any more.`;
}

/** The server could not read the model's reply. */
export const UNREAD = "unread_reply";

/** Why a reply could not be used. @param tokens that a reply may have */
export function failedReply(code: string, tokens: number): string {
  if (code === "truncated_answer") {
    return `Your reply was cut at ${tokens} tokens, and nothing of it was run: write a shorter cell.`;
  }
  if (code === "window_full") return "Your reply filled your window, and nothing of it was run: write a shorter cell.";
  if (code === "content_filtered") return "Your reply was withheld by the provider's filter: put it differently.";
  if (code === UNREAD) {
    return "Your server could not read your reply: write one call of the tool, exactly in its form, or answer in text.";
  }
  return "Your reply was empty: run a cell, or answer.";
}
