import { CELL_TOOL, type Doubt, isCell } from "./reply.ts";

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

/** Why an answer is taken that may not be meant as one: the model was asked, and stayed with it. */
export const UNSURE = {
  call: "the model gave a call that was not run",
  code: "the model gave code that was not run",
  step: "the model announced a further step",
} as const;

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
