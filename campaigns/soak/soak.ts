import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Heap } from "./heap.ts";
import { KINDS, type Place, type Soaked, startModel } from "./kinds.ts";
import { type Held, handles, held, unevenness } from "./left.ts";

export interface SoakPlan {
  /** Kinds of work. Those of one group are done as often as its first, in the same rounds, with one look at what all have left. */
  readonly kinds: readonly (readonly string[])[];
  readonly rounds: number;
  /** The number of times that a round does the work of a kind. */
  times(kind: string): number;
  /** True if a kind leaves so little that its further rounds are left out: they could only show less. Default: none is. */
  isLittle?(growth: Heap): boolean;
  /** Time that threads and files may take to go when a kind is over, ms. */
  readonly goneMs: number;
  readonly folder: string;
  say(line: string): void;
}

/**
 * What stays on the main thread's heap of each thing that was done after the first round. They are those of the round that
 * left the least: a leak is in every round, what V8 compiles and what Node loads meanwhile is in some.
 */
export interface Growth extends Heap {
  readonly kind: string;
  /** The most that heap and resident memory were away from their mean in the last half of the rounds, in percent. */
  readonly uneven: { readonly heap: number; readonly rss: number };
  /** Threads, files, resources and listeners that were left when all of it was over. */
  readonly left: ReturnType<typeof handles>;
}

/** Does each kind of thing round after round, and looks at what the process holds between them and afterwards. */
export async function soak(plan: SoakPlan): Promise<readonly Growth[]> {
  const growths: Growth[] = [];
  await using model = await startModel();
  // What starts with the first use of the process and stays, such as Node's threads for files, is not counted.
  {
    await using first = await soakedOf("memory", { folder: join(plan.folder, "first"), url: model.url });
    await first.round(1);
  }
  for (const group of plan.kinds) growths.push(await soakGroup(group, model.url, plan));
  return growths;
}

async function soakGroup(group: readonly string[], url: string, plan: SoakPlan): Promise<Growth> {
  const { rounds, goneMs, folder, say } = plan;
  const kind = group.join(" + ");
  const times = plan.times(group[0] ?? "");
  const before = handles();
  const seen: Held[] = [];
  {
    await using works = new AsyncDisposableStack();
    const parts: Soaked[] = [];
    for (const part of group) parts.push(works.use(await soakedOf(part, { folder: join(folder, part), url })));
    for (let round = 0; round < rounds; round++) {
      for (const soaked of parts) await soaked.round(times);
      const one = await held();
      seen.push(one);
      const heap = `heap ${(one.bytes / 1e6).toFixed(2)} MB in ${one.objects} objects, rss ${(one.rss / 1e6).toFixed(0)} MB`;
      const open = `${one.threads} threads, ${one.files} files, ${one.resources} resources, ${one.listeners} listeners`;
      say(`${kind} ${(round + 1) * times}: ${heap}, ${open}`);
      if (round > 0 && plan.isLittle?.(growthOf(seen, times))) break;
    }
  }
  const left = await leftSince(before, goneMs);
  const uneven = { heap: unevenness(seen.map(({ bytes }) => bytes)), rss: unevenness(seen.map(({ rss }) => rss)) };
  const growth = { kind, ...growthOf(seen, times), uneven, left };
  say(`${kind}: each leaves ${Math.round(growth.bytes)} bytes, ${growth.objects.toFixed(1)} objects`);
  say(`${kind}: last half heap ±${uneven.heap.toFixed(1)} %, rss ±${uneven.rss.toFixed(1)} %`);
  say(
    `${kind}: left ${left.threads} threads, ${left.files} files, ${left.resources} resources, ${left.listeners} listeners`,
  );
  return growth;
}

/** Work of a kind, in a folder that is made. */
async function soakedOf(kind: string, place: Place): Promise<Soaked> {
  const open = KINDS[kind];
  if (!open) throw new Error(`there is no kind ${kind}; there are ${Object.keys(KINDS).join(", ")}`);
  mkdirSync(place.folder, { recursive: true });
  return await open(place);
}

/** Handles that are there beyond those of before, once as many have gone as will. */
async function leftSince(before: ReturnType<typeof handles>, goneMs: number): Promise<ReturnType<typeof handles>> {
  for (const until = performance.now() + goneMs; ; await setTimeout(100)) {
    const now = handles();
    const left = {
      threads: now.threads - before.threads,
      files: now.files - before.files,
      resources: now.resources - before.resources,
      listeners: now.listeners - before.listeners,
    };
    if (Object.values(left).every((count) => count <= 0) || performance.now() > until) return left;
  }
}

function growthOf(heaps: readonly Heap[], times: number): Heap {
  const grown = heaps.slice(1).map((heap, before) => ({
    bytes: heap.bytes - (heaps[before]?.bytes ?? 0),
    objects: heap.objects - (heaps[before]?.objects ?? 0),
  }));
  return {
    bytes: Math.min(...grown.map(({ bytes }) => bytes)) / times,
    objects: Math.min(...grown.map(({ objects }) => objects)) / times,
  };
}
