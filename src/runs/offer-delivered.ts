import { RlmError, systemClock } from "../../runtime/index.ts";
import { messageOf } from "../platform/errors.ts";
import { aborted } from "../platform/signals.ts";
import { collectUntil } from "../provider-batches/index.ts";
import { isServer } from "../store/store-place.ts";
import type { WorkOptions } from "./api.ts";
import { modelsBy } from "./job-session.ts";
import { onlyThese } from "./session-options.ts";
import { reasonOf } from "./shared-failures.ts";

/** Time between two looks for jobs whose answers have come, ms. */
const LOOK_MS = 1000;
const IDLE_LOOK_MS = 5000;

/**
 * Sends what jobs have given to batches, takes in the answers, and offers the jobs that may
 * continue, until the signal aborts.
 */
export async function offerDelivered(options: WorkOptions, signal: AbortSignal): Promise<void> {
  const { store, place, queues, session: own, onProgress = () => {}, onLooked: looked } = options;
  const isShared = place !== null && isServer(place);
  const told = new Set<string>();
  const stopped = aborted(signal);

  function tellOnce(kind: "said" | "paused", text: string): void {
    if (!told.has(text)) onProgress({ kind, text });
    told.add(text);
  }

  /**
   * The run says why it does not continue. A worker without the key of an account leaves it to
   * others.
   */
  async function hindered(account: string, error: RlmError, isOurs: boolean): Promise<void> {
    const reason = reasonOf(error);
    const isLeft = isShared && !isOurs;
    const names = queues.map(({ name }) => name);
    if (!isLeft && (await store.batches.pause(account, names, reason)) === 0) return;
    tellOnce(isLeft ? "said" : "paused", reason);
  }

  /**
   * Offers jobs that waited for batches and wait for nothing any more. One that has a ticket gets
   * no second one.
   */
  async function offer(): Promise<void> {
    for (const { name, dispatcher } of queues) await dispatcher.offer(await store.batches.delivered(name));
  }

  const parts = {
    store,
    models: onlyThese(modelsBy(own, process.env)(null), own.models),
    clock: options.clock ?? systemClock,
    random: Math.random,
    resendsDoubtful: options.resendsDoubtful ?? false,
    looked,
    lookMs: LOOK_MS,
    idleMs: IDLE_LOOK_MS,
    async look() {
      if (signal.aborted) return true;
      // A dispatcher that is full takes the rest once there is room.
      await Promise.race([offer().catch(ifStoreFailed), stopped]);
      return null;
    },
    hindered: (account: string, error: RlmError, isOurs: boolean) =>
      void hindered(account, error, isOurs).catch((failed) => onProgress({ kind: "said", text: messageOf(failed) })),
    failing: (_account: string, error: RlmError) => onProgress({ kind: "said", text: reasonOf(error) }),
    damaged: (error: RlmError) => tellOnce("said", reasonOf(error)),
  };
  await collectUntil(parts, signal);
}

function ifStoreFailed(error: unknown): void {
  if (!(error instanceof RlmError) || error.code !== "store_failed") throw error;
}
