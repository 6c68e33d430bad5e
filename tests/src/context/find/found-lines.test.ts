import fc from "fast-check";
import { expect, test } from "vitest";
import { type Around, type FoundLine, openLineFinder } from "../../../../src/context/find/found-lines.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";

/** The lines that a text gives in these blocks. */
function linesOf(blocks: readonly string[], pattern: string, around: Around): Omit<FoundLine, "byte">[] {
  const linesIn = openLineFinder(compileFind(pattern, "m"), around);
  return blocks.flatMap((block) => Array.from(linesIn(Buffer.from(block)), ({ byte: _, ...line }) => line));
}

/** The same by a walk over all lines, for patterns that native RegExp takes too. */
function expected(text: string, pattern: string, { before, after }: Around) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const hits = lines.map((line) => line.search(new RegExp(pattern, "u")));
  return lines.flatMap((line, at) => {
    const isNear = hits.some((hit, other) => hit >= 0 && other - at <= before && at - other <= after);
    const [hit = -1] = hits.slice(at, at + 1);
    return isNear ? [{ line: at + 1, column: hit < 0 ? null : hit + 1, text: line.replace(/\r$/, "") }] : [];
  });
}

test("lines come once, in their order and with their surroundings, however the text is cut into blocks", () => {
  const word = fc.constantFrom("b", "aa", "ü", "😀", "x b", "bb", "", "b\r");
  const shown = fc.record({ before: fc.nat(3), after: fc.nat(3) });
  const cut = fc.array(fc.boolean(), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), cut, shown, fc.boolean(), (lines, cuts, around, hasEnd) => {
      const text = `${lines.join("\n")}${hasEnd && lines.length > 0 ? "\n" : ""}`;
      const blocks: string[] = [];
      for (const [at, line] of text.split(/(?<=\n)/).entries()) {
        const block = cuts[at] === true ? "" : (blocks.pop() ?? "");
        blocks.push(block + line);
      }
      const found = linesOf(blocks, "b", around).map(({ line, column, text: shownText }) => ({
        line,
        column,
        text: shownText,
      }));
      expect(found).toEqual(expected(text, "b", around));
    }),
  );
});

test("a line has all of its matches, and a match over several lines is in its first one", () => {
  expect(linesOf(["one two one\nüne one\n"], "one", { before: 0, after: 0 })).toEqual([
    {
      line: 1,
      column: 1,
      text: "one two one",
      isCut: false,
      marks: [
        [0, 3],
        [8, 11],
      ],
    },
    { line: 2, column: 5, text: "üne one", isCut: false, marks: [[4, 7]] },
  ]);
  const over = linesOf(["a\nb one\ntwo\n"], "one\\s+two", { before: 0, after: 0 });
  expect(over).toEqual([{ line: 2, column: 3, text: "b one", isCut: false, marks: [[2, 5]] }]);
  expect(linesOf(["a\n\nb"], "^$", { before: 0, after: 0 })).toMatchObject([{ line: 2, marks: [[0, 0]] }]);
});

test("a line of more than 64 MB is given around its first match, and says so", () => {
  const [found] = linesOf([`${"ü".repeat(34 * 2 ** 20)}needle${"x".repeat(70 * 2 ** 20)}\n`], "needle", {
    before: 0,
    after: 0,
  });
  expect(found).toMatchObject({ line: 1, column: 34 * 2 ** 20 + 1, isCut: true });
  const [start = 0, end = 0] = found?.marks[0] ?? [];
  expect(found?.text.slice(start, end)).toBe("needle");
  expect(found?.text.length).toBeLessThanOrEqual(64 * 2 ** 20);
});
