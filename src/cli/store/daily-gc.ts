import { statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DAY } from "../../platform/figures.ts";
import type { Store } from "../../store/index.ts";
import { isServer } from "../../store/store-place.ts";

/** Sessions without a name are kept for this long after their last use, ms. */
export const ANONYMOUS_MS = DAY;

/**
 * Drops finished sessions without a name that are older than a day. Does so at most once a day,
 * which the time of the file `collected` in the folder tells. It says nothing of failures: `belay
 * gc` and `belay doctor` do.
 */
export async function gcOnceADay(store: Pick<Store, "gc">, place: string, now: number): Promise<void> {
  // Who keeps a server decides when it is cleaned up: many processes work on it.
  if (isServer(place)) return;
  try {
    if (!isDue(join(place, "collected"), now)) return;
    await store.gc({ now, anonymousMs: ANONYMOUS_MS, namedMs: null, pi: false, dryRun: false });
  } catch {}
}

/** Marks the day before the work, so that two processes do not both do it. */
function isDue(marker: string, now: number): boolean {
  const last = statSync(marker, { throwIfNoEntry: false })?.mtimeMs;
  // A clock that was set back must not put it off forever.
  if (last !== undefined && Math.abs(now - last) < DAY) return false;
  writeFileSync(marker, "", { mode: 0o600 });
  utimesSync(marker, now / 1000, now / 1000);
  return true;
}
