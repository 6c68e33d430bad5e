import { RlmError } from "../../runtime/errors.ts";
import { LIMITS } from "../../runtime/index.ts";
import { remedy } from "../../runtime/remedies.ts";
import { rememberStoreFiles } from "../platform/paths.ts";
import { silenceSqliteWarning } from "../platform/sqlite-warning.ts";
import { type BareLease, portOf, type Serving, wrapEach } from "./methods.ts";
import type { Lease, Store } from "./port.ts";
import { isServer } from "./store-place.ts";

/**
 * Opens the store in a folder, made if it is missing, or on a server; null: in memory, for this
 * process alone. It works in the caller's thread, and keeps the process alive only while something
 * is asked of it. The caller cannot use the buffers of pages after `commit` and `putBaseline`.
 * @throws RlmError `store_failed`, `store_corrupt`, `store_too_new`
 */
export async function openStore(place: string | null): Promise<Store> {
  const signals = openLossSignals();
  const serving = await serve(place, signals.lost);
  let closing: Promise<void> | undefined;
  const methods = wrapEach(serving.methods, (method) => async (...args) => {
    if (closing) throw storeClosed();
    return method(...args).catch((error: unknown): never => {
      throw asRlmError(error);
    });
  });
  return {
    ...portOf(methods),
    texts: serving.texts,
    create: (session) => signals.leased(session.id, methods.create(session)),
    lease: (id) => signals.leased(id, methods.lease(id)),
    release(id) {
      signals.forget(id);
      return methods.release(id);
    },
    async remove(id, options) {
      const removed = await methods.remove(id, options);
      // Its lease has gone with it.
      signals.forget(id);
      return removed;
    },
    [Symbol.asyncDispose]() {
      closing ??= serving.close();
      return closing;
    },
  };
}

/** @param lost is told the session of each lease that is lost */
async function serve(place: string | null, lost: (session: string, error: RlmError) => void): Promise<Serving> {
  if (place !== null && isServer(place)) {
    const { leaseLost } = await import("./postgres/failure.ts");
    const { serveServer } = await import("./postgres/store.ts");
    return serveServer(place, (session) => lost(session, leaseLost(session)));
  }
  if (place !== null) rememberStoreFiles(place);
  const { serveFile } = await loadSqlite();
  return serveFile(place);
}

let loading: Promise<typeof import("./sqlite/requests.ts")> | undefined;

/**
 * Loads node:sqlite when a store is opened. The program's own warnings are heard again afterwards.
 */
async function loadSqlite(): Promise<typeof import("./sqlite/requests.ts")> {
  const { emitWarning } = process;
  silenceSqliteWarning();
  try {
    loading ??= import("./sqlite/requests.ts");
    return await loading;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The signals of leases, which abort once the lease is lost. */
interface LossSignals {
  /** The lease that is being taken, with its signal. */
  leased(id: string, taking: Promise<BareLease>): Promise<Lease>;
  lost(session: string, error: RlmError): void;
  forget(session: string): void;
}

function openLossSignals(): LossSignals {
  const losses = new Map<string, AbortController>();
  /**
   * Leases that the caller does not have yet: a server may take long to answer, and lose one
   * meanwhile.
   */
  const asked = new Set<{ readonly id: string; readonly loss: AbortController }>();
  return {
    async leased(id, taking) {
      const loss = new AbortController();
      const waiting = { id, loss };
      asked.add(waiting);
      try {
        const lease = await taking;
        if (!loss.signal.aborted) losses.set(id, loss);
        return { ...lease, lost: loss.signal };
      } finally {
        asked.delete(waiting);
      }
    },
    lost(session, error) {
      const loss = losses.get(session);
      if (losses.delete(session)) loss?.abort(error);
      else for (const { id, loss } of asked) if (id === session) loss.abort(error);
    },
    forget: (session) => void losses.delete(session),
  };
}

function asRlmError(error: unknown): RlmError {
  if (error instanceof RlmError) return error;
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new RlmError("store_failed", message, { suggestion: `To look through the store ${remedy("verify")}.` });
}

function storeClosed(): RlmError {
  const suggestion = "Open the store again; what was committed is kept.";
  return new RlmError("store_failed", "the store is closed", { suggestion });
}

/** A store that several users in this process have open. */
interface Shared {
  readonly opening: Promise<Store>;
  users: number;
  /** Calls off its end. */
  stay(): void;
}

const open = new Map<string | null, Shared>();

/**
 * Opens a store as `openStore` does, but all users of one place share one connection; null: one
 * store in memory for all. Each user has leases of its own. The last to close it closes the store,
 * but one in memory stays for some seconds: the next session may come soon.
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
        const removed = await store.remove(id, options);
        leased.delete(id);
        return removed;
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
