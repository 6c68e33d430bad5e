import { expect, test } from "vitest";
import { openHeap } from "../../runtime/heap.ts";

const MB = 2 ** 20;

function open({ granted = 0, held = 0 } = {}) {
  let limit = 0;
  let linear = 0;
  const engine = {
    setMemoryLimit(bytes = 0, linearBytes = 0) {
      limit = bytes;
      linear = linearBytes;
    },
    heapBytes: () => held,
    linearBytes: () => held,
  };
  return {
    heap: openHeap({ limitBytes: 64 * MB, granted, engine: () => engine }),
    limit: () => limit,
    linear: () => linear,
  };
}

test("texts come on top of the guest's own limit", () => {
  const { heap, limit } = open({ granted: MB });
  expect(heap.granted()).toBe(MB);
  heap.grant(2 * MB);
  expect(limit()).toBe(66 * MB);
});

test("a limit that is set aside is set again, also if the work fails", () => {
  const { heap, limit } = open();
  expect(heap.withoutLimit(limit)).toBe(0);
  expect(limit()).toBe(64 * MB);
  expect(heap.withSpareBytes(limit)).toBe(80 * MB);
  expect(limit()).toBe(64 * MB);
  const fails = () => {
    throw new Error("failed");
  };
  expect(() => heap.withholding(MB, fails)).toThrow("failed");
  expect(limit()).toBe(64 * MB);
});

test("what is withheld stays withheld while work is granted bytes or has bytes to spare", () => {
  const { heap, limit } = open();
  const seen = heap.withholding(MB, () => {
    heap.grant(2 * MB);
    const granted = limit();
    const spare = heap.withSpareBytes(limit);
    return [granted, spare, limit()].map((bytes) => bytes / MB);
  });
  expect(seen).toEqual([65, 81, 65]);
  expect(limit()).toBe(66 * MB);
});

test("texts do not count against the limit that a guest may have outgrown", () => {
  expect(open({ granted: MB, held: 65 * MB }).heap.overLimit()).toBeNull();
  expect(open({ held: 65 * MB }).heap.overLimit()).toMatchObject({ code: "memory_limit_exceeded" });
});

test("linear memory may be five thirds of the limit and 2 MB, and the texts come on top", () => {
  const { heap, linear } = open();
  heap.grant(10 * MB);
  expect(linear() / MB).toBeCloseTo((64 * 5) / 3 + 2 + 10);
  heap.withoutLimit(() => expect(linear()).toBe(0));
});
