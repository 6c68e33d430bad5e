import fc from "fast-check";
import { expect, test } from "vitest";
import { findInDocuments } from "../../../../src/context/find/in-documents.ts";
import { SIZES } from "../../../../src/context/find/sizes.ts";
import { textFromString } from "../../../../src/context/text/text.ts";
import { largeText } from "../../../support/large-context.ts";

/** The documents as ranges of one text, with a bar between two. */
function searched(documents: readonly string[]) {
  const text = textFromString(documents.join("|")).data;
  let at = 0;
  const ranges = documents.map(({ length }) => {
    const start = at;
    at += length + 1;
    return [start, start + length] as const;
  });
  return { text, ranges };
}

test("each document is searched by itself, and hits are offsets in it", () => {
  const unit = fc.constantFrom("a", "b", "\n", "é", "\u{1f600}");
  const documents = fc.array(fc.string({ unit, maxLength: 12 }), { maxLength: 5 });
  fc.assert(
    fc.property(documents, documents, fc.integer({ min: 1, max: 9 }), (one, other, limit) => {
      const expected = [one, other].flatMap((all, text) =>
        all.flatMap((document, range) =>
          Array.from(document.matchAll(/^a+|é[^b]*$/gmu), ({ index, 0: found }) => {
            return { text, range, start: index, end: index + found.length };
          }),
        ),
      );
      expect(findInDocuments([searched(one), searched(other)], "^a+|é[^b]*$", "m", limit)).toEqual({
        hits: expected.slice(0, limit),
        total: expected.length,
        documents: new Set(expected.map(({ text, range }) => `${text} ${range}`)).size,
      });
    }),
  );
});

test("counting ends at 10,000", () => {
  const { hits, total, documents } = findInDocuments([searched(["x", "a".repeat(20_000), "a"])], "a", "", 2);
  expect([hits.length, total, documents]).toEqual([2, 10_000, 1]);
});

test("documents of a text in files are searched as those in memory, read whole or by windows", () => {
  const all = ["aab", "", "b\naaéb", "\u{1f600}a", "aaa"];
  const small = searched(all);
  const documents = small.ranges.map(([start, end], n) => ({ id: `${n}`, path: "-", start, end, size: end - start }));
  const { data } = largeText({ parts: [all.join("|")], documents });
  for (const [pattern, flags] of [
    ["a+", ""],
    ["^a|b$", "m"],
    ["[^b]+", ""],
  ] as const) {
    const expected = findInDocuments([small], pattern, flags, 4);
    for (const ranges of [small.ranges, null]) {
      expect(findInDocuments([{ text: data, ranges }], pattern, flags, 4)).toEqual(expected);
    }
  }
  // Of a long document no match is found that goes beyond it, and its ends are those of a text.
  for (const pattern of ["a+", "b\\|", "[^b]+", "\\Aa", "a\\z", "^", "$", "a*", "\\b"]) {
    const long = findInDocuments([{ text: data, ranges: null }], pattern, "m", 99, { ...SIZES, piece: 2 });
    expect(long).toEqual(findInDocuments([small], pattern, "m", 99));
  }
});
