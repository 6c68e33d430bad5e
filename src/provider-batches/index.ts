import { type Clock, RlmError, remedy } from "../../runtime/index.ts";
import type { BatchAccount, Models } from "../models/index.ts";
import type { Store } from "../store/index.ts";
import { type CollectorParts, collect } from "./collector.ts";
import { clientOf } from "./providers.ts";

export { proofOfRequest } from "./proof.ts";

/** The surroundings of a process that works on what goes by batches. */
export interface CollectingProcess
  extends Pick<CollectorParts, "random" | "resendsDoubtful" | "answered" | "hindered" | "failing" | "looked"> {
  readonly store: Pick<Store, "batches">;
  /** Models by the keys of this process. */
  readonly models: Pick<Models, "resolve">;
  readonly clock: Clock;
}

/**
 * Sends the requests of a store that go by batches, and takes in their answers, until the signal aborts.
 * @throws RlmError `store_corrupt`
 */
export function collectAnswers({ store, models, ...parts }: CollectingProcess, signal: AbortSignal): Promise<void> {
  const accountOf = async (model: string) => {
    const { batchAccount } = models.resolve(model);
    if (batchAccount) return batchAccount();
    throw new RlmError("no_model_configured", `${model} has no batches here`, {
      suggestion: `As before: ${remedy("nameServer")}, and ${remedy("nameKey")}.`,
    });
  };
  const client = (account: BatchAccount) => clientOf(account, signal);
  return collect({ ...parts, batches: store.batches, accountOf, clientOf: client, pace: batchPace() }, signal);
}

/**
 * Has providers cancel batches that nobody wants any more, as far as their keys are here. At most 10 s. Returns the number of those
 * that go on.
 */
export async function cancelUnwanted(parts: Pick<CollectingProcess, "store" | "models" | "clock">): Promise<number> {
  async function unwanted(): Promise<number> {
    const open = await parts.store.batches.open();
    return open.filter(({ state, wanted, cancelled }) => state === "out" && wanted === 0 && !cancelled).length;
  }

  if ((await unwanted()) === 0) return 0;
  const looked = new AbortController();
  const ignored = { answered() {}, hindered() {}, failing() {} };
  const looking = { ...parts, ...ignored, random: Math.random, resendsDoubtful: false, looked: () => looked.abort() };
  await collectAnswers(looking, AbortSignal.any([looked.signal, AbortSignal.timeout(CANCEL_MS)]));
  return unwanted();
}

const CANCEL_MS = 10_000;

/** Factor of all waits for batches: 1, or less in tests. */
export function batchPace(): number {
  const pace = Number(process.env.BELAY_SHIPPING_PACE);
  return pace > 0 && pace < 1 ? pace : 1;
}
