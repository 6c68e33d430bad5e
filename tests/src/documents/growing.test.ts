import fc from "fast-check";
import { expect, test } from "vitest";
import { cell, growing } from "../../../src/documents/growing.ts";
import { anyCharacter } from "../../support/any-character.ts";

/** Any units, also halves of pairs, and more often what readers write themselves. */
const anyText = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom("[p.99]\n", "a\r\nb\rc", "\n\n", "\t", "", "\\n", "\0"),
);

test("a part begins at its place, whatever the text looks like, and nothing is lost between parts", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyText, anyText), { minLength: 1 }), (parts) => {
      const text = growing(1e6);
      text.add("first");
      for (const [label, body] of parts) {
        text.part(label);
        text.add(body);
      }
      const { text: all, places } = text.end();
      expect(places).toHaveLength(parts.length);
      expect(places.filter(([unit, label]) => !all.startsWith(`[${label}]\n`, unit))).toEqual([]);
      const bodies = places.map(([unit, label], n) => all.slice(unit + label.length + 3, places[n + 1]?.[0]));
      const expected = parts.map(([, body]) => body.toWellFormed().replace(/\r\n?/g, "\n").replaceAll("\0", ""));
      expect(bodies.map((body) => body.trimEnd())).toEqual(expected.map((body) => body.trimEnd()));
      expect(Buffer.from(all).toString("utf8")).toBe(all);
    }),
  );
});

test("a cell is one cell of one line, and can be read back", () => {
  const back = (said: string) =>
    said.replace(/\\(.)/g, (_, letter: string) => (letter === "t" ? "\t" : letter === "n" ? "\n" : letter));
  fc.assert(
    fc.property(anyText, (value) => {
      expect(cell(value)).not.toMatch(/[\t\n\r]/);
      expect(back(cell(value))).toBe(value.replace(/\r\n?/g, "\n"));
    }),
  );
});

test("places behind the first 100,000 are counted as a loss", () => {
  const text = growing(1e8);
  for (let n = 0; n < 100_003; n++) text.part("x");
  text.add("end");
  const { places, lost } = text.end();
  expect(places).toHaveLength(100_001);
  expect(places.at(-1)?.[1]).toBe("");
  expect(lost).toEqual([{ kind: "place over 100,000", count: 3, where: [] }]);
});
