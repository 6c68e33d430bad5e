import { randomFillSync } from "node:crypto";
import { monotonicFactory } from "ulid";
import { type Json, LIMITS, RlmError } from "../../runtime/index.ts";
import type { NewSession, SessionRow, Store } from "../store/index.ts";
import type { HostedOptions } from "./api.ts";

/** The session with this name or id, leased; made where there is none. */
export async function sessionRow(
  store: Store,
  named: string | undefined,
  fresh: Omit<NewSession, "name" | "settings">,
  settings?: (session: string) => Json,
): Promise<SessionRow> {
  const found = named === undefined ? null : await store.find(named);
  if (!found) return store.create({ ...fresh, name: named ?? null, settings: settings?.(fresh.id) ?? null });
  const row = await store.lease(found.id);
  const kept = settings?.(row.id) ?? null;
  if (kept === null || JSON.stringify(kept) === JSON.stringify(row.settings)) return row;
  await store.commit(row.id, { settings: kept });
  return row;
}

/** @throws RlmError `invalid_argument` */
export function memoryBytesOf({ memoryMb = LIMITS.guestHeapBytes / 2 ** 20 }: HostedOptions): number {
  if (memoryMb >= MIN_MEMORY_MB && memoryMb <= MAX_MEMORY_MB) return memoryMb * 2 ** 20;
  throw new RlmError("invalid_argument", `memoryMb is ${memoryMb}`, {
    suggestion: `Give the guest between ${MIN_MEMORY_MB} and ${MAX_MEMORY_MB} MB.`,
  });
}

/** Less than the prelude and a small program need; and what a 32-bit engine can address beside a 100 MB context. */
const MIN_MEMORY_MB = 8;
const MAX_MEMORY_MB = 2048;

/** The model that the options name, as `openModels` takes it. */
export function namedModel({ model, baseUrl, apiKeyEnv }: HostedOptions) {
  return {
    ...(model === undefined ? {} : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKeyEnv === undefined ? {} : { apiKeyEnv }),
  };
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
export const newUlid = monotonicFactory(randomByte);
