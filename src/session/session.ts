import type { RlmError } from "../../runtime/index.ts";
import { systemClock } from "../../runtime/index.ts";
import { checkSessionName } from "../platform/session-name.ts";
import { openSigner } from "../platform/signed-settings.ts";
import { placeOf } from "../platform/store-place.ts";
import { shareStore } from "../store/index.ts";
import type { HostedOptions, Session, SessionOptions } from "./api.ts";
import { loadOnce } from "./contexts/load-once.ts";
import { envOf, type Host } from "./env.ts";
import { sessionOver } from "./methods.ts";
import { checkOptions, memoryBytesOf, refused, SESSION_OPTIONS } from "./options.ts";
import { pace } from "./pace.ts";
import { setUp } from "./setup.ts";
import { leasedRow } from "./stored/leased-row.ts";
import { newUlid } from "./ulid.ts";

/**
 * Opens a session: a new one, or with `store` and `session` the one that is kept there under this name.
 *
 * @throws RlmError `session_busy` if another process has it, `context_lost`, `store_failed`, `store_corrupt`,
 * `store_too_new`, `invalid_argument`
 */
export function openSession(options: SessionOptions = {}): Promise<Session> {
  return openSessionWith(options);
}

/**
 * Opens a session over parts that its host lends.
 *
 * @throws RlmError `session_busy` if another process has it, `context_lost`, `store_failed`, `store_corrupt`,
 * `store_too_new`, `invalid_argument`
 */
export async function openSessionWith(options: HostedOptions, host: Host = {}): Promise<Session> {
  checkOptions("openSession()", SESSION_OPTIONS, options);
  if (options.session !== undefined) checkSessionName(options.session);
  if (options.session !== undefined && options.store === undefined && !host.store) throw nameWithoutStore();
  memoryBytesOf(options);
  await pace();
  const place = options.store === undefined ? null : placeOf(options.store);
  const entry = host.storeEntry;
  const store = host.store ?? (await shareStore(place, entry ? { entry } : {}));
  const signer = host.store || place === null ? {} : { signer: openSigner(place, process.env) };
  const isInMemory = !host.store && place === null;
  const release = async (id: string) => {
    if (host.leased) return;
    // A session in memory ends with its handle.
    await (isInMemory ? store.remove(id) : store.release(id));
  };
  const closeStore = async () => {
    if (!host.store) await store[Symbol.asyncDispose]();
  };
  try {
    const { newId = newUlid, clock = systemClock } = host;
    const fresh = { id: newId(), origin: host.origin ?? "library", at: clock.now() };
    const row = host.leased ?? (await leasedRow(store, options, fresh, host.settings));
    try {
      const env = envOf(options, { ...host, store, newId, clock });
      const opening = { host: { ...signer, ...host }, env, row, isInMemory, openSession: openSessionWith };
      const setup = await setUp(options, opening);
      if (host.excerpt) await loadOnce(setup, host.excerpt);
      return sessionOver(setup, async () => {
        await release(row.id);
        await closeStore();
      });
    } catch (error) {
      if (!host.leased) await store.release(row.id);
      throw error;
    }
  } catch (error) {
    await closeStore();
    throw error;
  }
}

function nameWithoutStore(): RlmError {
  return refused("openSession(): session names a session, but no store is given to keep it", "Name a place: store.");
}
