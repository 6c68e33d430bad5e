import { LIMITS } from "../../runtime/index.ts";
import { openStore } from "./open.ts";
import type { Store } from "./port.ts";

/** A store that several users in this process have open. */
interface Shared {
  readonly opening: Promise<Store>;
  users: number;
  /** Calls off its end. */
  stay(): void;
}

const open = new Map<string | null, Shared>();

/**
 * Opens a store as `openStore` does, but all users of one place share one connection; null: one store in memory for all. Each
 * user has leases of its own. The last to close it closes the store, but one in memory stays for some seconds: the next session
 * may come soon.
 */
export async function shareStore(place: string | null): Promise<Store> {
  const shared = open.get(place) ?? begin(place);
  shared.users++;
  shared.stay();
  const store = await shared.opening;
  return userOf(store, () => leave(place, shared, place === null ? LIMITS.idleThreadMs : 0));
}

/** The store as one user has it: a session that another user has leased is busy. */
function userOf(store: Store, close: () => Promise<void>): Store {
  const leased = new Set<string>();
  const accounts = new Set<string>();
  let closing: Promise<void> | undefined;
  return {
    ...store,
    async create(session) {
      const row = await store.create(session);
      leased.add(session.id);
      return row;
    },
    async lease(id) {
      const row = await store.lease(id);
      leased.add(id);
      return row;
    },
    async release(id) {
      if (leased.delete(id)) await store.release(id);
    },
    async remove(id, options) {
      const isLeased = leased.has(id);
      if (!isLeased) await store.lease(id);
      leased.add(id);
      try {
        await store.remove(id, options);
        leased.delete(id);
      } catch (error) {
        if (!isLeased && leased.delete(id)) await store.release(id);
        throw error;
      }
    },
    batches: {
      ...store.batches,
      async lease(account) {
        const fence = await store.batches.lease(account);
        if (fence !== null) accounts.add(account);
        return fence;
      },
      async release(account) {
        if (accounts.delete(account)) await store.batches.release(account);
      },
    },
    [Symbol.asyncDispose]() {
      const releasing = () => [
        ...[...leased].map((id) => store.release(id)),
        ...[...accounts].map((account) => store.batches.release(account)),
      ];
      closing ??= Promise.all(releasing()).then(close);
      return closing;
    },
  };
}

function begin(place: string | null): Shared {
  const opening = openStore(place);
  const shared: Shared = { opening, users: 0, stay() {} };
  opening.catch(() => {
    if (open.get(place) === shared) open.delete(place);
  });
  open.set(place, shared);
  return shared;
}

async function leave(place: string | null, shared: Shared, lingerMs: number): Promise<void> {
  if (--shared.users > 0) return;
  const end = async () => {
    if (open.get(place) === shared) open.delete(place);
    await (await shared.opening)[Symbol.asyncDispose]();
  };
  if (lingerMs === 0) return end();
  const timer = setTimeout(() => void end().catch(() => {}), lingerMs).unref();
  shared.stay = () => clearTimeout(timer);
}
