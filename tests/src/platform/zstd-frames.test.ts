import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { frameCutter } from "../../../src/platform/zstd-frames.ts";

/** A frame that has no content. */
const SKIPPED = Buffer.from("5a2a4d1803000000aabbcc", "hex");
const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
const LONG = Array.from({ length: 100_000 }, (_, n) => `line ${n}\n`).join("");

const frames = [
  zstdCompressSync("one"),
  SKIPPED,
  zstdCompressSync(LONG, CHECKED),
  zstdCompressSync(""),
  // Blocks of one byte that is repeated.
  zstdCompressSync(Buffer.alloc(500_000)),
];

test.each([1, 7, 4096, 2 ** 24])("pieces end where frames do, whichever way the bytes come (%i at once)", (size) => {
  const all = Buffer.concat(frames);
  const cutter = frameCutter();
  const ends: number[] = [];
  let at = 0;
  for (let from = 0; from < all.length; from += size) {
    for (const piece of cutter.cut(all.subarray(from, from + size))) {
      at += piece.length;
      ends.push(at);
    }
  }
  expect(at).toBe(all.length);
  const wanted = frames.map((_, n) => Buffer.concat(frames.slice(0, n + 1)).length);
  expect(ends).toEqual(expect.arrayContaining(wanted));
  if (size > all.length) expect(ends).toEqual(wanted);
});

test("what is no frame is one piece, and so is the beginning of one", () => {
  const first = zstdCompressSync("one");
  const rest = Buffer.from("no frame at all");
  expect(frameCutter().cut(Buffer.concat([first, rest]))).toEqual([first, rest]);
  const [piece = Buffer.alloc(0), part] = frameCutter().cut(Buffer.concat([first, first.subarray(0, 6)]));
  expect(zstdDecompressSync(piece).toString()).toBe("one");
  expect(part).toEqual(first.subarray(0, 6));
});
