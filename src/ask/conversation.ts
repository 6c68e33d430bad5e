import type { ModelMessage } from "../model/index.ts";
import { type Said, without } from "./elide.ts";
import type { Round } from "./rounds.ts";

/** A turn that is to be asked, and what it adds to the conversation. */
export type Added = Pick<Round, "turn" | "messages">;

/**
 * The messages of a request: what each turn added, as it was sent, and its reply if it had one. The messages of a request
 * begin with those of the one before, except after a turn that leaves observations out.
 */
export function conversationOf(
  rounds: readonly Round[],
  added: Added,
  elide: readonly number[],
): readonly ModelMessage[] {
  return without(saidIn(rounds, added), elide);
}

/** All that was said, as long as nothing is left out. */
export function saidIn(rounds: readonly Round[], added: Added): readonly Said[] {
  const question = rounds[0]?.turn ?? added.turn;
  const before = rounds.flatMap(({ turn, messages, outcome }): Said[] => [
    ...messages.map((message) => ({ turn, message, canGo: turn !== question })),
    ...(outcome.ok ? [{ turn, message: { role: "assistant", answer: outcome.reply } as const, canGo: false }] : []),
  ]);
  const said = [...before, ...added.messages.map((message) => ({ turn: added.turn, message, canGo: true }))];
  return said.map((one, at) => (at === said.length - 1 ? { ...one, canGo: false } : one));
}
