import type { SubCallError } from "../model/index.ts";
import { aborted } from "../platform/signals.ts";
import type { Amount } from "../store/index.ts";

/** Why a job is to be suspended, and when it can go on at the earliest. */
export type Parked =
  | {
      /** `store_failed`: the store did not answer. */
      readonly why: "provider" | "store_failed";
      /** ms from now; null: when somebody resumes the run. */
      readonly afterMs: number | null;
    }
  /** A limit of the run is spent: the job goes on when somebody resumes the run. */
  | { readonly why: "budget"; readonly limit: keyof Amount }
  /** A call of this model failed in a way that is no fault of the job. */
  | { readonly why: "trouble"; readonly error: SubCallError; readonly model: string };

/**
 * Suspends a job that has to wait for long. Answers that are already paid for are kept first: the job is suspended once every call
 * that has been sent is recorded, or waits here too.
 */
export interface Parking {
  /** The call waits until it is ended, which the suspension does. */
  wait(call: string, parked: Parked, ended: AbortSignal): Promise<void>;
  /** The first reason; null: the job goes on. */
  reason(): Parked | null;
  /** A request of the call is on its way. */
  sent(call: string): void;
  recorded(call: string): void;
}

export function openParking(suspend: (parked: Parked) => void): Parking {
  const open = new Set<string>();
  const waiting = new Set<string>();
  let reason: Parked | null = null;
  const suspendIfQuiet = () => {
    if (reason && [...open].every((call) => waiting.has(call))) suspend(reason);
  };
  return {
    async wait(call, parked, ended) {
      reason ??= parked;
      waiting.add(call);
      suspendIfQuiet();
      await aborted(ended);
      waiting.delete(call);
    },
    reason: () => reason,
    sent: (call) => open.add(call),
    recorded(call) {
      open.delete(call);
      suspendIfQuiet();
    },
  };
}
