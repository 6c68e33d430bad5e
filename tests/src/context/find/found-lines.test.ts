import fc from "fast-check";
import { expect, test } from "vitest";
import { type Around, type FoundLine, openLineFinder } from "../../../../src/context/find/found-lines.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";
import { SIZES, type Sizes } from "../../../../src/context/find/sizes.ts";

/** The lines that a text gives in these chunks. */
function linesOf(chunks: readonly string[], pattern: string, around: Around, sizes: Sizes = SIZES): FoundLine[] {
  const finder = openLineFinder(compileFind(pattern, "m"), around, sizes);
  return chunks.flatMap((chunk, at) => [...finder.take(Buffer.from(chunk), at === chunks.length - 1)]);
}

/** The same by a walk over all lines, for patterns that native RegExp takes too. */
function expected(text: string, pattern: string, { before, after }: Around) {
  const lines = text.split("\n");
  const starts = lines.map((_, at) => lines.slice(0, at).join("\n").length + (at === 0 ? 0 : 1));
  if (lines.at(-1) === "") lines.pop();
  const matches = Array.from(text.matchAll(new RegExp(pattern, "gmu")), ({ index }) => index);
  const columns = lines.map((_, at) => {
    const first = matches.find((index) => index >= (starts[at] ?? 0) && index < (starts[at + 1] ?? text.length + 1));
    return first === undefined ? null : first - (starts[at] ?? 0) + 1;
  });
  return lines.flatMap((line, at) => {
    const isNear = columns.some((column, other) => column !== null && other - at <= before && at - other <= after);
    return isNear ? [{ line: at + 1, column: columns[at], text: line.replace(/\r$/, "") }] : [];
  });
}

const word = fc.constantFrom("b", "aa", "ü", "😀", "x b", "bb", "", "b\r", "a long line b without end b");
const lines = fc.array(word, { maxLength: 12 });
const shown = fc.record({ before: fc.nat(3), after: fc.nat(3) });
const sizes = fc
  .record({ piece: fc.integer({ min: 1, max: 30 }), line: fc.integer({ min: 1, max: 60 }) })
  .map((some): Sizes => ({ ...SIZES, ...some, windows: { smallest: 3, largest: 9, effort: 1e6 } }));

/** Chunks of a text, each of some characters. */
function cut(text: string, lengths: readonly number[]): string[] {
  const characters = Array.from(text);
  return [...lengths.map((length) => characters.splice(0, length).join("")), characters.join("")];
}

test.each(["b", "^b", "b\\n?", "a[^x]b", "[^ü]{2}", "\\n\\n", "^", "b[^]*?b"])(
  "lines with %s come once, in their order and with their surroundings, however the text comes",
  (pattern) => {
    const lengths = fc.array(fc.nat(9), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lengths, shown, fc.boolean(), sizes, (some, chunks, around, hasEnd, all) => {
        const text = `${some.join("\n")}${hasEnd && some.length > 0 ? "\n" : ""}`;
        const found = linesOf(cut(text, chunks), pattern, around, all);
        expect(found.map(({ line, column, text: of }) => ({ line, column, text: of }))).toEqual(
          expected(text, pattern, around),
        );
      }),
      { numRuns: 20 },
    );
  },
);

test("a line that is too long to be held comes in parts, and none of its matches is lost", () => {
  const lengths = fc.array(fc.nat(9), { maxLength: 12 });
  fc.assert(
    fc.property(lines, lengths, sizes, fc.integer({ min: 1, max: 20 }), (some, chunks, all, heldLine) => {
      const text = some.join("\n");
      const found = linesOf(cut(text, chunks), "b", { before: 0, after: 0 }, { ...all, heldLine });
      const places = found.flatMap(({ line, column, marks }) =>
        marks.map(([start]) => `${line}:${(column ?? 0) + start - (marks[0]?.[0] ?? 0)}`),
      );
      const expectedPlaces = text
        .split("\n")
        .flatMap((line, at) => Array.from(line.matchAll(/b/g), ({ index }) => `${at + 1}:${index + 1}`));
      expect(places).toEqual(expectedPlaces);
      const once = found.filter(({ isAgain }) => !isAgain).map(({ line }) => line);
      expect(once).toEqual([...new Set(once)]);
      expect(new Set(once)).toEqual(new Set(found.map(({ line }) => line)));
    }),
    { numRuns: 60 },
  );
});

test("a line has all of its matches, and a match over several lines is in its first one", () => {
  expect(linesOf(["one two one\nüne one\n"], "one", { before: 0, after: 0 })).toEqual([
    {
      line: 1,
      column: 1,
      text: "one two one",
      isCut: false,
      isAgain: false,
      byte: expect.any(Number),
      marks: [
        [0, 3],
        [8, 11],
      ],
    },
    { line: 2, column: 5, text: "üne one", isCut: false, isAgain: false, byte: 17, marks: [[4, 7]] },
  ]);
  const over = linesOf(["a\nb one\ntwo\n"], "one\\s+two", { before: 0, after: 0 });
  expect(over).toMatchObject([{ line: 2, column: 3, text: "b one", isCut: false, marks: [[2, 5]] }]);
  expect(linesOf(["a\n\nb"], "^$", { before: 0, after: 0 })).toMatchObject([{ line: 2, marks: [[0, 0]] }]);
});

test("a line of more than 64 MB is given around its first match, and says so", () => {
  expect(SIZES.heldLine).toBe(64 * 2 ** 20);
  const held = { ...SIZES, heldLine: 64 * 1024 };
  const line = `${"ü".repeat(34 * 1024)}needle${"x".repeat(70 * 1024)}\n`;
  const [found] = linesOf([line], "needle", { before: 0, after: 0 }, held);
  expect(found).toMatchObject({ line: 1, column: 34 * 1024 + 1, isCut: true });
  const [start = 0, end = 0] = found?.marks[0] ?? [];
  expect(found?.text.slice(start, end)).toBe("needle");
  expect(found?.text.length).toBeLessThanOrEqual(64 * 1024);
});
