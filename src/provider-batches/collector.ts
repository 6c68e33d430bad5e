import { type Clock, RlmError, remedy } from "../../runtime/index.ts";
import { type BatchAccount, keyVariable } from "../models/index.ts";
import { sleep } from "../platform/signals.ts";
import type { BatchStore, Group, ProviderBatch } from "../store/index.ts";
import { type Advancing, advance, HINDERED_MS } from "./advance.ts";
import type { BatchClient } from "./providers/provider.ts";

/** The parts with which a process sends what waits for batches, and takes the answers in. */
export interface CollectorParts
  extends Pick<Advancing, "random" | "pace" | "resendsDoubtful" | "answered">,
    Omit<AccountsParts, "batches"> {
  readonly batches: BatchStore;
  readonly clock: Clock;
  clientOf(account: BatchAccount): BatchClient;
  /**
   * Nothing can be sent for an account until a person acts. It may be told more than once.
   * @param isOurs this process has its lease; else another one may have its key
   */
  hindered(account: string, error: RlmError, isOurs: boolean): void;
  /**
   * The provider of an account does not do what it is asked for now. It is asked again later, and
   * this is told each time.
   */
  failing(account: string, error: RlmError): void;
  /** Called once all that is open has been looked at. */
  readonly looked?: (() => void) | undefined;
}

/**
 * The longest time between two rounds, ms: requests that another process keeps are found so late.
 */
const ROUND_MS = 1000;
const IDLE_MS = 2000;

/**
 * A group is closed once no request has come to it for so long, ms: the calls of a cell come one
 * after the other.
 */
const SETTLE_MS = 300;

/**
 * Sends requests of the store and takes in their answers, until the signal aborts. One process at a
 * time does so for an account.
 */
export async function collect(given: CollectorParts, signal: AbortSignal): Promise<void> {
  // A request that is cut off by the end is no failure of its provider.
  const failing: CollectorParts["failing"] = (...told) => void (signal.aborted || given.failing(...told));
  const parts = { ...given, failing };
  await using accounts = openAccounts(parts);
  /**
   * When a model of an account that is hindered is served again, ms of the clock. It is forgotten
   * then.
   */
  const hindered = new Map<string, number>();
  /** Accounts that are being served. One whose provider hangs keeps no other one. */
  const busy = new Map<string, Promise<void>>();
  const failures: unknown[] = [];
  let isFirst = true;

  /** Serves each account that has something open. Returns when to do so again, in ms. */
  async function round(): Promise<number> {
    const [groups, open] = await Promise.all([parts.batches.groups(), parts.batches.open()]);
    const names = new Set([...groups, ...open].map(({ account }) => account));
    await accounts.keep(names);
    const now = parts.clock.monotonic();
    const keyOf = ({ account, model }: Group | ProviderBatch) => `${account} ${model}`;
    for (const [key, until] of hindered) if (until <= now) hindered.delete(key);
    const isFree = (one: Group | ProviderBatch) => !hindered.has(keyOf(one));
    for (const name of [...names].filter((one) => !busy.has(one))) {
      const ofName = [...groups, ...open].filter(({ account }) => account === name);
      const stuck = (model: string, error: RlmError, isOurs = true) => {
        const key = `${name} ${model}`;
        hindered.set(key, now + HINDERED_MS * parts.pace);
        // Nobody has to act for what nobody waits for.
        const isWanted = (one: Group | ProviderBatch) => keyOf(one) === key && (!isBatch(one) || one.wanted > 0);
        if (ofName.some(isWanted)) parts.hindered(name, error, isOurs);
      };
      const free = ofName.filter(isFree);
      // Whoever has come for answers gets those that are there.
      const isDue = (one: Group | ProviderBatch) =>
        isBatch(one) ? one.lookMs <= 0 || isFirst : isReady(one, parts.pace);
      const isLeft = free.length < ofName.length;
      const serving = serve(parts, accounts, { name, due: free.filter(isDue), isLeft, stuck })
        .catch((error: unknown) => void failures.push(error))
        .finally(() => busy.delete(name));
      busy.set(name, serving);
    }
    const served = Promise.all(busy.values());
    if (isFirst) void served.then(() => parts.looked?.());
    isFirst = false;
    const over = new AbortController();
    await Promise.race([served, sleep(parts.clock, ROUND_MS * parts.pace, over.signal)]);
    over.abort();
    if (failures.length > 0) throw failures.splice(0)[0];
    return names.size === 0 ? IDLE_MS : groups.length > 0 ? SETTLE_MS : ROUND_MS;
  }

  while (!signal.aborted) {
    // A server that does not answer now may do so later.
    const ms = await round().catch((error) => (isOfStore(error) ? IDLE_MS : Promise.reject(error)));
    await sleep(parts.clock, ms * parts.pace, signal);
  }
  await Promise.all(busy.values());
}

interface Serving {
  readonly name: string;
  /** Groups to close, and batches to look at. */
  readonly due: readonly (Group | ProviderBatch)[];
  /** There is more in the account, which another process may be able to send. */
  readonly isLeft: boolean;
  stuck(model: string, error: RlmError, isOurs?: boolean): void;
}

/** Below the limits of every provider. */
const MOST = { requests: 20_000, bytes: 100_000_000 };

/** Closes groups of an account, and advances its batches. */
async function serve(parts: CollectorParts, accounts: Accounts, { name, due, isLeft, stuck }: Serving): Promise<void> {
  let hasFailed = false;
  // The current batches, and the fence under which they were read.
  let open: readonly ProviderBatch[] = [];
  let readUnder: number | null = null;
  for (const one of due) {
    try {
      const account = await accounts.accountFor(name, one.model);
      const fence = await accounts.serve(name);
      if (fence === null) return;
      // Batches read without the lease, or while this account was served, may be old: a batch may
      // have been made since.
      if (readUnder !== fence) {
        open = await parts.batches.open();
        readUnder = fence;
      }
      // ▣ the requests have their batch
      const batch = isBatch(one) ? open.find(({ id }) => id === one.id) : await parts.batches.close(one, fence, MOST);
      const hindered = (error: RlmError) => stuck(one.model, error);
      const failing = (error: RlmError) => parts.failing(name, error);
      const advancing = { ...parts, fence, account, client: parts.clientOf(account), hindered, failing };
      if (batch) await advance(advancing, batch);
    } catch (error) {
      if (!(error instanceof RlmError) || isOfStore(error)) throw error;
      hasFailed = true;
      stuck(one.model, error, false);
    }
  }
  if (isLeft || hasFailed) await accounts.leave(name);
}

const isBatch = (one: Group | ProviderBatch): one is ProviderBatch => "id" in one;

const isOfStore = (error: unknown) => error instanceof RlmError && error.code === "store_failed";

/** A group is closed when its oldest request has waited so long, ms. */
const WAVE_MS = 600_000;

function isReady({ requests, bytes, grows, oldestMs, newestMs }: Group, pace: number): boolean {
  if (requests >= MOST.requests || bytes >= MOST.bytes || oldestMs >= WAVE_MS) return true;
  return !grows && newestMs >= SETTLE_MS * pace;
}

interface AccountsParts {
  readonly batches: Pick<BatchStore, "lease" | "release">;
  /**
   * The account of a model, `provider/id`, by the keys of this process.
   *
   * @throws RlmError if there is no key
   */
  accountOf(model: string): Promise<BatchAccount>;
}

/** Accounts whose leases this process has, until it gives them back. */
interface Accounts extends AsyncDisposable {
  /** Takes the lease of an account, and returns its fence. null: another process has it. */
  serve(name: string): Promise<number | null>;
  /**
   * The account, as requests of this model, `provider/id`, need it: rows of different models may
   * need different headers.
   *
   * @throws RlmError `auth_failed` if this process has no key or another one, or does not ask the
   *   model: then nothing is sent
   */
  accountFor(name: string, model: string): Promise<BatchAccount>;
  /** Gives the lease of an account back, if this process has it. */
  leave(name: string): Promise<void>;
  /** Gives the leases of all other accounts back. */
  keep(accounts: ReadonlySet<string>): Promise<void>;
}

function openAccounts({ batches, accountOf }: AccountsParts): Accounts {
  /** Fences of the leases, by their accounts. */
  const served = new Map<string, number>();

  async function keep(accounts: ReadonlySet<string>): Promise<void> {
    const left = [...served.keys()].filter((name) => !accounts.has(name));
    for (const name of left) served.delete(name);
    await Promise.all(left.map((name) => batches.release(name)));
  }

  async function accountFor(name: string, model: string): Promise<BatchAccount> {
    const account = await accountOf(model).catch((error: unknown) => {
      if (!(error instanceof RlmError)) throw error;
      const { message, suggestion, ...cause } = error;
      const problem = `calls of ${model} go by provider batches of ${name}: ${message}`;
      throw new RlmError("auth_failed", problem, { suggestion, cause });
    });
    if (account.id === name) return account;
    throw anotherAccount(name, model, account.id);
  }

  return {
    async serve(name) {
      const known = served.get(name);
      if (known !== undefined) return known;
      const fence = await batches.lease(name);
      if (fence !== null) served.set(name, fence);
      return fence;
    },
    accountFor,
    async leave(name) {
      if (served.delete(name)) await batches.release(name).catch(() => {});
    },
    keep,
    [Symbol.asyncDispose]: () => keep(new Set()),
  };
}

const hashIn = (account: string) => account.slice(account.lastIndexOf(" ") + 1);

function anotherAccount(account: string, model: string, own: string): RlmError {
  const isOtherServer = hashIn(account) === hashIn(own);
  const variable = keyVariable(model);
  const cure = isOtherServer
    ? `Name that server again: ${remedy("nameServer")}`
    : `Set ${variable ? `${variable} to ` : ""}the key whose SHA-256 begins with ${hashIn(account)}`;
  return new RlmError("auth_failed", `calls of ${model} go by provider batches of another key or server (${account})`, {
    suggestion: `${cure}; or ${remedy("giveUpCalls")}.`,
  });
}
