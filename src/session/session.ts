import type { RlmError } from "../../runtime/index.ts";
import { systemClock } from "../../runtime/index.ts";
import { checkSessionName } from "../platform/session-name.ts";
import { openSigner } from "../platform/signed-settings.ts";
import { placeOf } from "../platform/store-place.ts";
import { shareStore } from "../store/index.ts";
import type { HostedOptions, Session, SessionOptions } from "./api.ts";
import { loadOnce } from "./contexts/load-once.ts";
import { sessionOver } from "./methods.ts";
import { checkOptions, memoryBytesOf, refused, SESSION_OPTIONS } from "./options.ts";
import { pace } from "./pace.ts";
import { type SessionParts, setUp } from "./setup.ts";
import { leasedRow } from "./stored/leased-row.ts";
import { newUlid } from "./ulid.ts";

/**
 * Opens a session: a new one, or with `store` and `session` the one that is kept there under this name.
 *
 * @throws RlmError `session_busy` if another process has it, `context_lost`, `store_failed`, `store_corrupt`,
 * `store_too_new`, `invalid_argument`
 */
export function openSession(options: SessionOptions = {}): Promise<Session> {
  return openSessionWith(options, {});
}

/**
 * Opens a session over parts that its host lends.
 *
 * @throws RlmError `session_busy` if another process has it, `context_lost`, `store_failed`, `store_corrupt`,
 * `store_too_new`, `invalid_argument`
 */
export async function openSessionWith(options: HostedOptions, parts: Partial<SessionParts>): Promise<Session> {
  checkOptions("openSession()", SESSION_OPTIONS, options);
  if (options.session !== undefined) checkSessionName(options.session);
  if (options.session !== undefined && options.store === undefined && !parts.store) throw nameWithoutStore();
  memoryBytesOf(options);
  await pace();
  const place = options.store === undefined ? null : placeOf(options.store);
  const entry = parts.storeEntry;
  const store = parts.store ?? (await shareStore(place, entry ? { entry } : {}));
  const signer = parts.store || place === null ? {} : { signer: openSigner(place, process.env) };
  const isInMemory = !parts.store && place === null;
  const release = async (id: string) => {
    if (parts.leased) return;
    // A session in memory ends with its handle.
    await (isInMemory ? store.remove(id) : store.release(id));
  };
  const closeStore = async () => {
    if (!parts.store) await store[Symbol.asyncDispose]();
  };
  try {
    const newId = parts.newId ?? newUlid;
    const clock = parts.clock ?? systemClock;
    const fresh = { id: newId(), origin: parts.origin ?? "library", at: clock.now() };
    const row = parts.leased ?? (await leasedRow(store, options, fresh, parts.settings));
    try {
      const given = { random: Math.random, ...signer, ...parts, store, newId, clock, openSession: openSessionWith };
      const setup = await setUp(options, given, row, isInMemory);
      if (parts.excerpt) await loadOnce(setup, parts.excerpt);
      return sessionOver(setup, async () => {
        await release(row.id);
        await closeStore();
      });
    } catch (error) {
      if (!parts.leased) await store.release(row.id);
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
