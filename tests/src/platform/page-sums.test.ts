import { randomFillSync } from "node:crypto";
import { crc32 } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { openPageRoom, sumOf } from "../../../src/platform/page-sums.ts";

afterEach(() => vi.restoreAllMocks());

const PAGE = 64 * 1024;

test("the sum of a page in a room is CRC-32, whatever its length and its place", () => {
  using room = openPageRoom(3 * PAGE);
  randomFillSync(room.bytes);
  for (let length = 0; length <= PAGE; length += 1 + Math.floor(Math.random() * 700)) {
    const at = Math.floor(Math.random() * PAGE);
    const page = room.bytes.subarray(at, at + length);
    expect(sumOf(page), `${length} bytes at ${at}`).toBe(crc32(page));
  }
  const last = room.bytes.subarray(2 * PAGE);
  expect(sumOf(last)).toBe(crc32(last));
});

test("a changed bit anywhere in a page changes its sum", () => {
  using room = openPageRoom(PAGE);
  room.bytes.fill(7);
  const before = sumOf(room.bytes);
  for (let at = 0; at < PAGE; at += 61) {
    room.bytes[at] = 7 ^ (1 << (at % 8));
    expect(sumOf(room.bytes), `byte ${at}`).not.toBe(before);
    room.bytes[at] = 7;
  }
  expect(sumOf(room.bytes)).toBe(before);
});

test("bytes elsewhere have the same sums", () => {
  const page = randomFillSync(Buffer.alloc(PAGE));
  expect(sumOf(page)).toBe(crc32(page));
});

test("a room that is given back is used again, if it has about the size", () => {
  const bytes = 5 * PAGE;
  const first = openPageRoom(bytes);
  const { buffer } = first.bytes;
  first[Symbol.dispose]();
  using again = openPageRoom(bytes);
  expect(again.bytes.buffer).toBe(buffer);
  using other = openPageRoom(bytes);
  expect(other.bytes.buffer).not.toBe(buffer);
});

test("a processor without the instructions has rooms and sums, too", async () => {
  vi.spyOn(WebAssembly, "validate").mockReturnValue(false);
  vi.resetModules();
  const other = await import("../../../src/platform/page-sums.ts");
  using room = other.openPageRoom(PAGE);
  randomFillSync(room.bytes);
  expect(room.bytes).toHaveLength(PAGE);
  expect(other.sumOf(room.bytes)).toBe(crc32(room.bytes));
});
