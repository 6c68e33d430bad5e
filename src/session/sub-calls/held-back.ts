import { firstly, remedy } from "../../../runtime/index.ts";
import { amount } from "../../platform/figures.ts";
import { type Amount, minus, NOTHING, plus } from "../journal/ledger.ts";
import type { BudgetLimits } from "../journal/records.ts";

/** Calls that wait for tokens or dollars that other calls hold; by batch for up to a day. */
export interface HeldBack {
  /** The number of calls that wait, and of those that hold. */
  readonly calls: number;
  readonly by: number;
  readonly of: "tokens" | "dollars";
  /** The limit that would let all of them be sent at once. */
  readonly raise_to: number;
}

type SpendingLimits = Pick<BudgetLimits, "max_tokens" | "max_cost_usd">;

/** @param left what nobody holds. @param waiting what the calls that wait want together */
export function heldBackBy(
  { calls, by }: Pick<HeldBack, "calls" | "by">,
  limits: SpendingLimits,
  left: Amount,
  waiting: Amount,
): HeldBack {
  const tokens = waiting.tokens - left.tokens;
  if (limits.max_cost_usd === null || tokens > 0) {
    return { calls, by, of: "tokens", raise_to: roundedUp(limits.max_tokens + Math.max(0, tokens)) };
  }
  const cents = 100 * (limits.max_cost_usd + Math.max(0, waiting.cost_usd - left.cost_usd));
  return { calls, by, of: "dollars", raise_to: Math.ceil(cents) / 100 };
}

/** Finds the calls that would be held back, by what each call holds while it is answered. @param left what may still be held */
export function openHeldBackCount(limits: SpendingLimits, left: Amount) {
  let held = { calls: 0, amount: NOTHING };
  let waiting = { calls: 0, amount: NOTHING };
  /** Held when the newest call had to wait. */
  let holding = held;
  return {
    /** Holds what a call wants, until it is disposed of. */
    hold(wanted: Amount): Disposable {
      const amount = plus(held.amount, wanted);
      if (amount.tokens <= left.tokens && amount.cost_usd <= left.cost_usd) {
        held = { calls: held.calls + 1, amount };
        return {
          [Symbol.dispose]() {
            held = { calls: held.calls - 1, amount: minus(held.amount, wanted) };
          },
        };
      }
      // A call that fits into no budget fails, and does not wait.
      if (held.calls > 0) {
        waiting = { calls: waiting.calls + 1, amount: plus(waiting.amount, wanted) };
        holding = held;
      }
      return { [Symbol.dispose]() {} };
    },
    /** null: none would be. */
    heldBack(): HeldBack | null {
      if (waiting.calls === 0) return null;
      const rest = minus(left, holding.amount);
      return heldBackBy({ calls: waiting.calls, by: holding.calls }, limits, rest, waiting.amount);
    },
  };
}

/** `1250000` of 1,238,400: the next number that is easy to type. */
export function roundedUp(count: number): number {
  const step = Math.max(1, 10 ** (String(Math.ceil(count)).length - 2) / 2);
  return Math.ceil(count / step) * step;
}

/** `179 calls wait for tokens held by 121: raise …`. */
export const heldBackText = (held: HeldBack): string => `${heldBackProblem(held)}: ${remedy(...cureOf(held))}`;

export const heldBackProblem = ({ calls, by, of }: HeldBack): string =>
  `${amount(calls, "call waits", "calls wait")} for ${of} held by ${amount(by, "other", "others")}`;

export const heldBackCure = (held: HeldBack): string => `${firstly(...cureOf(held))} to have all of them go at once`;

const cureOf = ({ of, raise_to }: HeldBack) =>
  [of === "tokens" ? "raiseTokens" : "raiseDollars", String(raise_to)] as const;
