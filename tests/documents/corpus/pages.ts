import { pdfWith, streamOf } from "../packed.ts";

// Pages of PDFs, each word at its place.

/** Words at a place of a page; 11 is their size unless another is given. */
type Put = readonly [x: number, y: number, words: string, size?: number];

function page(...puts: readonly Put[]): Buffer {
  const shown = puts.map(([x, y, words, size = 11]) => {
    const escaped = words.replace(/[()\\]/g, "\\$&");
    return `BT /F ${size} Tf 1 0 0 1 ${x} ${y} Tm (${escaped}) Tj ET`;
  });
  return pdfWith([streamOf(shown.join("\n"))]);
}

/** Rows with their cells at the places of the columns; an empty cell is not drawn. */
function rows(columns: readonly number[], top: number, cells: readonly (readonly string[])[]): Put[] {
  return cells.flatMap((row, at) =>
    row.flatMap((words, column): Put[] => (words === "" ? [] : [[columns[column] ?? 0, top - 14 * at, words]])),
  );
}

const LEFT = [
  "The committee reviewed the annual",
  "report and decided that the bud-",
  "get was too small for all that",
  "it had been asked to do in",
  "the coming year.",
];
const RIGHT = [
  "Meanwhile the auditors found that",
  "several invoices were missing from",
  "the archive since last March, and",
  "nobody could say where they",
  "had been put.",
];

export const PAGES: Readonly<Record<string, () => Buffer>> = {
  "marks.pdf": () =>
    page(
      [60, 700, "It weighs 4,217"],
      [134, 704, "1", 7],
      [143, 700, "kg, or 10"],
      [185.8, 704, "6", 7],
      [197, 700, "mg, on the 1"],
      [258.1, 704, "st", 7],
      [270, 700, "day; CO"],
      [310.3, 697, "2", 7],
      [318, 700, "was measured."],
      [60, 600, "1", 6],
      [64, 597, "See the appendix.", 9],
    ),
  "bold.pdf": () =>
    page(
      [60, 700, "Total"],
      [60.3, 700, "Total"],
      [120, 700, "12"],
      [60, 660, "Shadowed title", 20],
      [60, 630, "Words"],
      [60.8, 659.2, "Shadowed title", 20],
    ),
  "empty-cells.pdf": () =>
    page(
      ...rows([60, 200, 320, 440], 700, [
        ["Item", "Maker", "Price", "Stock"],
        ["Widget", "Acme", "1,234.50", "12"],
        ["Gadget", "", "7.00", "3"],
        ["", "Bolt Inc", "", "99"],
        ["Sprocket", "", "", "4"],
        ["", "", "5.25", ""],
        ["Cog", "Acme", "", ""],
      ]),
      [60, 560, "Prices are without tax."],
    ),
  "unequal.pdf": () =>
    page(
      [60, 740, "A heading over both of the columns", 16],
      ...rows([60, 330], 700, [...LEFT.map((words, at) => [words, RIGHT[at] ?? ""]), ["Nothing more was said."]]),
      [300, 80, "17"],
    ),
  "behind.pdf": () =>
    page(
      ...LEFT.map((words, at): Put => [60, 700 - 14 * at, words]),
      ...RIGHT.map((words, at): Put => [330, 700 - 14 * at, words]),
    ),
  "phrases.pdf": () =>
    page(
      ...rows([60, 330], 700, [
        ["Who may sign a contract", "Any two members of the board"],
        ["Where the seal is kept", "In the safe of the office"],
        ["When the books are closed", "On the last day of March"],
      ]),
    ),
};
