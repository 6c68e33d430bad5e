import { setTimeout } from "node:timers/promises";
import { RlmError } from "../../index.ts";
import type { Jobs } from "../../store/index.ts";
import { willGoOn } from "./follow.ts";

const LOOK_MS = 1000;
const PAGE = 1000;

interface Idling {
  readonly jobs: Pick<Jobs, "runs" | "counts" | "list">;
  readonly queues: readonly string[];
  /** Whether a job runs here. */
  isBusy(): boolean;
  readonly signal: AbortSignal;
}

/** Resolves when no open run of the queues has a job that waits or runs, or the signal aborts. */
export async function untilIdle(idling: Idling): Promise<void> {
  while (!idling.signal.aborted) {
    if (!idling.isBusy() && !(await hasWork(idling))) return;
    await setTimeout(LOOK_MS, undefined, { signal: idling.signal }).catch(() => {});
  }
}

/** A server that does not answer may have work. */
async function hasWork({ jobs, queues }: Idling): Promise<boolean> {
  try {
    for (let after: string | null = null; ; ) {
      const page: Awaited<ReturnType<Jobs["runs"]>> = await jobs.runs({ after, limit: PAGE });
      for (const { id, queue, state } of page) {
        if (state !== "open" || !queues.includes(queue)) continue;
        const { waiting, running, cancelling, parked } = await jobs.counts(id);
        if (waiting + running + cancelling > 0 || (parked > 0 && (await willGoOn(jobs, id)))) return true;
      }
      after = page.at(-1)?.id ?? null;
      if (page.length < PAGE) return false;
    }
  } catch (error) {
    if (error instanceof RlmError && error.code === "store_failed") return true;
    throw error;
  }
}
