import type { Kill } from "../../tests/support/crash/life.ts";
import type { RunPlan } from "./run.ts";

/** Where processes are killed: at operations on the store, at random times, or now so, now so. */
export type KillsAt = "operations" | "random" | "both";

/** What is known of a program from its uninterrupted run. */
export interface Measured {
  /** Operations that write. */
  readonly operations: number;
  /** From the opening of the store to the end, ms. */
  readonly ms: number;
}

/** The kills of one run, by chance. */
export function planOf(
  name: string,
  { operations, ms }: Measured,
  { at, most, random }: { readonly at: KillsAt; readonly most: number; readonly random: () => number },
): RunPlan {
  const kills = 1 + Math.floor(random() * most);
  return {
    name,
    kept: true,
    kill(life) {
      if (life > kills) return null;
      // Whoever goes on has less before it than the first, and less with every kill.
      const share = 1 / life;
      const atOperation = at === "operations" || (at === "both" && random() < 0.6);
      if (!atOperation) {
        const signal = random() < 0.2 ? "SIGINT" : "SIGKILL";
        return { how: "random", ms: random() * ms * share * 1.05, signal };
      }
      return operationKill(1 + Math.floor(random() * Math.max(MOST_OFTEN, operations * share)), random);
    },
    again: () => random() < 0.3,
    probed: random() < 0.25,
  };
}

/** Operations that every process begins: the lease, the record of its resumption, a result, a step. */
const MOST_OFTEN = 4;

const SIDES = ["before", "during", "after"] as const;

function operationKill(operation: number, random: () => number): Kill {
  const side = SIDES[Math.floor(random() * SIDES.length)] ?? "before";
  // A commit takes a few milliseconds.
  return { how: "operation", operation, side, waitMs: random() * 5 };
}
