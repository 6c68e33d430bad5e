import type { ModelMessage } from "../../models/index.ts";
import type { Round } from "./records.ts";

/** A turn that is to be asked, and what it adds to the conversation. */
type Added = Pick<Round, "turn" | "messages">;

/**
 * The messages of a request: what each turn added, as it was sent, and its reply if it had one. The messages of a request
 * begin with those of the one before, except after a turn that leaves observations out.
 */
export function conversationOf(
  rounds: readonly Round[],
  added: Added,
  elide: readonly number[],
): readonly ModelMessage[] {
  const gone = new Set(elide);
  return saidIn(rounds, added).map((one) => sent(one, gone));
}

/** The whole conversation, as long as nothing is left out. */
export function saidIn(rounds: readonly Round[], added: Added): readonly Said[] {
  const question = rounds[0]?.turn ?? added.turn;
  const before = rounds.flatMap(({ turn, messages, outcome }): Said[] => [
    ...messages.map((message) => ({ turn, message, canGo: turn !== question })),
    ...(outcome.ok ? [{ turn, message: { role: "assistant", answer: outcome.reply } as const, canGo: false }] : []),
  ]);
  const said = [...before, ...added.messages.map((message) => ({ turn: added.turn, message, canGo: true }))];
  return said.map((one, at) => (at === said.length - 1 ? { ...one, canGo: false } : one));
}

/** UTF-16 units that stay of an observation that is left out. */
const KEPT_UNITS = 200;
const LEFT_OUT = "[… left out; variables are still there]";

/** A message of the conversation, in its order. */
interface Said {
  /** The turn that added it. */
  readonly turn: number;
  readonly message: ModelMessage;
  /** It may be cut to its beginning: replies, the question and what was said last stay whole. */
  readonly canGo: boolean;
}

/**
 * The turns whose observations are left out from now on, those of `before` included. The conversation only grows until a
 * request would be over `most` characters. Then the oldest observations go until half of that is left. So a provider's cache
 * of the prompt is lost once, and not at each turn.
 */
export function elided(said: readonly Said[], before: readonly number[], most: number): readonly number[] {
  return unitsOf(said, new Set(before)) > most ? leaveOut(said, before, most / 2) : before;
}

/** Elides a request that was too long for the model, until half of it is left. If that makes it no shorter, nothing more goes. */
export function halved(said: readonly Said[], before: readonly number[]): readonly number[] {
  const units = unitsOf(said, new Set(before));
  const gone = leaveOut(said, before, units / 2);
  return unitsOf(said, new Set(gone)) < units ? gone : before;
}

function leaveOut(said: readonly Said[], before: readonly number[], aim: number): readonly number[] {
  const gone = new Set(before);
  const turns = new Set(said.filter(({ canGo }) => canGo).map(({ turn }) => turn));
  for (const turn of turns) {
    if (unitsOf(said, gone) <= aim) break;
    gone.add(turn);
  }
  return [...gone].sort((a, b) => a - b);
}

function unitsOf(said: readonly Said[], gone: ReadonlySet<number>): number {
  return said.reduce((units, one) => units + unitsOfMessage(sent(one, gone)), 0);
}

/** UTF-16 units of a message, with the arguments of a reply's tool calls. */
export function unitsOfMessage(message: ModelMessage): number {
  if (message.role !== "assistant") return message.text.length;
  return message.answer.text.length + JSON.stringify(message.answer.toolUses).length;
}

function sent({ turn, message, canGo }: Said, gone: ReadonlySet<number>): ModelMessage {
  if (!canGo || !gone.has(turn) || message.role === "assistant") return message;
  if (message.text.length <= KEPT_UNITS + LEFT_OUT.length) return message;
  return { ...message, text: `${message.text.slice(0, KEPT_UNITS).replace(/[\uD800-\uDBFF]$/, "")}\n${LEFT_OUT}` };
}
