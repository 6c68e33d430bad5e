import { firstly, remedy } from "../../../runtime/index.ts";
import { amount } from "../../platform/figures.ts";

/** Calls that wait until other calls have given back what they hold of a limit. By batch that may take a day. */
export interface HeldBack {
  /** The number of calls that wait, and of those that hold. */
  readonly calls: number;
  readonly by: number;
  readonly of: "tokens" | "dollars";
  /** The limit under which all of them would go at once. */
  readonly raise_to: number;
}

/** Tokens and dollars. */
export interface Wanted {
  readonly tokens: number;
  readonly cost_usd: number;
}

/** @param left what nobody holds. @param waiting what the calls that wait want together */
export function heldBackBy(
  { calls, by }: Pick<HeldBack, "calls" | "by">,
  limits: { readonly max_tokens: number; readonly max_cost_usd: number | null },
  left: Wanted,
  waiting: Wanted,
): HeldBack {
  const tokens = waiting.tokens - left.tokens;
  if (limits.max_cost_usd === null || tokens > 0) {
    return { calls, by, of: "tokens", raise_to: roundedUp(limits.max_tokens + Math.max(0, tokens)) };
  }
  const cents = 100 * (limits.max_cost_usd + Math.max(0, waiting.cost_usd - left.cost_usd));
  return { calls, by, of: "dollars", raise_to: Math.ceil(cents) / 100 };
}

/** Finds the calls that would be held back, by what each call holds while it is answered. @param left what may still be held */
export function openHeldBackCount(limits: Parameters<typeof heldBackBy>[1], left: Wanted) {
  let holding = { calls: 0, ...NOTHING };
  let most = { by: 0, ...NOTHING };
  let waiting = { calls: 0, ...NOTHING };
  const add = (sum: typeof holding, { tokens, cost_usd }: Wanted, sign = 1) => ({
    calls: sum.calls + sign,
    tokens: sum.tokens + sign * tokens,
    cost_usd: sum.cost_usd + sign * cost_usd,
  });
  return {
    /** Holds what a call wants, until it is disposed of. */
    hold(wanted: Wanted): Disposable {
      const next = add(holding, wanted);
      const fits = next.tokens <= left.tokens && next.cost_usd <= left.cost_usd;
      // A call that fits into no budget fails, and does not wait.
      if (!fits && holding.calls === 0) return { [Symbol.dispose]() {} };
      if (!fits) {
        waiting = add(waiting, wanted);
        most = { by: holding.calls, tokens: holding.tokens, cost_usd: holding.cost_usd };
        return { [Symbol.dispose]() {} };
      }
      holding = next;
      return {
        [Symbol.dispose]() {
          holding = add(holding, wanted, -1);
        },
      };
    },
    /** null: none would be. */
    heldBack(): HeldBack | null {
      if (waiting.calls === 0) return null;
      const rest = { tokens: left.tokens - most.tokens, cost_usd: left.cost_usd - most.cost_usd };
      return heldBackBy({ calls: waiting.calls, by: most.by }, limits, rest, waiting);
    },
  };
}

const NOTHING: Wanted = { tokens: 0, cost_usd: 0 };

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
