import { MachineFault } from "../engine.ts";
import { type Guest, installedNames } from "../guest.ts";
import { DRAIN_MS, LIMITS } from "../limits.ts";
import { extensionSource } from "../prelude.ts";
import type { Restoration } from "../protocol.ts";

/** Prepares a guest that was made from an image for its next exec. `prelude` is that of this build, see `ImageMeta.prelude`. */
export function adoptGuest(guest: Guest, { image, pending, cells }: Restoration, prelude: string): void {
  for (const { number, source } of cells) guest.scripts.remember(number, source);
  if (pending === "drop") dropCalls(guest);
  if (image.meta.prelude !== prelude) addYoungerBuiltins(guest);
}

/** The guest forgets the calls that it waits for, and with them the cell that made them. */
function dropCalls({ engine, clock }: Guest): void {
  clock.start(0, DRAIN_MS);
  const dropped = engine.enter("drop", "");
  if (!dropped.ok || engine.hasJob()) throw new MachineFault("the cell in the image could not be dropped");
}

/** A guest of an earlier version lacks these builtins. If it does not take them, it continues without them. */
function addYoungerBuiltins({ engine, clock, heap, library }: Guest): void {
  clock.start(0, DRAIN_MS);
  const { younger, modules } = library;
  const { sync, async } = installedNames(library);
  const extension = extensionSource(modules.filter(({ name }) => younger.has(name)));
  const config = {
    sync: sync.filter((name) => younger.has(name)),
    async: async.filter((name) => younger.has(name)),
    younger: [...younger],
    messageUnits: LIMITS.errorMessageUnits,
  };
  heap.withoutLimit(() => engine.extend(extension, JSON.stringify(config)));
}
