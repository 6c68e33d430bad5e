import type { ModelMessage } from "../model/index.ts";

/** What stays of an observation that is left out, UTF-16 units. */
const KEPT_UNITS = 200;
const LEFT_OUT = "[… left out; variables are still there]";

/** A turn's part of the conversation, as far as its size is concerned. */
export interface SizedTurn {
  readonly turn: number;
  /** The messages that the turn added. Those of the first turn hold the question and stay. */
  readonly messages: readonly ModelMessage[];
  /** Characters of the reply. */
  readonly replyUnits: number;
}

/**
 * The turns whose observations are left out from now on, those of `before` included. The conversation only grows until a
 * request would be over `most` characters; then the oldest observations go until half of that is left, so a provider's
 * cache of the prompt is lost once and not at each turn. Replies are never touched.
 */
export function elided(turns: readonly SizedTurn[], before: readonly number[], most: number): readonly number[] {
  const gone = new Set(before);
  let units = sizeOf(turns, gone);
  if (units <= most) return before;
  for (const { turn, messages } of turns.slice(1)) {
    if (units <= most / 2) break;
    if (gone.has(turn)) continue;
    gone.add(turn);
    units -= unitsOf(messages) - unitsOf(messages.map(withoutObservation));
  }
  return [...gone].sort((a, b) => a - b);
}

/** A message with the beginning of its observation. */
export function withoutObservation<Message extends ModelMessage>(message: Message): Message {
  if (message.role === "assistant" || message.text.length <= KEPT_UNITS + LEFT_OUT.length) return message;
  return { ...message, text: `${message.text.slice(0, KEPT_UNITS).replace(/[\uD800-\uDBFF]$/, "")}\n${LEFT_OUT}` };
}

function sizeOf(turns: readonly SizedTurn[], gone: ReadonlySet<number>): number {
  return turns.reduce((total, { turn, messages, replyUnits }) => {
    const sent = gone.has(turn) ? messages.map(withoutObservation) : messages;
    return total + unitsOf(sent) + replyUnits;
  }, 0);
}

const unitsOf = (messages: readonly ModelMessage[]) =>
  messages.reduce((total, message) => total + (message.role === "assistant" ? 0 : message.text.length), 0);
