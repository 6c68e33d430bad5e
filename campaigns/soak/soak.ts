import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Heap, heap } from "./heap.ts";
import { KINDS, startModel } from "./kinds.ts";

export interface SoakPlan {
  readonly kinds: readonly string[];
  readonly rounds: number;
  /** The number of times that a round does its work. */
  readonly times: number;
  readonly folder: string;
  say(line: string): void;
}

/**
 * What stays on the main thread's heap of each thing that was done after the first round. Bytes are those of the round that left
 * the least: a leak is in every round, what V8 compiles meanwhile is in some.
 */
export interface Growth extends Heap {
  readonly kind: string;
}

/** Does each kind of thing round after round, and measures the heap between them. */
export async function soak({ kinds, rounds, times, folder, say }: SoakPlan): Promise<readonly Growth[]> {
  const growths: Growth[] = [];
  await using model = await startModel();
  for (const kind of kinds) {
    const own = join(folder, kind);
    mkdirSync(own);
    const open = KINDS[kind];
    if (!open) throw new Error(`there is no kind ${kind}; there are ${Object.keys(KINDS).join(", ")}`);
    await using soaked = await open({ folder: own, url: model.url });
    const heaps: Heap[] = [];
    for (let round = 0; round < rounds; round++) {
      await soaked.round(times);
      heaps.push(await heap());
    }
    const growth = { kind, ...growthOf(heaps, times) };
    growths.push(growth);
    const seen = heaps.map(({ bytes, objects }) => `${(bytes / 1e6).toFixed(2)} MB in ${objects} objects`);
    say(`${kind}: ${seen.join(", ")}`);
    say(`${kind}: each leaves ${Math.round(growth.bytes)} bytes, ${growth.objects.toFixed(1)} objects`);
  }
  return growths;
}

function growthOf(heaps: readonly Heap[], times: number): Heap {
  const grown = heaps.slice(1).map((heap, before) => ({
    bytes: heap.bytes - (heaps[before]?.bytes ?? 0),
    objects: heap.objects - (heaps[before]?.objects ?? 0),
  }));
  const objects = grown.reduce((sum, one) => sum + one.objects, 0) / grown.length;
  return { bytes: Math.min(...grown.map(({ bytes }) => bytes)) / times, objects: objects / times };
}
