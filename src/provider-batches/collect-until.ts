import { type Clock, RlmError, remedy } from "../../runtime/index.ts";
import type { Models } from "../models/index.ts";
import { joinSignals, sleep } from "../platform/signals.ts";
import type { Store, Waiters, Waits } from "../store/index.ts";
import { batchPace } from "./advance.ts";
import { type CollectorParts, collect } from "./collector.ts";
import { clientOf } from "./providers/index.ts";

/** A process that collects answers, and looks now and then whether what it waits for has come. */
interface Collecting<End> extends Pick<CollectorParts, "random" | "resendsDoubtful"> {
  readonly store: Pick<Store, "batches">;
  /** Models by the keys of this process. */
  readonly models: Pick<Models, "resolve">;
  readonly clock: Clock;
  /**
   * Looks whether the process is to continue. Returns null if it is; it is not once the signal has
   * aborted.
   */
  look(seen: Seen): Promise<End | null>;
  /** Time between two looks if answers have come, ms. */
  readonly lookMs: number;
  /**
   * Time between two looks if none have come; absent: as long. Another process may have taken
   * answers in.
   */
  readonly idleMs?: number;
  /** Time that requests have to come back at the end, ms. Absent: as long as they take. */
  readonly stopMs?: number;
  /** See {@link CollectorParts.hindered}. */
  readonly hindered?: CollectorParts["hindered"];
  /** Called when a provider first fails to do what it is asked for. */
  failing?(account: string, error: RlmError): void;
  /** Called once all that is open has been looked at. */
  readonly looked?: (() => void) | undefined;
  /**
   * Called for damaged rows, which are read again after a minute. Absent: they end the collecting.
   */
  damaged?(error: RlmError): void;
}

/** Findings of a process since it began to collect. */
export interface Seen {
  /** True once all that was open has been looked at. */
  readonly hasLooked: boolean;
  /** Accounts for which nothing can be sent until a person acts, and why. */
  readonly hindered: ReadonlyMap<string, RlmError>;
  /** Accounts whose providers have failed, with the newest failure. */
  readonly failing: ReadonlyMap<string, RlmError>;
}

/**
 * Sends the requests of a store that go by batches and takes in their answers, until a look says
 * that this has ended.
 *
 * @param signal cuts requests off, except those that make or take away something
 * @returns what the last look returned
 * @throws RlmError `store_corrupt`, unless `damaged` takes it
 */
export async function collectUntil<End>(parts: Collecting<End>, signal: AbortSignal): Promise<End> {
  const { clock, lookMs, idleMs = lookMs, stopMs } = parts;
  const over = new AbortController();
  using stop = joinSignals(over.signal, signal);
  const hindered = new Map<string, RlmError>();
  const failing = new Map<string, RlmError>();
  let hasLooked = false;
  let hasAnswers = true;
  const collector: CollectorParts = {
    ...parts,
    batches: parts.store.batches,
    pace: batchPace(),
    accountOf: (model) => accountOf(parts.models, model),
    clientOf: (account) => clientOf(account, stop.signal),
    answered() {
      hasAnswers = true;
    },
    looked() {
      hasLooked = true;
      parts.looked?.();
    },
    hindered(account, error, isOurs) {
      hindered.set(account, error);
      parts.hindered?.(account, error, isOurs);
    },
    failing(account, error) {
      const isNew = !failing.has(account);
      failing.set(account, error);
      if (isNew) parts.failing?.(account, error);
    },
  };
  const collecting = collectOn(collector, stop.signal, parts.damaged);
  // Its error is thrown at once, whatever a look waits for.
  const failed = collecting.then(() => new Promise<never>(() => {}));
  failed.catch(() => {});
  try {
    for (;;) {
      const end = await Promise.race([parts.look({ hasLooked, hindered, failing }), failed]);
      if (end !== null) return end;
      const ms = hasAnswers ? lookMs : idleMs;
      hasAnswers = false;
      await Promise.race([sleep(clock, ms * batchPace(), stop.signal), failed]);
    }
  } finally {
    over.abort();
    // The outcome of a request that hangs is looked for later.
    const late = stopMs === undefined ? [] : [sleep(clock, stopMs, new AbortController().signal)];
    await Promise.race([collecting, ...late]);
  }
}

/** Time until rows that are damaged are read again, ms. */
const DAMAGED_MS = 60_000;

/**
 * Collects until the signal aborts. Damaged rows of one session are no reason to end the work on
 * others.
 */
async function collectOn(
  parts: CollectorParts,
  signal: AbortSignal,
  damaged: Collecting<unknown>["damaged"],
): Promise<void> {
  while (!signal.aborted) {
    try {
      await collect(parts, signal);
    } catch (error) {
      if (!damaged || !(error instanceof RlmError) || error.code !== "store_corrupt") throw error;
      damaged(error);
      await sleep(parts.clock, DAMAGED_MS, signal);
    }
  }
}

async function accountOf(models: Pick<Models, "resolve">, model: string) {
  const { batchAccount } = models.resolve(model);
  if (batchAccount) return batchAccount();
  throw new RlmError("no_model_configured", `${model} has no provider batches here`, {
    suggestion: `As before: ${remedy("nameServer")}, and ${remedy("nameKey")}.`,
  });
}

/**
 * Has providers cancel batches that nobody wants any more, as far as their keys are here. At most
 * 10 s.
 *
 * @returns the number of those that continue
 */
export async function cancelUnwanted(parts: Pick<Collecting<unknown>, "store" | "models" | "clock">): Promise<number> {
  async function unwanted(): Promise<number> {
    const open = await parts.store.batches.open();
    return open.filter(({ state, wanted, cancelled }) => state === "out" && wanted === 0 && !cancelled).length;
  }

  if ((await unwanted()) === 0) return 0;
  const signal = AbortSignal.timeout(CANCEL_MS);
  const look = async ({ hasLooked }: Seen) => hasLooked || signal.aborted || null;
  const looking = { ...parts, look, lookMs: CANCEL_LOOK_MS, random: Math.random, resendsDoubtful: false };
  await collectUntil(looking, signal);
  return unwanted();
}

const CANCEL_MS = 10_000;
const CANCEL_LOOK_MS = 100;

/** A provider batch that an exec waits for. */
export interface ProviderWait extends Pick<Waits, "batch" | "state" | "calls" | "done" | "since" | "earlier"> {
  readonly provider: string;
  /** The provider's deadline for the batch, ms since the epoch. */
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
