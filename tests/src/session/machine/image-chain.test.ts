import fc from "fast-check";
import { expect, test } from "vitest";
import type { Checkpoint, CheckpointRequest } from "../../../../runtime/index.ts";
import { type Captured, openImageChain } from "../../../../src/session/machine/image-chain.ts";
import type { CheckpointRow } from "../../../../src/store/index.ts";

const PAGES = 4;
const BASELINE = "baseline";

/** A checkpoint in a store that is a map: what changed of a memory of some words. */
interface Kept {
  readonly base: string | null;
  readonly parent: string | null;
  readonly kind: "step" | "end";
  readonly changes: ReadonlyMap<number, number>;
  readonly chain: { readonly length: number; readonly bytes: number };
}

/** A machine whose memory is some words, and which knows the memory of each image that it has captured. */
function openScene() {
  let memory: readonly number[] = Array(PAGES).fill(0);
  const captured = new Map<string, readonly number[]>([[BASELINE, memory]]);
  const store = new Map<string, Kept>();
  let ids = 0;
  let exec = 0;
  const images = openImageChain(BASELINE, null, () => `i${++ids}`);
  const changesOf = new Map<string, ReadonlyMap<number, number>>();

  const take = ({ id, base }: CheckpointRequest): Checkpoint => {
    const before = base === null ? undefined : captured.get(base);
    const changes = new Map(memory.flatMap((word, at) => (before?.[at] === word ? [] : [[at, word] as const])));
    captured.set(id, memory);
    changesOf.set(id, changes);
    const numbers = Uint32Array.from(changes.keys());
    const pages = [{ numbers, changes: new Uint32Array() }];
    const meta = Object.assign(Object.create(null), { linearBytes: PAGES * 4096 });
    return { delta: { id, base, pages, meta }, answers: [], waiting: [], ms: 0, isSpent: false };
  };

  async function capture(kind: "step" | "end", byItself: boolean, after: string | null): Promise<Captured> {
    const image = byItself ? take(kind === "step" ? images.step() : images.end([])) : null;
    const sandbox = { checkpoint: async (request: CheckpointRequest) => take(request) };
    return images.capture(sandbox, { kind, exec_id: `exec-${exec}`, after, commands: [], at: 0 }, image);
  }

  return {
    store,
    newExec: () => void exec++,
    write(at: number, word: number) {
      memory = memory.with(at % PAGES, word);
    },
    capture,
    keep({ checkpoint: { id, base, parent, kind, chain }, kept }: Captured) {
      store.set(id, { base, parent, kind, chain, changes: changesOf.get(id) ?? new Map() });
      kept();
      return id;
    },
    memory: () => memory,
    /** As the store does: a checkpoint goes unless another one is based on it. */
    dropSteps() {
      for (const [id, { kind }] of [...store].reverse()) {
        if (kind === "step" && ![...store.values()].some(({ base }) => base === id)) store.delete(id);
      }
    },
    /** The memory that a checkpoint opens with. */
    read(id: string): number[] {
      const words: number[] = Array(PAGES).fill(0);
      const chain: Kept[] = [];
      for (let at: string | null = id; at !== null && at !== BASELINE; ) {
        const kept = store.get(at);
        if (!kept) throw new Error(`${at} is based on, and not in the store`);
        chain.unshift(kept);
        at = kept.base;
      }
      for (const { changes } of chain) for (const [at, word] of changes) words[at] = word;
      return words;
    },
  };
}

const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("write" as const), at: fc.nat(PAGES - 1), word: fc.nat(99) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("step", "end"), isKept: fc.boolean(), byItself: fc.boolean() }),
  },
);

test("whatever was captured and not kept, each kept image opens with the memory of its moment", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 80 }), async (operations) => {
      const scene = openScene();
      let end: string | null = null;
      let newest: string | null = null;
      const moments = new Map<string, readonly number[]>();
      for (const each of operations) {
        if (each.do === "write") {
          scene.write(each.at, each.word);
          continue;
        }
        const kind = each.do === "end" ? "end" : "step";
        const captured = await scene.capture(kind, each.byItself, end);
        if (!each.isKept) continue;
        const id = scene.keep(captured);
        moments.set(id, scene.memory());
        expect(captured.checkpoint.parent).toBe(newest ?? end);
        const { base } = captured.checkpoint;
        if (kind === "end" && base !== null && base !== BASELINE) expect(scene.store.get(base)?.kind).toBe("end");
        newest = id;
        if (kind === "step") continue;
        scene.dropSteps();
        scene.newExec();
        [end, newest] = [id, null];
      }
      for (const id of scene.store.keys()) expect(scene.read(id)).toEqual(moments.get(id));
    }),
    { numRuns: 100 },
  );
});

test("an end is based on the end before it, so that the steps between can go", async () => {
  const scene = openScene();
  for (let exec = 0; exec < 5; exec++) {
    for (let step = 0; step < 3; step++) {
      scene.write(step, exec + 1);
      scene.keep(await scene.capture("step", true, null));
    }
    scene.keep(await scene.capture("end", false, null));
    scene.dropSteps();
    scene.newExec();
  }
  const ends = [...scene.store];
  expect(ends.map(([, { kind }]) => kind)).toEqual(Array(5).fill("end"));
  expect(ends.map(([, { base }]) => base)).toEqual([BASELINE, ...ends.slice(0, -1).map(([id]) => id)]);
});

test("a chain says how long it is, and a step is based on the end before the exec when it would be longer than 32", async () => {
  const scene = openScene();
  const lengths: number[] = [];
  for (let step = 0; step < 80; step++) {
    scene.write(step, step + 1);
    const id = scene.keep(await scene.capture("step", true, null));
    const kept = scene.store.get(id);
    lengths.push(kept?.chain.length ?? -1);
    let bases = 0;
    for (let at = kept?.base ?? null; at !== null; at = scene.store.get(at)?.base ?? null) bases++;
    expect(kept?.chain.length).toBe(bases);
  }
  expect(Math.max(...lengths)).toBe(32);
  expect(lengths.map((length) => length === 1).flatMap((isFirst, step) => (isFirst ? [step] : []))).toEqual([
    0, 32, 64,
  ]);
  for (const id of scene.store.keys()) expect(scene.read(id)).toHaveLength(PAGES);
});

test("a step is a whole image if one that was based on the end before is heavy too", async () => {
  const meta = Object.assign(Object.create(null), { linearBytes: 4096 });
  const row: Pick<CheckpointRow, "kind" | "chain" | "meta"> = { kind: "end", chain: { length: 31, bytes: 4096 }, meta };
  const images = openImageChain("opened", Object.assign(Object.create(null), row), () => "next");
  const bases: (string | null)[] = [];
  for (let step = 0; step < 3; step++) {
    const { id, base } = images.step();
    bases.push(base);
    const image = {
      delta: { id: `${id}${step}`, base, pages: [], meta },
      answers: [],
      waiting: [],
      ms: 0,
      isSpent: false,
    };
    const sandbox = { checkpoint: () => Promise.reject(new Error("it is captured already")) };
    const capturing = { kind: "step", exec_id: "x", after: null, commands: [], at: 0 } as const;
    (await images.capture(sandbox, capturing, image)).kept();
  }
  expect(bases).toEqual(["opened", null, "next1"]);
});

test.each([
  ["on a fresh guest", "baseline:0"],
  ["as a whole image, if there is none", undefined],
])("a machine opened at a step bases its next end %s, since the step will go", async (_, baseline) => {
  const meta = Object.assign(Object.create(null), { linearBytes: 4096 });
  const row: Pick<CheckpointRow, "kind" | "chain" | "meta"> = { kind: "step", chain: { length: 3, bytes: 4096 }, meta };
  const images = openImageChain("opened", Object.assign(Object.create(null), row), () => "next", baseline);
  expect(images.step()).toMatchObject({ id: "next", base: "opened" });
  const asked: CheckpointRequest[] = [];
  const sandbox = {
    checkpoint(request: CheckpointRequest) {
      asked.push(request);
      return Promise.reject(new Error("no image"));
    },
  };
  const end = { kind: "end", exec_id: "x", after: null, commands: ["memory.export"], at: 0 } as const;
  await expect(images.capture(sandbox, end, null)).rejects.toThrow("no image");
  expect(asked).toEqual([{ id: "next", base: baseline ?? null, kind: "end", commands: ["memory.export"] }]);
});
