import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { type FoundLine, openLineFinder } from "../../../../src/context/find/found-lines.ts";
import { type FileInPlace, linesInPlace } from "../../../../src/context/find/lines-in-place.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";
import { SIZES, type Sizes } from "../../../../src/context/find/sizes.ts";
import { Unsearched } from "../../../../src/context/find/stream-search.ts";
import { openPlainText } from "../../../../src/context/text/plain-text.ts";
import { folderWith } from "../../../support/tree.ts";

/** A file as a search gets it, with the places of bytes that were mended. */
function inPlace(bytes: Uint8Array) {
  const path = join(folderWith(), "a.log");
  writeFileSync(path, bytes);
  const descriptor = openSync(path, "r");
  onTestFinished(() => closeSync(descriptor));
  const mended: number[] = [];
  let searched = 0;
  const file: FileInPlace = {
    text: openPlainText({ descriptor, mark: 0, bytes: bytes.length }),
    mend(bad, at) {
      mended.push(at);
      return { bytes: Buffer.from(Buffer.from(bad).toString()), failure: null };
    },
    onSearched(some) {
      searched += some;
    },
  };
  return { file, mended, searched: () => searched };
}

const AROUND = fc.record({ before: fc.nat(2), after: fc.nat(2) });
const LINES = Array.from(
  { length: 400 },
  (_, n) => `line ${n} ${n % 9 === 0 ? "needle é😀 needle" : ""}${n % 5 === 0 ? "\r" : ""}\n`,
);

test.each(["needle", "^line \\d*7 ", "\\bé", "$", "nowhere", "(?i)NEEDLE|9"])(
  "the lines with %s in a file that is searched where it lies are those of its text",
  (pattern) => {
    const bytes = Buffer.from(LINES.join(""));
    const { file, mended, searched } = inPlace(bytes);
    const compiled = compileFind(pattern, "m");
    fc.assert(
      fc.property(AROUND, fc.integer({ min: 9, max: 900 }), fc.constantFrom(2, 1000), (around, piece, held) => {
        const sizes: Sizes = { ...SIZES, piece, held, alone: Number.POSITIVE_INFINITY };
        const found: FoundLine[] = [];
        for (const lines of linesInPlace(file, compiled, around, sizes)) found.push(...lines);
        expect(found).toEqual([...openLineFinder(compiled, around).take(bytes, true)]);
      }),
      { numRuns: 4 },
    );
    expect(mended).toEqual([]);
    expect(searched()).toBe(4 * bytes.length);
  },
);

test("other threads search such a file too", () => {
  const bytes = Buffer.from(LINES.join(""));
  const { file } = inPlace(bytes);
  const sizes: Sizes = { ...SIZES, piece: 500, alone: 0 };
  const compiled = compileFind("needle", "m");
  const found: FoundLine[] = [];
  for (const lines of linesInPlace(file, compiled, { before: 0, after: 1 }, sizes)) found.push(...lines);
  expect(found).toEqual([...openLineFinder(compiled, { before: 0, after: 1 }).take(bytes, true)]);
});

test("pieces with bytes that are not UTF-8 are mended, and a search may end there", () => {
  const lines = LINES.map((line) => Buffer.from(line));
  lines[200] = Buffer.from([0x6e, 0xff, 0x65, 0x65, 0x0a]);
  const bytes = Buffer.concat(lines);
  const { file, mended } = inPlace(bytes);
  const sizes: Sizes = { ...SIZES, piece: 500, alone: Number.POSITIVE_INFINITY };
  const numbers = (one: FileInPlace) => {
    const found: number[] = [];
    for (const some of linesInPlace(one, compileFind("needle|n.ee", "m"), { before: 0, after: 0 }, sizes))
      for (const { line } of some) found.push(line);
    return found;
  };
  const expected = LINES.flatMap((line, at) => (line.includes("needle") || at === 200 ? [at + 1] : []));
  expect(numbers(file)).toEqual(expected);
  expect(mended).toHaveLength(1);
  const found: number[] = [];
  const ended = { ...file, mend: () => ({ bytes: Buffer.from("needle\n"), failure: new Unsearched("is no text") }) };
  expect(() => {
    for (const some of linesInPlace(ended, compileFind("needle", "m"), { before: 0, after: 0 }, sizes))
      for (const { line } of some) found.push(line);
  }).toThrow("is no text");
  expect(found.slice(0, -1)).toEqual(expected.filter((line) => line <= (found.at(-2) ?? 0)));
  expect(found.length).toBeGreaterThan(10);
});
