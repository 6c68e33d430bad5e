import fc from "fast-check";
import { expect, test } from "vitest";
import type { Document } from "../../../../src/context/context.ts";
import { openPlaces } from "../../../../src/context/text/places.ts";
import { textFromString } from "../../../../src/context/text/text.ts";

/** P of these documents with a separator before each, as a folder gives it. */
function contextOf(contents: readonly string[]) {
  let P = "";
  const documents = contents.map((content, index): Document => {
    const id = `d${index}`;
    P += `\n===== ${id} =====\n`;
    const start = P.length;
    P += content;
    return { id, path: `/${id}`, start, end: P.length, size: content.length };
  });
  return { P, documents, places: openPlaces(textFromString(P), documents) };
}

test("an offset has its document, and line and column there", () => {
  const { P, places } = contextOf(["one\ntwo three\n", "größe\n😀 four\n"]);
  expect(places.at(P.indexOf("three"))).toMatchObject({ id: "d0", line: 2, column: 5 });
  expect(places.at(P.indexOf("four"))).toMatchObject({ id: "d1", line: 2, column: 4, start: P.indexOf("größe") });
});

test("between documents the following one begins, behind the last there is none", () => {
  const { P, places, documents } = contextOf(["one\n", "", "two"]);
  const beginning = (index: number) => ({ id: `d${index}`, start: documents[index]?.start, line: 1, column: 1 });
  expect(places.at(0)).toMatchObject(beginning(0));
  expect(places.at(P.indexOf("d1"))).toMatchObject(beginning(1));
  expect(places.at(P.indexOf("d2"))).toMatchObject(beginning(2));
  expect(places.at(P.length)).toMatchObject({ id: "d2", line: 1, column: 4 });
  expect([places.at(P.length + 1), places.at(-1), contextOf([]).places.at(0)]).toEqual([null, null, null]);
});

test("places are those of a count from the document's beginning, across blocks", () => {
  const piece = fc.oneof(
    fc.constantFrom("\n", "x".repeat(3000), "é".repeat(1500), "😀", "\r\n", "word\n"),
    fc.string(),
  );
  const content = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("").toWellFormed());
  fc.assert(
    fc.property(fc.array(content, { minLength: 1, maxLength: 3 }), fc.nat(), (contents, seed) => {
      const { P, documents, places } = contextOf(contents);
      for (const { id, start, end, size } of documents) {
        const offset = start + (seed % (size + 1));
        const isInPair = /^[\udc00-\udfff]/.test(P.slice(offset, offset + 1));
        const before = P.slice(start, isInPair ? offset - 1 : offset).split("\n");
        const column = (before.at(-1)?.length ?? 0) + 1 + (isInPair ? 1 : 0);
        expect(places.at(offset)).toEqual({ id, start, end, line: before.length, column, place: null });
      }
    }),
  );
});

test("the text of a line has no end, and of a long line it is what stands around the offset", () => {
  const { P, places } = contextOf([`short\r\n${"a".repeat(500)}needle${"b".repeat(500)}\nlast`]);
  expect(places.lineText(P.indexOf("short") + 2)).toBe("short");
  expect(places.lineText(P.length - 1)).toBe("last");
  const cut = places.lineText(P.indexOf("needle"));
  expect(cut).toBe(`…${"a".repeat(60)}needle${"b".repeat(134)}…`);
  expect(places.lineText(P.indexOf("aaa"))).toBe(`${"a".repeat(200)}…`);
});
