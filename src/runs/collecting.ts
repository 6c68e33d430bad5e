import { RlmError, systemClock } from "../../runtime/index.ts";
import { messageOf } from "../platform/errors.ts";
import { aborted } from "../platform/signals.ts";
import { sleep } from "../platform/sleep.ts";
import { isServer } from "../platform/store-place.ts";
import { batchPace, collectAnswers } from "../provider-batches/index.ts";
import type { WorkOptions, WorkProgress } from "./api.ts";
import { modelsBy } from "./job-session.ts";
import { onlyThese } from "./session-options.ts";
import { reasonOf } from "./shared-failures.ts";

/**
 * Time between two looks for jobs whose answers have come, ms. Another process may have taken them
 * in.
 */
const LOOK_MS = 1000;
const IDLE_LOOK_MS = 5000;
/** Time until rows that are damaged are read again, ms. */
const DAMAGED_MS = 60_000;

/**
 * Sends what jobs have given to batches, takes in the answers, and offers the jobs that may go on,
 * until the signal aborts.
 */
export async function collecting(options: WorkOptions, signal: AbortSignal): Promise<void> {
  const { store, place, session: own, clock = systemClock, onProgress = () => {}, resendsDoubtful = false } = options;
  const isShared = place !== null && isServer(place);
  const told = new Set<string>();
  let offersSoon = true;

  /**
   * The run says why it does not go on. A worker without the key of an account leaves it to others.
   */
  async function hindered(account: string, error: RlmError, isOurs: boolean): Promise<void> {
    const reason = reasonOf(error);
    const isLeft = isShared && !isOurs;
    const names = options.queues.map(({ name }) => name);
    if (!isLeft && (await store.batches.pause(account, names, reason)) === 0) return;
    tellOnce({ kind: isLeft ? "said" : "paused", text: reason });
  }

  function tellOnce(progress: Extract<WorkProgress, { readonly text: string }>, about = progress.text): void {
    if (!told.has(about)) onProgress(progress);
    told.add(about);
  }

  const stopped = aborted(signal);
  const parts = {
    store,
    models: onlyThese(modelsBy(own, process.env)(null), own.models),
    clock,
    random: Math.random,
    resendsDoubtful,
    looked: options.onLooked,
    answered: () => {
      offersSoon = true;
    },
    failing: (account: string, error: RlmError) => tellOnce({ kind: "said", text: reasonOf(error) }, account),
    hindered: (account: string, error: RlmError, isOurs: boolean) =>
      void hindered(account, error, isOurs).catch((failed) => onProgress({ kind: "said", text: messageOf(failed) })),
  };
  const sending = (async () => {
    while (!signal.aborted) {
      // A damaged row of one run is no reason to end the work on the others: somebody may remove
      // that run.
      await collectAnswers(parts, signal).catch((error: unknown) => {
        if (!(error instanceof RlmError) || error.code !== "store_corrupt") throw error;
        tellOnce({ kind: "said", text: reasonOf(error) });
      });
      await sleep(clock, DAMAGED_MS, signal);
    }
  })();
  const offering = (async () => {
    while (!signal.aborted) {
      // A dispatcher that is full takes the rest once there is room.
      await Promise.race([offerDelivered(options).catch(ifStoreFailed), stopped]);
      const isSoon = offersSoon;
      offersSoon = false;
      await sleep(clock, (isSoon ? LOOK_MS : IDLE_LOOK_MS) * batchPace(), signal);
    }
  })();
  await Promise.all([sending, offering]);
}

/**
 * Offers jobs that waited for batches and wait for nothing any more. One that has a ticket gets no
 * second one.
 */
async function offerDelivered({ store, queues }: WorkOptions): Promise<void> {
  for (const { name, dispatcher } of queues) {
    await dispatcher.offer(await store.batches.delivered(name));
  }
}

function ifStoreFailed(error: unknown): void {
  if (!(error instanceof RlmError) || error.code !== "store_failed") throw error;
}
