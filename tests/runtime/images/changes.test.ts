import fc from "fast-check";
import { expect, test } from "vitest";
import { applyPart, openChanges, problemOf } from "../../../runtime/images/changes.ts";
import { type ImagePages, PAGE_BYTES } from "../../../runtime/images/image.ts";
import { unpacked } from "../../support/unpacked.ts";

/** The most pages of a part. */
const PART_PAGES = 240;

const PAGE_WORDS = PAGE_BYTES / 4;

/** Words of a page: none, some, or all in a row of 32. */
const page = fc.array(fc.tuple(fc.nat(PAGE_WORDS - 1), fc.constantFrom(1, 3, 32, 100), fc.integer({ min: 1 })), {
  maxLength: 5,
});

test("changes applied to the earlier memory give the later memory", () => {
  fc.assert(
    fc.property(fc.array(page, { maxLength: 6 }), fc.array(page, { maxLength: 6 }), (before, after) => {
      const count = Math.max(before.length, after.length);
      const [was, now] = [memoryOf(before, count), memoryOf(after, count)];
      const pages = changesOf(was, now);
      expect(problems(pages, count * PAGE_BYTES)).toEqual([]);
      const memory = new Uint8Array(was.buffer);
      for (const part of pages) applyPart(memory, part);
      expect(Buffer.compare(memory, new Uint8Array(now.buffer))).toBe(0);
    }),
  );
});

test("only words that changed are kept, and equal pages are left out", () => {
  const was = memoryOf([], 4);
  const now = was.slice();
  now[PAGE_WORDS + 33] = 7;
  now[3 * PAGE_WORDS] = -1;
  now[4 * PAGE_WORDS - 1] = 9;
  const [part, ...others] = changesOf(was, now);
  expect(others).toEqual([]);
  expect([...(part?.numbers ?? [])]).toEqual([1, 3]);
  const rows = [2, 2 ** 31 + 1];
  const masks = [2, 1, 2 ** 31];
  expect([...(part?.changes ?? [])]).toEqual([...rows, ...masks, 7, 2 ** 32 - 1, 9]);
  expect(changesOf(now, now)).toEqual([]);
});

test("many pages are kept in several parts, in ascending order, and all but the last are packed", () => {
  const now = new Int32Array((PART_PAGES + 2) * PAGE_WORDS).fill(5);
  const gathered = changesOf(new Int32Array(now.length), now);
  expect(gathered.map(({ packed }) => packed !== undefined)).toEqual([true, false]);
  const pages = gathered.map(unpacked);
  expect(pages.map(({ numbers }) => numbers.length)).toEqual([PART_PAGES, 2]);
  expect(problems(pages, now.byteLength)).toEqual([]);
  expect(problems(pages.toReversed(), now.byteLength)).toEqual([`page 0 comes after page ${PART_PAGES + 1}`]);
});

test("parts that cannot be applied to the memory are found", () => {
  const now = memoryOf([[[0, 3, 8]], [[5, 1, 1]]], 2);
  const [part] = changesOf(new Int32Array(now.length), now);
  if (!part) throw new Error("nothing changed");
  const { numbers, changes } = part;
  const words = changes.length;
  const found = (change: Partial<typeof part>, linearBytes = 2 * PAGE_BYTES) =>
    problemOf({ ...part, ...change }, -1, linearBytes);
  expect(found({})).toBeNull();
  expect(found({ numbers: Uint32Array.of(1, 0) })).toBe("page 0 comes after page 1");
  expect(found({ numbers: Uint32Array.of(1, 1) })).toBe("page 1 comes after page 1");
  expect(found({}, PAGE_BYTES)).toBe(`page 1 lies beyond ${PAGE_BYTES} bytes of memory`);
  expect(found({ numbers: Uint32Array.of(0, 2 ** 32 - 1) })).toMatch(/^page 4294967295 lies beyond /);
  expect(found({ changes: changes.slice(0, -1) })).toBe(`2 pages have ${words - 1} words, not ${words}`);
  expect(found({ changes: changes.with(0, 3) })).toBe("2 pages have 8 words, not 10");
  expect(found({ changes: changes.with(2, 3) })).toBe("2 pages have 8 words, not 7");
  for (const length of [0, 1, 3]) {
    expect(found({ changes: changes.slice(0, length) })).toMatch(`2 pages have ${length} words, not `);
  }
  expect(found({ numbers: numbers.slice(0, 1) })).toMatch(/^1 pages have /);
  const most = { numbers: new Uint32Array(961), changes: new Uint32Array(0) };
  expect(problemOf(most, -1, 2 ** 30)).toBe("a part has 961 pages");
});

function memoryOf(pages: readonly (readonly [number, number, number][])[], count: number): Int32Array<ArrayBuffer> {
  const memory = new Int32Array(count * PAGE_WORDS);
  pages.forEach((writes, index) => {
    const words = memory.subarray(index * PAGE_WORDS, (index + 1) * PAGE_WORDS);
    for (const [at, length, value] of writes) words.fill(value, at, at + length);
  });
  return memory;
}

function changesOf(was: Int32Array, now: Int32Array): ImagePages {
  const changes = openChanges();
  for (let number = 0; number * PAGE_WORDS < now.length; number++) {
    changes.add(number, was, number * PAGE_WORDS, now, number * PAGE_WORDS);
  }
  return changes.flush();
}

function problems(pages: ImagePages, linearBytes: number): string[] {
  let last = -1;
  return pages.flatMap((part) => {
    const problem = problemOf(part, last, linearBytes);
    last = part.numbers.at(-1) ?? last;
    return problem ?? [];
  });
}
