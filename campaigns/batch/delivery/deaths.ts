import type { ChildProcess } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import type { Fault, Step, StepKind } from "../../../tests/support/batch-server/index.ts";
import { type KillStep, SHIPPING_STEPS } from "../../../tests/support/jobs/kill-step.ts";
import { STEPS_OF_TRIES } from "../campaign.ts";

const MANNERS = ["before", "after", "lost", "delayed"] as const;
const WRITES: readonly [KillStep, ...KillStep[]] = [...SHIPPING_STEPS, ...STEPS_OF_TRIES];

/** The death of a process. */
export type Death =
  /**
   * At its n-th request of these kinds; null: of any. Its process is killed before the request is carried out, or right after the
   * answer; or the request is carried out and nobody hears the answer: at once (`lost`), or some time after the death (`delayed`).
   */
  | { readonly kinds: readonly StepKind[] | null; readonly nth: number; readonly how: (typeof MANNERS)[number] }
  /** After a write of its own, as in KILL_VARIABLE. */
  | { readonly write: string }
  /** Some ms after its n-th request. */
  | { readonly nth: number; readonly ms: number };

/** Creates are one death in four, and where one may be in doubt the next process often dies when it looks for it. */
export function randomDeath(random: () => number, last: string): Death {
  const nth = 1 + Math.floor(random() * 4);
  const how = pick(MANNERS, random);
  if (/^create (?:lost|delayed)/.test(last) && random() < 0.6)
    return { kinds: ["list", "fence", "create"], nth: Math.ceil(nth / 2), how };
  const roll = random();
  if (roll < 0.25) return { kinds: ["create"], nth: 1, how };
  if (roll < 0.65) return { kinds: null, nth, how };
  if (roll < 0.85) return { write: `${pick(WRITES, random)}:${nth}` };
  return { nth, ms: random() * 500 };
}

const pick = <T>(all: readonly [T, ...T[]], random: () => number): T =>
  all[Math.floor(random() * all.length)] ?? all[0];

/** The process of a death. */
interface Condemned {
  readonly death: Death;
  readonly child: ChildProcess;
  left: number;
  /** Requests without looks after which it dies anyhow: what it waits for may never come. */
  spare: number;
}

const SPARE = 8;

export interface FaultsPlan {
  random(): number;
  /** The longest time after which a request of a dead process is carried out, ms. */
  readonly delayMs: number;
  /** One in so many requests is answered with 429 or 500, and as many creates get no answer; null: none. */
  readonly noise: number | null;
}

/** Decides what becomes of the requests of processes, and has these die. */
export function openFaults({ random, delayMs, noise }: FaultsPlan) {
  const condemned = new Map<string, Condemned>();
  const labels = new Map<string, string>();
  const delayed = new Set<Promise<void>>();

  /** The fault with which the process of a step dies; null: it goes on. */
  function dying({ kind, by }: Step): Fault | null {
    const one = condemned.get(by);
    if (!one) return null;
    const { death, child } = one;
    const kill = () => child.kill("SIGKILL");
    if (kind !== "look" && --one.spare === 0) {
      condemned.delete(by);
      labels.set(by, `${kind} before`);
      kill();
      return { lost: "request" };
    }
    if ("write" in death || ("kinds" in death && death.kinds && !death.kinds.includes(kind))) return null;
    if (--one.left > 0) return null;
    condemned.delete(by);
    if ("ms" in death) {
      labels.set(by, "at random");
      void setTimeout(death.ms).then(kill);
      return {};
    }
    labels.set(by, `${kind} ${death.how}`);
    if (death.how === "after") {
      void setTimeout(random() * 30).then(kill);
      return {};
    }
    kill();
    if (death.how !== "delayed") return death.how === "before" ? { lost: "request" } : {};
    const wait = setTimeout(random() * delayMs);
    delayed.add(wait);
    void wait.then(() => delayed.delete(wait));
    return { wait };
  }

  function noisy({ kind }: Step): Fault | undefined {
    if (noise === null) return undefined;
    const roll = random() * noise;
    if (roll < 1) return { status: roll < 0.5 ? 429 : 500 };
    return roll < 2 && kind === "create" ? { lost: "response" } : undefined;
  }

  return {
    fault: (step: Step) => dying(step) ?? noisy(step),
    /** Has the process that names itself so die. */
    condemn(by: string, child: ChildProcess, death: Death): void {
      condemned.set(by, { death, child, left: "nth" in death ? death.nth : 0, spare: SPARE });
      if ("write" in death) labels.set(by, `write ${death.write.split(":")[0]}`);
    },
    /** The death of a process that was killed, as it is reported. */
    deathOf: (by: string) => labels.get(by) ?? "unknown",
    /** Resolves when no request of a dead process is still on its way. */
    async settled(): Promise<void> {
      await Promise.all(delayed);
      // They are carried out in the same turn.
      await setTimeout(50);
    },
  };
}

export type Faults = ReturnType<typeof openFaults>;
