import fc from "fast-check";
import { expect, test } from "vitest";
import type { ContextFile, SmallContext } from "../../../src/context/context.ts";
import { excerptOf, type Range } from "../../../src/context/excerpt.ts";
import { named } from "../../../src/context/load/file-content.ts";
import { openPlaces } from "../../../src/context/text/places.ts";
import { contextOf as converted, convertedFile } from "../../support/converted.ts";

test("whole documents keep their ids, parts are named by their offsets, separators are left out", async () => {
  const parent = await contextOf([
    ["a\n.txt", "aaaa"],
    ["b/ü.txt", "bé\u{1f600}b"],
    ["empty", ""],
    ["c.txt", "cccccc"],
  ]);
  const [, second, , last] = parent.documents;
  const { files, toParent } = excerptOf(parent, [
    [0, (second?.start ?? 0) + 2],
    [(second?.end ?? 0) + 1, (last?.start ?? 0) + 3],
    [(last?.start ?? 0) + 5, parent.text.length],
  ]);
  const child = await loaded(files);
  const texts = child.documents.map(({ id, start, end }) => [id, child.text.slice(start, end)]);
  expect(texts).toEqual([
    ["a\n.txt", "aaaa"],
    ["b/ü.txt:0-2", "bé"],
    ["empty", ""],
    ["c.txt:0-3", "ccc"],
    ["c.txt:5-6", "c"],
  ]);
  expect(child.text.slice(0, child.text.length)).toMatch(/^\n===== "a\\n\.txt" =====\naaaa\n===== b/);
  const all = toParent([0, child.text.length]);
  expect(all.map(([start, end]) => parent.text.slice(start, end))).toEqual(["aaaa", "bé", "ccc", "c"]);
  expect(toParent([0, 5])).toEqual([]);
});

test("a range that cuts a character takes all of it", async () => {
  const parent = await contextOf([["a", "x\u{1f600}y\u{1f600}"]]);
  const start = parent.documents[0]?.start ?? 0;
  const child = await loaded(excerptOf(parent, [[start + 2, start + 5]]).files);
  expect(child.documents.map(({ id }) => id)).toEqual(["a:1-6"]);
  expect(child.text.slice(0, child.text.length)).toMatch(/\n\u{1f600}y\u{1f600}$/u);
});

test("parts of a converted document keep their places, rows their numbers, and a whole one what was lost", async () => {
  const lost = [{ kind: "image", count: 2, where: [] }];
  const pages = ["one\n", "two\n", "three\n"].map((body, n) => ({ label: `p.${n + 1}`, body }));
  const rows = { label: "Sales", body: "a\nb\nc\nd\n", firstRow: 5 };
  const parent = await converted([
    convertedFile("whole.pdf", pages, { lost }),
    convertedFile("cut.pdf", pages, { lost }),
    convertedFile("s.xlsx", [rows, { label: "More", body: "e\n", firstRow: 1 }], { kind: "xlsx" }),
  ]);
  const P = parent.text.slice(0, parent.text.length);
  const at = (words: string, from: string) => P.indexOf(words, P.indexOf(from));
  const { files, toParent } = excerptOf(parent, [
    [0, at("wo", "=== cut")],
    [at("wo", "=== cut"), at("ree", "=== cut")],
    [at("b\n", "=== s"), P.length],
  ]);
  const child = await loaded(files);
  expect(child.documents.map(({ original, lost = [] }) => [original?.kind, lost.length])).toEqual([
    ...[
      ["pdf", 1],
      ["pdf", 0],
      ["pdf", 0],
      ["xlsx", 0],
    ],
  ]);
  const text = child.text.slice(0, child.text.length);
  const [inChild, inParent] = [openPlaces(child.text, child.documents), openPlaces(parent.text, parent.documents)];
  const begin = new Set(child.documents.map(({ start }) => start));
  for (const [offset] of [...text].entries()) {
    const [range] = toParent([offset, offset + 1]);
    const place = range && inParent.at(range[0])?.place;
    // The first line of a part that begins with a row has the name of its sheet alone.
    const isFirst = text.slice([...begin].findLast((start) => start <= offset) ?? 0, offset).indexOf("\n") < 0;
    if (range) expect(inChild.at(offset)?.place).toBe(isFirst ? place?.replace(/!\d+$/, "") : place);
  }
});

test("each document is the parent's text, and every place of it is mapped back to where it came from", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", "\n", "é", "…", "\u{1f600}"), maxLength: 30 });
  const documents = fc.array(text, { minLength: 1, maxLength: 6 });
  const cuts = fc.array(fc.nat({ max: 400 }), { minLength: 2, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(documents, cuts, fc.nat(), fc.nat(), async (texts, bounds, a, b) => {
      const parent = await contextOf(texts.map((each, i) => [`d${i}`, each]));
      const ranges = apart(bounds, parent.text.length);
      const { files, toParent } = excerptOf(parent, ranges);
      const child = await loaded(files);
      const taken: Range[] = [];
      for (const { start, end } of child.documents) {
        const [range] = toParent([start, end]);
        if (start === end) continue;
        expect(range && parent.text.slice(...range)).toBe(child.text.slice(start, end));
        taken.push(range ?? [0, 0]);
        const [from, to] = [start + (a % (end - start)), start + (b % (end - start)) + 1];
        if (from >= to) continue;
        const [inner] = toParent([from, to]);
        expect(inner && parent.text.slice(...inner)).toBe(child.text.slice(from, to));
      }
      // Nothing is there twice, and nothing that was asked for is missing.
      for (const [i, range] of taken.slice(1).entries()) expect(taken[i]?.[1]).toBeLessThanOrEqual(range[0]);
      for (const { start, end } of parent.documents) {
        for (let unit = start; unit < end; unit++) {
          if (!ranges.some((range) => range[0] <= unit && unit < range[1])) continue;
          expect(taken.some((range) => range[0] <= unit && unit < range[1])).toBe(true);
        }
      }
    }),
    { numRuns: 60 },
  );
});

/** Ranges of P, sorted and apart, made of any numbers. */
function apart(bounds: readonly number[], length: number): readonly Range[] {
  const within = [...new Set(bounds.map((bound) => bound % (length + 1)))].sort((a, b) => a - b);
  return within.flatMap((start, i) => {
    const end = within[i + 1];
    return i % 2 === 0 && end !== undefined ? [[start, end] as const] : [];
  });
}

function contextOf(documents: readonly (readonly [string, string])[]): Promise<SmallContext> {
  return loaded(documents.map(([relative, text]) => ({ relative, path: "-", bytes: Buffer.from(text) })));
}

function loaded(documents: readonly Omit<ContextFile, "separator">[]): Promise<SmallContext> {
  return converted(documents.map((one) => named(one, "", { files: 0, bytes: 0 })));
}
