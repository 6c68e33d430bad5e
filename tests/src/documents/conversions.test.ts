import { expect, test } from "vitest";
import { LIMITS } from "../../../runtime/index.ts";
import { openPlaces } from "../../../src/context/text/places.ts";
import { lossText } from "../../../src/documents/conversions.ts";
import { type Place, UNPLACED } from "../../../src/documents/growing.ts";
import { contextOf, convertedFile, textFile } from "../../support/converted.ts";

const PAGE = { label: "p.1", body: "words\n" };

test("statistics tell what was converted and lost, and nothing where all is text", async () => {
  const lost = [
    { kind: "page without text", count: 2, where: [4, 9] },
    { kind: "image", count: 31, where: [] },
  ];
  const first = await contextOf([textFile("a.txt", "words"), convertedFile("a.pdf", [PAGE, PAGE], { lost })]);
  const sheet = convertedFile("b.xlsx", [PAGE], { kind: "xlsx", lost: lost.slice(1), reader: "xlsx/1" });
  const { stats } = await contextOf([sheet, convertedFile("c.pdf", [PAGE])], first);
  expect(stats.converted).toMatchObject({ count: 3, lossy: 2, lost: { "page without text": 2, image: 62 } });
  expect(stats.converted?.files.map(({ id, kind, places, reader }) => [id, kind, places, reader])).toEqual([
    ["a.pdf", "pdf", 2, "pdf/1 unpdf 1.8.1"],
    ["b.xlsx", "xlsx", 1, "xlsx/1"],
    ["c.pdf", "pdf", 1, "pdf/1 unpdf 1.8.1"],
  ]);
  expect(stats.converted?.files[0]?.lost).toEqual(lost);
  expect((await contextOf([textFile("a.txt", "words")])).stats).not.toHaveProperty("converted");
});

test("losses are counted in plurals", () => {
  const kinds = ["image", "part with comments", "formula without a stored value", "text box", "header or footer"];
  expect(kinds.map((kind) => lossText(kind, 2))).toEqual([
    "2 images",
    "2 parts with comments",
    "2 formulas without a stored value",
    "2 text boxes",
    "2 headers or footers",
  ]);
});

test("a context has 100,000 places with a label, over all loads; behind them there is none", async () => {
  const text = "x".repeat(LIMITS.documentPlaces + 10);
  const placed = (id: string, count: number) => {
    const places = Array.from({ length: count }, (_, n): Place => [n, `m.${n}`]);
    return { ...convertedFile(id, []), bytes: Buffer.from(text), places };
  };
  const first = await contextOf([placed("few", 3)]);
  const context = await contextOf([placed("many", LIMITS.documentPlaces), placed("late", 7)], first);
  const places = openPlaces(context.text, context.documents);
  const [, many, late] = context.documents.map(
    ({ start }) =>
      (n: number) =>
        places.at(start + n)?.place,
  );
  const last = LIMITS.documentPlaces - 4;
  expect([many?.(last), many?.(last + 1), many?.(last + 9), late?.(0), late?.(9)]).toEqual([
    `m.${last}`,
    ...[null, null, null, null],
  ]);
  expect(context.stats.converted?.lost).toEqual({ [UNPLACED]: 3 + 7 });
  expect(context.stats.converted?.files.map((file) => file.places)).toEqual([3, last + 1, 0]);
});
