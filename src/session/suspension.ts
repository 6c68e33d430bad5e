import type { RlmError } from "../../runtime/index.ts";
import type { SubCallError } from "../models/index.ts";
import { aborted } from "../platform/signals.ts";
import type { Amount } from "../store/index.ts";
import type { HeldBack } from "./sub-calls/held-back.ts";

/** Why an exec is to be suspended, and when it can go on at the earliest. */
export type SuspensionReason =
  | {
      /** `store_failed`: the store did not answer. `held`: requests in flight hold the money of the run. */
      readonly why: "provider" | "held" | "store_failed";
      /** ms from now; null: when somebody resumes the run. */
      readonly afterMs: number | null;
      /** The provider's refusal. Absent: there was none. */
      readonly error?: SubCallError;
    }
  /** Nothing is left but what waits for providers' batches: the exec goes on when the answers are there. */
  | { readonly why: "delivery" }
  /** A limit of the run is spent: the job goes on when somebody resumes the run. */
  | { readonly why: "budget"; readonly limit: keyof Amount }
  /** The store is damaged: nothing of the run goes on. */
  | { readonly why: "damaged"; readonly error: RlmError }
  /** A call of this model failed in a way that is no fault of the job. */
  | { readonly why: "trouble"; readonly error: SubCallError; readonly model: string };

/**
 * Suspends an exec that has to wait for long, with all sessions below it. Answers that are already paid for are kept first: it is
 * suspended once every call that has been sent is recorded, or waits here too. For `delivery` it is suspended once nothing can get
 * further before a batch is answered.
 */
export type Suspension = ReturnType<typeof openSuspension>;

export function openSuspension() {
  const sent = new Set<string>();
  const waiting = new Set<string>();
  let suspend: (parked: SuspensionReason) => void = () => {};
  let reason: SuspensionReason | null = null;
  /** Pieces of active work that do not wait for each other. */
  let active = 0;
  let awaitsBatch = 0;
  let heldBack: HeldBack | null = null;

  function suspendIfQuiet(): void {
    if (reason && [...sent].every((call) => waiting.has(call))) suspend(reason);
  }

  function change(by: number): void {
    active += by;
    // What an end makes possible begins in the same turn of the event loop.
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
  /** A wait, within active work, for other such work. */
  const idle = <T>(wait: () => Promise<T>) => counted(-1, wait);

  return {
    /** From now on these are the reasons of a new exec. */
    begin(suspends: (parked: SuspensionReason) => void): void {
      suspend = suspends;
      reason = null;
      heldBack = null;
      sent.clear();
    },
    /** The call waits until it is ended, which the suspension does. */
    async wait(call: string, parked: SuspensionReason, ended: AbortSignal): Promise<void> {
      waiting.add(call);
      if (parked.why === "delivery") {
        awaitsBatch += 1;
        await idle(() => aborted(ended));
        awaitsBatch -= 1;
      } else {
        reason ??= parked;
        suspendIfQuiet();
        await aborted(ended);
      }
      waiting.delete(call);
    },
    /** Beside what waits for batches, these calls wait for what those hold. */
    holdsBack(calls: HeldBack): void {
      heldBack = calls;
    },
    heldBack: () => heldBack,
    /** The first reason for which no call is sent any more; null: calls are sent. */
    reason: () => reason,
    /** A request of the call is on its way. */
    sent: (call: string) => void sent.add(call),
    recorded(call: string): void {
      sent.delete(call);
      suspendIfQuiet();
    },
    /** Work that may get further by itself. */
    active: <T>(work: () => Promise<T>) => counted(1, work),
    idle,
  };
}
