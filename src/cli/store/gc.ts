import { statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { amount, DAY, size } from "../../platform/figures.ts";
import { jsonText } from "../../platform/visible.ts";
import type { Collected, Store } from "../../store/index.ts";
import { isServer } from "../../store/store-place.ts";
import type { GcFlags } from "../commands/gc.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { damageError, outcomeOf } from "../render/failure.ts";
import { showingDamage, withStore } from "./opened-store.ts";

/** `belay gc`: drops what nothing reaches, and sessions that are old enough. Gives the exit code. */
export function gcCommand(args: Arguments, host: Host, own: GcFlags): Promise<number> {
  const { olderThan: namedMs = null, pi = false, dryRun = false } = own;
  const rule = { now: Date.now(), anonymousMs: ANONYMOUS_MS, namedMs, pi, dryRun };
  return showingDamage(args, async ({ stdout }, tell) => {
    const place = storePlace(args);
    const work = async (store: Store) => [await store.gc(rule), await store.damaged()] as const;
    const [collected, damaged] = await withStore(place, host, work);
    const problems = damaged.map(({ problem }) => problem);
    // What they reach cannot be known.
    const damage = damageError(problems, { rest: "Damaged sessions stay, with all that is theirs" });
    if (args.get(JSON_OUTPUT)) {
      const told = { ...outcomeOf(damage), dry_run: dryRun, ...collected, ...(damage ? { damaged } : {}) };
      stdout.writeRaw(`${jsonText(told)}\n`);
    } else stdout.write(collectedText(collected, dryRun, isServer(place)));
    tell(damage);
  });
}

function collectedText(collected: Collected, dryRun: boolean, onServer: boolean): string {
  const { sessions, checkpoints, contexts, cached, bytes } = collected;
  const went = [
    ...(sessions.length > 0 ? [amount(sessions.length, "session")] : []),
    ...(checkpoints > 0 ? [amount(checkpoints, "checkpoint")] : []),
    ...(contexts > 0 ? [amount(contexts, "context")] : []),
    ...(cached > 0 ? [amount(cached, "cached answer or text", "cached answers and texts")] : []),
  ];
  // The size of a server's tables changes by what others do there too.
  if (went.length === 0 && (bytes === 0 || onServer)) return "nothing to drop\n";
  const verb = dryRun ? "would drop" : "dropped";
  const listed = sessions.map((name) => `${verb} ${name}\n`).join("");
  const freed = `${dryRun ? "about " : ""}${size(bytes)} ${dryRun ? "would be" : "were"} given back`;
  const space = onServer ? "the server keeps the space for new rows of its tables" : freed;
  return `${listed}${verb} ${went.join(", ") || "nothing"}; ${space}\n`;
}

/** Sessions without a name are kept for this long after their last use, ms. */
const ANONYMOUS_MS = DAY;

/**
 * Drops finished sessions without a name that are older than a day. Does so at most once a day, which the time of the file
 * `collected` in the folder tells. It says nothing of failures: `belay gc` and `belay doctor` do.
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
