import { randomFillSync } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { applyPart, countPages } from "../../../runtime/images/changes.ts";
import { type ImagePages, PAGE_BYTES } from "../../../runtime/images/image.ts";
import { type Mask, openPages } from "../../../runtime/images/pages.ts";
import { unpacked } from "../../support/unpacked.ts";

const BLOCK_BYTES = 64 * 1024;
const MOST_BLOCKS = 4;

/** A guest between two images: it grows, writes some bytes, and holds texts somewhere. */
const step = fc.record({
  blocks: fc.integer({ min: 0, max: 1 }),
  writes: fc.array(
    fc.record({
      // Often near the borders of pages.
      at: fc.oneof(
        fc.nat(MOST_BLOCKS * BLOCK_BYTES),
        fc.nat(MOST_BLOCKS * 16).map((page) => page * PAGE_BYTES),
        fc.nat(MOST_BLOCKS * 16).map((page) => (page + 1) * PAGE_BYTES - 1),
      ),
      byte: fc.nat(255),
      length: fc.constantFrom(1, 100, 5000, 70_000),
    }),
    { maxLength: 4 },
  ),
  masks: fc.array(
    fc.record({ address: fc.nat(MOST_BLOCKS * BLOCK_BYTES), bytes: fc.constantFrom(1, 3000, 9000, 150_000) }),
    { maxLength: 2 },
  ),
  anchor: fc.boolean(),
  base: fc.constantFrom("before", "anchor", "none"),
});

test("changes applied to their base give the memory, with zeros where masks lie", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
      let memory: Uint8Array = new Uint8Array(BLOCK_BYTES).fill(7, 100, 200);
      const images = new Map<string, Uint8Array>([["0", memory.slice()]]);
      const pages = openPages("0", memory.slice());
      let anchor = "0";
      steps.forEach(({ blocks, writes, masks, base, ...each }, index) => {
        memory = grown(memory, Math.min(memory.length + blocks * BLOCK_BYTES, MOST_BLOCKS * BLOCK_BYTES));
        for (const { at, byte, length } of writes) memory.fill(byte, at, at + length);
        const [id, before] = [`${index + 1}`, `${index}`];
        const wanted = { before, anchor, none: null }[base];
        const taken = pages.capture({ id, base: wanted, anchor: each.anchor, memory, masks });
        expect(taken.base).toBe(wanted);
        const whole = applied(grown(images.get(wanted ?? "") ?? new Uint8Array(0), memory.length), taken.pages);
        expect(Buffer.compare(whole, masked(memory, masks))).toBe(0);
        images.set(id, whole);
        if (each.anchor) anchor = id;
      });
    }),
    { numRuns: 40 },
  );
});

test("only what has changed is in a delta, and a whole image leaves out zero pages", () => {
  const memory = new Uint8Array(4 * BLOCK_BYTES);
  memory[5 * PAGE_BYTES] = 1;
  const pages = openPages("a", memory.slice());
  memory[20 * PAGE_BYTES + 9] = 1;
  memory[63 * PAGE_BYTES] = 1;
  const take = (id: string, base: string | null) => pages.capture({ id, base, anchor: false, memory, masks: [] });
  expect(numbers(take("b", "a").pages)).toEqual([20, 63]);
  expect(numbers(take("c", "b").pages)).toEqual([]);
  expect(numbers(take("d", null).pages)).toEqual([5, 20, 63]);
});

test("a page that changed since the anchor and changed back is not in a delta against it", () => {
  const memory = new Uint8Array(BLOCK_BYTES).fill(1);
  const pages = openPages("a", memory.slice());
  const take = (id: string, base: string) => pages.capture({ id, base, anchor: false, memory, masks: [] });
  memory[3 * PAGE_BYTES] = 2;
  memory[4 * PAGE_BYTES] = 2;
  expect(numbers(take("b", "a").pages)).toEqual([3, 4]);
  memory[3 * PAGE_BYTES] = 1;
  expect(numbers(take("c", "a").pages)).toEqual([4]);
});

test("an image that was captured but not kept does not keep later ones from an earlier base", () => {
  const memory = new Uint8Array(BLOCK_BYTES);
  const pages = openPages("anchor", memory.slice());
  const take = (id: string, base: string) => pages.capture({ id, base, anchor: false, memory, masks: [] });
  memory[0] = 1;
  take("kept", "anchor");
  memory[PAGE_BYTES] = 2;
  take("not kept", "kept");
  memory[2 * PAGE_BYTES] = 3;
  expect(pages.has("kept")).toBe(false);
  const onAnchor = take("next", "anchor");
  expect(onAnchor.base).toBe("anchor");
  expect(Buffer.compare(applied(new Uint8Array(BLOCK_BYTES), onAnchor.pages), memory)).toBe(0);
  take("not kept again", "next");
  const onNothing = take("last", "next");
  expect(onNothing.base).toBeNull();
  expect(Buffer.compare(applied(new Uint8Array(BLOCK_BYTES), onNothing.pages), memory)).toBe(0);
});

test("an image that is not at hand is not used as a base", () => {
  const memory = new Uint8Array(BLOCK_BYTES).fill(1);
  const pages = openPages("a", memory.slice());
  const take = (id: string, base: string, anchor: boolean) =>
    pages.capture({ id, base, anchor, memory, masks: [] }).base;
  expect(take("b", "a", true)).toBe("a");
  expect(take("c", "a", false)).toBeNull();
  expect(take("d", "b", false)).toBe("b");
  expect(pages.has("c")).toBe(false);
});

test("changes since the anchor are given up if they are too many to hold", () => {
  const memory = new Uint8Array(66 * BLOCK_BYTES * 4).fill(1);
  const pages = openPages("a", new Uint8Array(memory.length));
  const take = (id: string, base: string) => pages.capture({ id, base, anchor: false, memory, masks: [] });
  expect(take("b", "a").base).toBe("a");
  expect(pages.has("a")).toBe(false);
  expect(take("c", "a").base).toBeNull();
});

const numbers = (pages: ImagePages) => pages.flatMap((part) => [...part.numbers]);

function grown(memory: Uint8Array, bytes: number) {
  const more = new Uint8Array(bytes);
  more.set(memory);
  return more;
}

function applied(memory: Uint8Array, pages: ImagePages): Uint8Array {
  for (const part of pages) applyPart(memory, unpacked(part));
  return memory;
}

function masked(memory: Uint8Array, masks: readonly Mask[]): Uint8Array {
  const copy = memory.slice();
  for (const { address, bytes } of masks) copy.fill(0, address, address + bytes);
  return copy;
}

test("an image that takes too much memory is captured whole and not held, so nothing can be based on it", () => {
  const memory = new Uint8Array(64 * BLOCK_BYTES);
  const pages = openPages("a", memory.slice());
  memory.fill(7, BLOCK_BYTES);
  const take = (id: string, base: string | null, mostHeld: number) =>
    pages.capture({ id, base, anchor: true, memory, masks: [], mostHeld });
  const taken = take("b", "a", BLOCK_BYTES);
  expect(taken).toMatchObject({ base: "a", isKept: false });
  expect(Buffer.compare(applied(new Uint8Array(memory.length), taken.pages), memory)).toBe(0);
  expect([pages.has("a"), pages.has("b"), pages.heldBytes()]).toEqual([false, false, 0]);
  const again = take("c", "b", memory.length * 2);
  expect(again).toMatchObject({ base: null, isKept: true });
  expect(Buffer.compare(applied(new Uint8Array(memory.length), again.pages), memory)).toBe(0);
  expect(pages.heldBytes()).toBe(63 * BLOCK_BYTES);
});

test("an image larger than a slab of copies is held whole, until it would take too much", () => {
  const memory = new Uint8Array(36 * 2 ** 20);
  const pages = openPages("a", new Uint8Array(memory.length));
  const take = (id: string, base: string, mostHeld?: number) =>
    pages.capture({ id, base, anchor: false, memory, masks: [], ...(mostHeld ? { mostHeld } : {}) });
  for (let at = 0; at < memory.length; at += PAGE_BYTES) memory[at] = 1 + ((at / PAGE_BYTES) % 200);
  expect(countPages(take("b", "a").pages)).toBe(memory.length / PAGE_BYTES);
  expect(pages.heldBytes()).toBe(memory.length);
  memory[35 * 2 ** 20] = 0;
  expect(numbers(take("c", "b").pages)).toEqual([(35 * 2 ** 20) / PAGE_BYTES]);
  randomFillSync(memory);
  expect(take("d", "c", 2 ** 20)).toMatchObject({ isKept: false });
  expect([pages.heldBytes(), pages.has("d")]).toEqual([0, false]);
  expect(take("e", "d").base).toBeNull();
});
