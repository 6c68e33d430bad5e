import { failure } from "../failure.ts";
import type { ModelTurn, SubCallError } from "../port.ts";

/** The failure of an answer that was cut: at the window of the model if that was full, else at the limit of its caller. */
export function cutAnswer(turn: ModelTurn, limit: string): SubCallError {
  const { full, isThought } = turn;
  const part = partOf(turn);
  if (!full) {
    const cure = isThought ? { suggestion: THINK_LESS } : {};
    return failure("truncated_answer", `the answer was cut at ${limit}, ${part}`, cure);
  }
  const { window, input, output } = full;
  const shares = `${input} are the prompt and ${output} the answer, which was cut ${part}`;
  const isFull = input + output >= window - window / 32;
  return failure("window_full", `the window of ${window} tokens ${isFull ? "is full" : NO_ROOM}: ${shares}`);
}

/** The tokens of a prompt are estimated where the server does not count them first. */
const NO_ROOM = "has no more room, as it was estimated";

/** The part of an answer that came, in words that follow its end. */
function partOf({ text, toolUses, isThought }: ModelTurn): string {
  if (text.trim() !== "") return `after ${text.length} characters`;
  if (toolUses.length > 0) return "in the call of a tool";
  return isThought ? "while the model only thought" : "before it began (thinking counts)";
}

const THINK_LESS =
  "Raise max_tokens, or have the model think less: a lower level of thinking, or on your own server llama-server --reasoning-budget 0.";
