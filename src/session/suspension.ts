import type { RlmError } from "../../runtime/index.ts";
import type { SubCallError } from "../models/index.ts";
import { amount } from "../platform/figures.ts";
import { withoutUndefined } from "../platform/json.ts";
import { aborted } from "../platform/signals.ts";
import type { Amount } from "../store/index.ts";
import type { WaitsFor } from "./journal/records.ts";
import type { HeldBack } from "./sub-calls/held-back.ts";

/** Why an exec is to be suspended, and when it can continue at the earliest. */
export type SuspensionReason =
  | {
      /**
       * `store_failed`: the store did not answer. `held`: requests in flight hold the money of the
       * run.
       */
      readonly why: "provider" | "held" | "store_failed";
      /** ms from now; null: when the run is resumed. */
      readonly afterMs: number | null;
      /** The provider's refusal. Absent: there was none. */
      readonly error?: SubCallError;
    }
  /**
   * Nothing is left but what waits for provider batches: the exec continues when the answers are
   * there.
   */
  | { readonly why: "delivery" }
  /** A limit of the run is spent: the job continues when the run is resumed. */
  | { readonly why: "budget"; readonly limit: keyof Amount }
  /** The store is damaged: nothing of the run continues. */
  | { readonly why: "damaged"; readonly error: RlmError }
  /** A call of this model failed in a way that is no fault of the job. `isAlone`: other calls can be made, and go first. */
  | { readonly why: "trouble"; readonly error: SubCallError; readonly model: string; readonly isAlone?: true };

type WaitingFor = WaitsFor & Pick<SubCallError, "code">;

/**
 * Suspends an exec that has to wait for long, with all sessions below it. Answers that are already
 * paid for are kept first: it is suspended once every call that has been sent is recorded, or waits
 * here too. For `delivery` it is suspended once nothing can get further before a batch is answered.
 */
export interface Suspension {
  /**
   * Begins a new exec: from now on its reasons count.
   * @param resendsDoubtful calls of which it is unknown whether they were answered are made again
   */
  begin(suspends: (reason: SuspensionReason) => void, resendsDoubtful?: boolean): void;
  resendsDoubtful(): boolean;
  /** Waits until the call is ended, which the suspension does. */
  wait(call: string, reason: SuspensionReason, ended: AbortSignal): Promise<void>;
  /** Notes that calls wait for what those hold that wait for batches. */
  holdsBack(calls: HeldBack): void;
  /** The calls of `holdsBack`; null: there are none. */
  heldBack(): HeldBack | null;
  /** The first reason for which no call is sent any more; null: calls are sent. */
  reason(): SuspensionReason | null;
  /** The failure for which calls wait until a person acts; null: no call has failed so. */
  waitsFor(): WaitingFor | null;
  /** Notes that a request of the call is on its way. */
  sent(call: string): void;
  /** Notes that the call has its record. */
  recorded(call: string): void;
  /** Does work that may get further by itself. */
  active<T>(work: () => Promise<T>): Promise<T>;
  /** Waits, within active work, for other such work. */
  idle<T>(wait: () => Promise<T>): Promise<T>;
}

export function openSuspension(): Suspension {
  const sent = new Set<string>();
  const waiting = new Set<string>();
  let suspend: (reason: SuspensionReason) => void = () => {};
  let reason: SuspensionReason | null = null;
  let resends = false;
  /** Pieces of active work that do not wait for each other. */
  let active = 0;
  let awaitsBatch = 0;
  let troubles: SubCallError[] = [];
  let heldBack: HeldBack | null = null;

  function suspendIfQuiet(): void {
    if (reason && [...sent].every((call) => waiting.has(call))) suspend(reason);
  }

  function change(by: number): void {
    active += by;
    // Work that an end makes possible begins in the same turn of the event loop.
    if (active === 0 && awaitsBatch > 0) setImmediate(suspendIfIdle);
  }

  function suspendIfIdle(): void {
    if (active === 0 && awaitsBatch > 0 && !reason) suspend({ why: "delivery" });
  }

  async function counted<T>(by: number, work: () => Promise<T>): Promise<T> {
    change(by);
    try {
      return await work();
    } finally {
      change(-by);
    }
  }
  const idle = <T>(wait: () => Promise<T>) => counted(-1, wait);

  return {
    begin(suspends, resendsDoubtful = false) {
      suspend = suspends;
      resends = resendsDoubtful;
      troubles = [];
      reason = null;
      heldBack = null;
      sent.clear();
    },
    async wait(call, asked, ended) {
      waiting.add(call);
      if (asked.why === "trouble" && asked !== reason) troubles.push(asked.error);
      if (asked.why === "delivery" || (asked.why === "trouble" && asked.isAlone)) {
        awaitsBatch += 1;
        await idle(() => aborted(ended));
        awaitsBatch -= 1;
      } else {
        reason ??= asked;
        suspendIfQuiet();
        await aborted(ended);
      }
      waiting.delete(call);
    },
    resendsDoubtful: () => resends,
    holdsBack(calls) {
      heldBack = calls;
    },
    heldBack: () => heldBack,
    reason: () => reason,
    waitsFor: () => waitsForAll(troubles),
    sent: (call) => void sent.add(call),
    recorded(call) {
      sent.delete(call);
      suspendIfQuiet();
    },
    active: <T>(work: () => Promise<T>) => counted(1, work),
    idle,
  };
}

/** The first of these failures, with the number of the others, and the time at which the last limit of an account ends. */
function waitsForAll(all: readonly SubCallError[]): WaitingFor | null {
  const [first] = all;
  if (!first) return null;
  const { code, message, suggestion } = first;
  const others = all.length - 1;
  const more = others > 0 ? `; ${amount(others, "other call waits", "other calls wait")} too` : "";
  const ends = all.flatMap(({ retry_at }) => retry_at ?? []);
  const retry_at = ends.length > 0 ? Math.max(...ends) : undefined;
  return { code, message: `${message}${more}`, suggestion, ...withoutUndefined({ retry_at }) };
}
