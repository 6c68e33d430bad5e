import { type Model, ratesFor } from "../../model/index.ts";
import type { RemainingBudget } from "../journal/ledger.ts";
import type { AskView } from "./next.ts";

/** Fewer tokens are not enough for a turn with a cell, and for the closing one. */
const LEAST_TURN = 1024;
const LEAST_CLOSING = 256;

/** The room of the budget, and the output tokens that the next turn may take. */
export interface Room {
  readonly room: AskView["room"];
  readonly turnTokens: number;
  readonly closingTokens: number;
}

/**
 * Before a turn is sent, the closing turn after it must fit too: its request holds this turn's reply.
 * @param input tokens of the next request @param most output tokens of a turn, by the ask's settings
 */
export function roomFor(input: number, most: number, left: RemainingBudget, price: Model["price"]): Room {
  const tokens = Math.min(left.remaining_tokens, tokensFor(left.remaining_cost_usd, price, input));
  const turnTokens = Math.min(most, Math.floor((tokens - 2 * input - LEAST_TURN) / 2));
  const closingTokens = Math.min(most, tokens - input);
  if (turnTokens >= Math.min(most, LEAST_TURN)) return { room: "turn", turnTokens, closingTokens };
  if (closingTokens >= Math.min(most, LEAST_CLOSING)) return { room: "closing", turnTokens: 0, closingTokens };
  return { room: "none", turnTokens: 0, closingTokens: 0 };
}

/**
 * Resolves with room for a turn, once there is some. Requests of other sessions hold more than they will take, so their ends
 * are awaited before the ask is closed.
 * @param more waits for such an end; false: nothing is held
 */
export async function roomOnceSettled(room: () => Room, more: () => Promise<boolean>): Promise<Room> {
  let now = room();
  while (now.room !== "turn" && (await more())) now = room();
  return now;
}

/** Tokens that the dollars pay for, if each had the higher of the two prices. */
function tokensFor(dollars: number | undefined, price: Model["price"], input: number): number {
  if (dollars === undefined || price === null) return Number.POSITIVE_INFINITY;
  const rates = ratesFor(price, input);
  const most = Math.max(rates.input, rates.output);
  return most === 0 ? Number.POSITIVE_INFINITY : Math.floor((dollars / most) * 1e6);
}
