import type { Store, Waiters, Waits } from "../store/index.ts";

/** A provider's batch that an exec waits for. */
export interface ProviderWait extends Pick<Waits, "batch" | "state" | "calls" | "done" | "since" | "earlier"> {
  readonly provider: string;
  /** When the provider gives the batch up at the latest, ms since the epoch. */
  readonly until: number;
}

/** Providers give a batch up after a day. */
const LONGEST_MS = 24 * 3600_000;

/** The batches that a run or a root session waits for, as callers see them. */
export async function waitsFor({ batches }: Pick<Store, "batches">, of: Waiters): Promise<ProviderWait[]> {
  return (await batches.waits(of)).map(providerWait);
}

/** A wait as callers see it. */
export function providerWait({ model, batch, state, calls, done, since, earlier }: Waits): ProviderWait {
  const provider = model.slice(0, model.indexOf("/"));
  return { provider, batch, state, calls, done, since, earlier, until: since + LONGEST_MS };
}

/** Calls leave before their caller goes, unless that takes longer than this. */
const LEAVING_MS = 60_000;

/**
 * True if the time of waiting for these has ended, since so many ms.
 *
 * @param hasLooked what waits for providers was looked at
 */
export function hasWaited(waits: readonly ProviderWait[], overMs: number, hasLooked = true): boolean {
  return overMs >= LEAVING_MS || (overMs >= 0 && hasLooked && waits.every(({ batch }) => batch !== null));
}
