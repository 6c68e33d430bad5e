import { randomFillSync } from "node:crypto";
import { existsSync } from "node:fs";
import { monotonicFactory } from "ulid";
import { hasEngine, type Json, RlmError, systemClock } from "../../runtime/index.ts";
import { entryUrl } from "../entries.ts";
import { openSigner } from "../settings/signed-settings.ts";
import { type Lease, type NewSession, type Store, shareStore } from "../store/index.ts";
import { placeOf } from "../store/store-place.ts";
import type { Session } from "./api.ts";
import type { ExcerptInput } from "./contexts/excerpts.ts";
import { envOf, type Host, modelsOf } from "./env.ts";
import { excerptRequest, runLoad } from "./exec/load.ts";
import { checkFunctions } from "./functions.ts";
import { interruptedIn } from "./journal/account.ts";
import { warmMachine } from "./machine/guest.ts";
import { sessionOver } from "./methods.ts";
import type { HostedOptions, SessionOptions } from "./option-types.ts";
import { checkOptions, memoryBytesOf, refused, SESSION_OPTIONS } from "./options.ts";
import type { SessionParts } from "./parts.ts";
import { checkSessionName } from "./session-name.ts";
import { setUp } from "./setup.ts";
import { refuseChild } from "./stored/children.ts";
import { type RemarkOptions, remarksNow, withRemarks } from "./stored/remarks.ts";
import { checkNewName } from "./stored/sessions.ts";
import { pace } from "./turns.ts";

/**
 * Opens a session: a new one, or with `store` and `session` the one that is kept there under this name.
 *
 * @throws RlmError `session_busy` if another process has it, `context_lost`, `store_failed`, `store_corrupt`,
 * `store_too_new`, `invalid_argument`; `invalid_config` in a program that a bundler has put this package into
 */
export function openSession(options: SessionOptions = {}): Promise<Session> {
  return openSessionWith(options);
}

/** Opens a session over parts that its host lends. @throws as `openSession` */
export async function openSessionWith(options: HostedOptions, host: Host = {}): Promise<Session> {
  refuseBundled();
  checkOptions("openSession()", SESSION_OPTIONS, options);
  if (options.session !== undefined) checkSessionName(options.session);
  if (options.session !== undefined && options.store === undefined && !host.store) {
    throw refused("openSession(): session names a session, but no store is given to keep it", "Name a place: store.");
  }
  memoryBytesOf(options);
  // An option that is refused is not kept with a session first.
  await checkFunctions(options.functions);
  const models = modelsOf(options, host);
  // Starting a thread takes longer than what comes before the first exec: the two overlap.
  warmMachine(host.machineEntry, host.machines);
  await pace();
  const place = options.store === undefined ? null : placeOf(options.store);
  const store = host.store ?? (await shareStore(place));
  const signer = host.store || place === null ? {} : { signer: openSigner(place, process.env) };
  const isInMemory = !host.store && place === null;
  const release = async (id: string) => {
    if (host.leased) return;
    // A session in memory ends with its handle.
    await (isInMemory ? store.remove(id, { discard: true }) : store.release(id));
  };
  const closeStore = async () => {
    if (!host.store) await store[Symbol.asyncDispose]();
  };
  try {
    const { newId = newUlid, clock = systemClock } = host;
    const fresh = { id: newId(), origin: host.origin ?? "library", at: clock.now() };
    const row = host.leased ?? (await leasedRow(store, options, fresh, host.settings));
    try {
      const env = envOf(options, { ...host, store, newId, clock, models });
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

/**
 * The session with this name or id, leased. It is made if it does not exist.
 * @throws RlmError `invalid_argument` for a child, unless it is opened as one
 */
async function leasedRow(
  store: Store,
  { session: named, ...options }: Pick<HostedOptions, "session"> & RemarkOptions,
  fresh: Omit<NewSession, "name" | "settings">,
  settings?: (session: string) => Json,
): Promise<Lease> {
  const found = named === undefined ? null : await store.find(named);
  if (found && fresh.origin !== "child") await refuseChild(store, found);
  if (!found) {
    if (named !== undefined && fresh.origin !== "child") checkNewName(named);
    const kept = withRemarks(settings?.(fresh.id) ?? null, remarksNow(null, options));
    return store.create({ ...fresh, name: named ?? null, settings: kept });
  }
  const row = await store.lease(found.id);
  const kept = withRemarks(settings?.(row.id) ?? row.settings, remarksNow(row, options));
  if (JSON.stringify(kept) === JSON.stringify(row.settings)) return row;
  await store.commit(row.id, { settings: kept });
  return row;
}

/** Loads the context of a child, unless it is loaded. A load that was interrupted is done again. */
async function loadOnce(setup: SessionParts, input: ExcerptInput): Promise<void> {
  const { account, context } = setup.state();
  if (context) return;
  try {
    await runLoad(setup, excerptRequest(input, setup.loading), interruptedIn(account));
  } catch (error) {
    await setup.guest[Symbol.asyncDispose]();
    throw error;
  }
}

const RANDOM_BYTES = new Uint8Array(1024);
let drawn = RANDOM_BYTES.length;

/** From 0 to 1, in steps of 1/256. Drawn many at a time: by itself each byte takes 3 µs, and an id has 16. */
function randomByte(): number {
  if (drawn === RANDOM_BYTES.length) {
    randomFillSync(RANDOM_BYTES);
    drawn = 0;
  }
  return (RANDOM_BYTES[drawn++] ?? 0) / 256;
}

/** Ids sort by time, also within one millisecond. */
const newUlid = monotonicFactory(randomByte);

let isWhole = false;

/**
 * Looks for the files from which threads are started, and for the engine. A program that a bundler has made of several packages does
 * not have them, or not under their addresses. @throws RlmError `invalid_config`
 */
export function refuseBundled(): void {
  isWhole ||= existsSync(entryUrl("machine-thread-entry")) && hasEngine();
  if (isWhole) return;
  throw new RlmError("invalid_config", "the files of belay-rlm are not beside it: the program was bundled with it", {
    suggestion:
      'Leave the package out of the bundle: `external: ["belay-rlm"]` in esbuild and rolldown, `externals` in webpack, `serverExternalPackages: ["belay-rlm"]` in Next.js.',
  });
}
