import { RlmError } from "../../runtime/errors.ts";
import { remedy } from "../../runtime/remedies.ts";
import { rememberStoreFiles } from "../platform/own-files.ts";
import { silenceSqliteWarning } from "../platform/sqlite-warning.ts";
import { type BareLease, portOf, type Serving, wrapEach } from "./methods.ts";
import type { Lease, Store } from "./port.ts";
import { isServer } from "./store-place.ts";

/**
 * Opens the store in a folder, made if it is missing, or on a server; null: in memory, for this process alone. It works in the
 * caller's thread, and keeps the process alive only while something is asked of it. The caller cannot use the buffers of pages
 * after `commit` and `putBaseline`.
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
    create: (session) => signals.leased(session.id, methods.create(session)),
    lease: (id) => signals.leased(id, methods.lease(id)),
    release(id) {
      signals.forget(id);
      return methods.release(id);
    },
    async remove(id, options) {
      await methods.remove(id, options);
      // Its lease has gone with it.
      signals.forget(id);
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
    const { serveServer } = await import("./postgres/requests.ts");
    return serveServer(place, (session) => lost(session, leaseLost(session)));
  }
  if (place !== null) rememberStoreFiles(place);
  const { serveFile } = await loadSqlite();
  return serveFile(place);
}

let loading: Promise<typeof import("./sqlite/requests.ts")> | undefined;

/** Loads node:sqlite when a store is opened. The program's own warnings are heard again afterwards. */
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
  /** Leases that the caller does not have yet: a server may take long to answer, and lose one meanwhile. */
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
