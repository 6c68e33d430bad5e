import { expect, test } from "vitest";
import { openNewMemory } from "../../../src/store/rows/new-memory.ts";

const MB = 2 ** 20;

test.for([true, false])(
  "nothing writes to memory that is ready, and all else in it is zero (full: %s)",
  async (isFull) => {
    const length = 40 * MB;
    const memory = openNewMemory(length, isFull);
    for (let end = MB; end <= length; end += MB) {
      await memory.ready(end);
      memory.bytes.fill(7, end - MB, end - MB + 100);
    }
    await memory.end();
    const expected = Buffer.alloc(length);
    for (let at = 0; at < length; at += MB) expected.fill(7, at, at + 100);
    expect(expected.equals(memory.bytes)).toBe(true);
  },
);

test("memory whose use ends early is nobody else's either", async () => {
  const memory = openNewMemory(64 * MB, true);
  await memory.ready(MB);
  await memory.end();
  const moved = new Uint8Array(structuredClone(memory.bytes.buffer, { transfer: [memory.bytes.buffer] }));
  expect(Buffer.alloc(64 * MB).equals(moved)).toBe(true);
});
