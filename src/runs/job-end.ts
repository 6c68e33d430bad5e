import type { ErrorCode } from "../../runtime/index.ts";
import { cutText } from "../platform/visible.ts";
import type { Back, JobRow, Outcome } from "../store/index.ts";
import type { Reason } from "./failures.ts";
import type { RunSpec } from "./spec.ts";
import type { JobEnd, Suspended } from "./try-parts.ts";

/** The last step of a try with its job. */
type LastStep =
  | { readonly kind: "finish"; readonly outcome: Outcome }
  /** The row is put back. The ticket comes again after `afterMs`; null: not by itself. */
  | { readonly kind: "put"; readonly back: Back; readonly afterMs: number | null; readonly damage?: Reason }
  /** The row stays as it is, and the ticket comes again. */
  | { readonly kind: "again"; readonly afterMs: number };

/** A ticket that met a failing store, or lost its lease, comes again after this, ms. */
export const STORE_MS = 5000;

/** So long after a call failed without its job's fault the job is tried again, ms. */
const TROUBLE_MS = 1000;

/** Failures that are no fault of the cell, so that the job is tried again. */
export const TRIED_AGAIN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["machine_lost", "context_lost"]);

interface Circumstances extends Pick<RunSpec, "retries"> {
  readonly suspended: Suspended | null;
  /** ms since the epoch. */
  readonly now: number;
  /** From 0 to 1. */
  readonly random: () => number;
}

export function stepAfter(end: JobEnd, { attempts }: Pick<JobRow, "attempts">, by: Circumstances): LastStep {
  if (end.kind === "unfinished") return end.damage ? damaged(end.damage) : unfinished(by);
  const { code, result, told } = end;
  if (code !== null && TRIED_AGAIN.has(code) && attempts < by.retries) {
    const afterMs = retryMs(attempts, by.random());
    return { kind: "put", back: { state: "waiting", why: code, afterMs, counts: true }, afterMs };
  }
  const state = code === null ? "done" : code === "cancelled" ? "cancelled" : "failed";
  return { kind: "finish", outcome: { state, result, told } };
}

function unfinished({ suspended, now }: Circumstances): LastStep {
  switch (suspended?.why) {
    case "stopped":
    case "day":
      return put("waiting", null, 0);
    case "budget":
    case "delivery":
      return { ...put("parked", suspended.why, 0), afterMs: null };
    case "held":
      // The store offers it once there is room.
      return { ...put("parked", suspended.why, Math.max(1, suspended.afterMs ?? 0)), afterMs: null };
    case "provider":
      return put("parked", suspended.why, Math.max(1, suspended.afterMs ?? 0), told(suspended.error, now));
    case "trouble":
      return put("waiting", suspended.error.code, TROUBLE_MS, told(suspended.error, now));
    case "damaged":
      return damaged(suspended.error);
    case "left":
    case "store_failed":
    case undefined:
      return { kind: "again", afterMs: STORE_MS };
  }
}

/** The job waits until a person has repaired the store and resumes its run. */
function damaged(damage: Reason): LastStep {
  return { ...put("waiting", damage.code, 0), afterMs: null, damage };
}

/** The job goes back, and the try does not count. */
function put(state: Back["state"], why: string | null, afterMs: number, told: Pick<Back, "told"> = {}) {
  return { kind: "put", back: { state, why, afterMs, counts: false, ...told }, afterMs } as const;
}

/** The words of a provider that are kept of a refusal: UTF-16 units. */
const REFUSAL_UNITS = 500;

/** The facts of a provider's refusal, which the row tells until the job has ended. */
function told(error: Reason | undefined, now: number): Pick<Back, "told"> {
  if (!error) return {};
  const words = cutText(error.message, REFUSAL_UNITS);
  return { told: { refusal: { error_code: error.code, error: words, suggestion: error.suggestion, at: now } } };
}

const FIRST_RETRY_MS = 5000;
const MOST_RETRY_MS = 600_000;

/** 5 s, four times as long with each attempt, 10 min at the most; more or less by a fifth. */
function retryMs(attempts: number, random: number): number {
  return Math.round(Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 4 ** attempts) * (0.8 + 0.4 * random));
}
