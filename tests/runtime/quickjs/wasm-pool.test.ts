import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { Engine, EngineHost, EngineImage } from "../../../runtime/engine.ts";
import { quickJsBuild } from "../../../runtime/quickjs/build.ts";
import { openQuickJs } from "../../../runtime/quickjs/quickjs.ts";
import { boundOf, openWasmPool, type WasmPool } from "../../../runtime/quickjs/wasm-pool.ts";
import { openMachineHere } from "../../support/machine-here.ts";

const { module: wasm } = quickJsBuild();
const NEVER: EngineHost = { post: () => "", placing: (_text, place) => place(), shouldStop: () => false, now: () => 7 };

let image: EngineImage;
beforeAll(async () => {
  using here = await openMachineHere();
  const { memory, meta } = here.machine.baseline().image;
  const { stackPointer, runtimePtr, contextPtr, entries } = meta;
  image = { memory, stackPointer, runtimePtr, contextPtr, entries };
});

type Raw = ReturnType<Awaited<ReturnType<WasmPool["take"]>>["vm"]["_getExports"]>;

/** The instances of a thread, with the one that each guest has got. */
function watchedPool() {
  const { take } = openWasmPool(wasm);
  const given: Raw[] = [];
  const pool: WasmPool = {
    wasm,
    async take(...of) {
      const taken = await take(...of);
      given.push(taken.vm._getExports());
      return taken;
    },
  };
  return { pool, given };
}

const open = (pool: WasmPool, host = NEVER, from = image) =>
  openQuickJs(pool, { host, image: from, prelude: () => ({ source: "", config: "" }) });

/** All that can differ between two instances. */
function stateOf(engine: Engine, raw: Raw) {
  const { memory, ...place } = engine.image();
  const table = Array.from({ length: raw.__indirect_function_table.length }, (_, at) =>
    String(raw.__indirect_function_table.get(at)?.name),
  );
  return { memory: Buffer.from(memory), place, bound: boundOf(raw).value, table };
}

function expectEqual(one: ReturnType<typeof stateOf>, other: ReturnType<typeof stateOf>): void {
  expect(one.memory.equals(other.memory)).toBe(true);
  expect({ ...one, memory: one.memory.length }).toEqual({ ...other, memory: other.memory.length });
}

const CELL = `globalThis.list = Array.from({ length: 500 }, (_, n) => ({ n, text: "item " + n, at: new Date() }));
  list.map(({ n }) => Math.random() + n).join() + [..."ab".matchAll(/./g)].length;`;

/** A guest's state when it is new and when a cell has run, in an instance that nobody had before. */
async function reference() {
  const { pool, given } = watchedPool();
  using engine = await open(pool);
  const [raw] = given;
  if (!raw) throw new Error("no instance was given");
  const fresh = stateOf(engine, raw);
  engine.startCell(CELL, "cell 1");
  return { fresh, ran: stateOf(engine, raw) };
}

/** Checks that a guest is equal to one in a new instance, byte for byte: when it is new and when a cell has run. */
async function expectAsNew({ pool, given }: ReturnType<typeof watchedPool>): Promise<void> {
  const { fresh, ran } = await reference();
  using engine = await open(pool);
  const raw = given.at(-1);
  if (!raw) throw new Error("no instance was given");
  expectEqual(stateOf(engine, raw), fresh);
  engine.startCell(CELL, "cell 1");
  expectEqual(stateOf(engine, raw), ran);
}

describe("the instances of a thread", () => {
  test("a guest in an instance that others have had is equal to one in a new instance", async () => {
    const watched = watchedPool();
    for (const [seconds, source] of [
      "globalThis.left = [1, 2, 3]",
      CELL,
      "throw new Error('no')",
      "await 1",
    ].entries()) {
      using engine = await open(watched.pool, { ...NEVER, now: () => seconds });
      engine.setMemoryLimit(2 ** 27, 2 ** 27);
      engine.startCell(source, "cell 1");
      while (engine.runJob() === "ran");
    }
    await expectAsNew(watched);
    expect(new Set(watched.given).size).toBe(1);
  });

  test("the engine has one global that changes: its stack pointer", () => {
    const section = [6, 9, 1, 0x7f, 1, 0x41, 0x80, 0x80, 0xc0, 0, 0x0b];
    const bytes = readFileSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
    expect(bytes.includes(Buffer.from(section))).toBe(true);
  });

  test("memory that has grown is not used again", async () => {
    const watched = watchedPool();
    {
      using engine = await open(watched.pool);
      engine.startCell("globalThis.large = new Uint8Array(4e6)", "cell 1");
      expect(engine.linearBytes()).toBeGreaterThan(image.memory.length);
    }
    await expectAsNew(watched);
    expect(new Set(watched.given).size).toBe(2);
  });

  test("a guest of an image with larger memory is as it was, and leaves its instance to nobody", async () => {
    const watched = watchedPool();
    const grown = await grownImage();
    (await open(watched.pool))[Symbol.dispose]();
    {
      using engine = await open(watched.pool, NEVER, grown);
      expect(Buffer.from(engine.image().memory).equals(grown.memory)).toBe(true);
    }
    await expectAsNew(watched);
    expect(new Set(watched.given.slice(0, 2)).size).toBe(1);
    expect(new Set(watched.given).size).toBe(2);
  });

  test("an instance whose engine trapped is not used again", async () => {
    const watched = watchedPool();
    {
      using engine = await open(watched.pool);
      const [raw] = watched.given;
      new Uint8Array(raw?.memory.buffer ?? new ArrayBuffer()).fill(0xff, image.stackPointer);
      expect(() => engine.startCell(CELL, "cell 1")).toThrow("memory access out of bounds");
    }
    await expectAsNew(watched);
    expect(new Set(watched.given).size).toBe(2);
  });

  test("an instance whose guest was stopped is not used again", async () => {
    const watched = watchedPool();
    {
      using engine = await open(watched.pool, { ...NEVER, shouldStop: () => true });
      engine.startCell("for (;;);", "cell 1");
    }
    await expectAsNew(watched);
    expect(new Set(watched.given).size).toBe(2);
  });

  test("two guests at the same time have two instances", async () => {
    const watched = watchedPool();
    using one = await open(watched.pool);
    using other = await open(watched.pool);
    one.startCell("globalThis.n = 1", "cell 1");
    expect(other.linearBytes()).toBe(one.linearBytes());
    expect(new Set(watched.given).size).toBe(2);
  });
});

/** Of a guest that has taken memory. */
async function grownImage(): Promise<EngineImage> {
  const { pool } = watchedPool();
  using engine = await open(pool);
  engine.startCell("globalThis.large = new Uint8Array(4e6).fill(3)", "cell 1");
  const { memory, ...place } = engine.image();
  return { ...place, memory: Buffer.from(memory) };
}
