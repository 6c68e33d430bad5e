import type { ModelMessage } from "../model/index.ts";
import { type SizedTurn, withoutObservation } from "./elide.ts";
import type { Round } from "./rounds.ts";

/**
 * The messages of a request: what each turn added, as it was sent, and its reply if it had one. The messages of a request
 * begin with those of the one before, except after a turn that leaves observations out.
 */
export function conversationOf(rounds: readonly Round[], added: readonly ModelMessage[], elide: readonly number[]) {
  const gone = new Set(elide);
  const said = rounds.flatMap(({ turn, messages, outcome }): ModelMessage[] => {
    const sent = gone.has(turn) ? messages.map(withoutObservation) : messages;
    return outcome.ok ? [...sent, { role: "assistant", answer: outcome.reply }] : [...sent];
  });
  return [...said, ...added];
}

/** What decides which observations are left out of the next request. */
export function sizesOf(rounds: readonly Round[], turn: number, added: readonly ModelMessage[]): readonly SizedTurn[] {
  const before = rounds.map(({ turn, messages, outcome }) => ({
    turn,
    messages,
    replyUnits: outcome.ok ? outcome.reply.text.length + JSON.stringify(outcome.reply.toolUses).length : 0,
  }));
  return [...before, { turn, messages: added, replyUnits: 0 }];
}
