import { pdfOf, pdfWith, streamOf } from "../packed.ts";

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

const FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

/** A page whose catalog, page and further objects have something of their own; the first of these is 6. */
function pageWith(catalog: string, page: string, stream: string, ...objects: readonly (string | Uint8Array)[]): Buffer {
  return pdfOf([
    `<</Type/Catalog/Pages 2 0 R${catalog}>>`,
    "<</Type/Pages/Kids[4 0 R]/Count 1>>",
    FONT,
    `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R${page}>>`,
    streamOf(stream),
    ...objects,
  ]);
}

const FONTS = "/Font<</F 3 0 R>>";
const shown = (words: string, y = 720) => `BT /F 12 Tf 72 ${y} Td (${words}) Tj ET `;
const widget = (name: string, rest: string) => `<</Type/Annot/Subtype/Widget/T(${name})/Rect[0 0 9 9]/P 4 0 R${rest}>>`;
const looks = "/AP<</N 5 0 R>>";

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
      // A line of equal cells, drawn whole and then again.
      ...[60, 60.3].flatMap((x): Put[] => [
        [x, 560, "Sum"],
        [x + 60, 560, "7"],
        [x + 120, 560, "7"],
      ]),
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
  "cell-by-cell.pdf": () =>
    page(
      [60, 700, "Name"],
      [160, 700, "Remark"],
      [400, 700, "Sum"],
      // In the middle of its row, whose second cell has three lines.
      [60, 666, "Ann"],
      [160, 679, "She came to the meeting and said"],
      [160, 666, "that she would not come again, since"],
      [160, 653, "it was too long."],
      [400, 666, "1,234.50"],
      [60, 632, "A long name of"],
      [60, 619, "a person with"],
      [60, 606, "titles"],
      [160, 619, "Ill."],
      [400, 619, "7.00"],
      [160, 585, "Nobody knows"],
    ),
  "tall-rows.pdf": () =>
    page(
      ...rows([60, 160, 400], 700, [["Name", "Remark", "Sum"]]),
      [60, 650, "Widget"],
      ...["She said that it was", "too long for her, and", "that she would not", "come again to see", "it."].map(
        (words, at): Put => [160, 676 - 13 * at, words],
      ),
      [400, 650, "1.50"],
      ...rows([60, 160, 400], 598, [["Gadget", "", "7.00"]]),
      ...rows([60, 160, 400], 572, [["", "Rusty", ""]]),
      [60, 546, "A name of"],
      [60, 533, "three lines,"],
      [60, 520, "or so"],
      [160, 533, "One line"],
      [400, 533, "9.00"],
    ),
  "options.pdf": () =>
    page(
      ...rows([60, 200], 700, [
        ["-b, --benchmark", "perform a benchmark on decoding"],
        ["-s, --strict", "use strict rules for decoding"],
        ["-h, --help", "display this help and exit"],
        ["-v, --version", "output version information and exit"],
      ]),
    ),
  "paragraphs.pdf": () =>
    page(
      [60, 740, "Journal of Birds"],
      [500, 740, "2024"],
      ...rows([60, 310], 700, [
        ["1 Introduction", "Calls were counted by the hour"],
        ["Gulls are loud in the morning and", "and checked by two people, who"],
        ["quiet at noon, as everybody knows,", "agreed in nine of ten."],
        ["but which nobody has measured.", ""],
        ["", "2 Results"],
        ["This paper measures it on a roof", "Two thirds of the calls come"],
        ["of a house in the town, and com-", "before ten in the morning."],
      ]),
      [300, 40, "3"],
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
  "near.pdf": () =>
    page(
      // Words in one size at another height, and a box that is drawn behind the words after it.
      [60, 740, "It has 10"],
      [102.2, 745, "6"],
      [108.3, 740, " cells, or H"],
      [160.3, 736, "2"],
      [166.4, 740, "O"],
      [95, 710, "Done"],
      [78, 710, "x)"],
      // Gaps of about one size between cells that stand below each other.
      ...rows([60, 104, 180, 214], 680, [
        ["Name:", "Ann Lee", "Born", "1980"],
        ["Town:", "Brighton", "Tel.", "44 1234"],
      ]),
      ...rows([300, 318.5], 620, [
        ["a", "b"],
        ["c", "d"],
      ]),
    ),
  "fields.pdf": () =>
    pageWith(
      "/AcroForm<</Fields[6 0 R 7 0 R 8 0 R 9 0 R 10 0 R 11 0 R 12 0 R]>>",
      `/Resources<<${FONTS}>>/Annots[6 0 R 7 0 R 8 0 R 9 0 R 10 0 R 11 0 R]`,
      shown("Please fill in"),
      widget("address", "/FT/Tx/Ff 4096/V(1 Main St\\nBern)"),
      widget("secret", "/FT/Tx/Ff 8192/V(hunter2)"),
      widget("agreed", "/FT/Btn/V/Off/AS/Off/AP<</N<</Yes 5 0 R/Off 5 0 R>>>>"),
      widget("color", "/FT/Ch/Ff 131072/V(b)/Opt[[(r)(Red)][(b)(Blue)]]"),
      widget("signed", `/FT/Sig${looks}`),
      widget("inner", "/FT/Tx/F 2/V(not shown)"),
      widget("nowhere", "/FT/Tx/V(on no page)").replace("/P 4 0 R", ""),
    ),
  "stamps.pdf": () =>
    pageWith(
      "",
      `/Resources<<${FONTS}>>/Annots[6 0 R 7 0 R 8 0 R 9 0 R 10 0 R 11 0 R 12 0 R]`,
      shown("Draft"),
      "<</Type/Annot/Subtype/Stamp/Contents(Checked by Ida)/Rect[0 0 90 90]>>",
      `<</Type/Annot/Subtype/Stamp/Rect[0 0 90 90]${looks}>>`,
      "<</Type/Annot/Subtype/Text/Contents(One\\nremark)/Rect[0 0 9 9]/Popup 9 0 R>>",
      "<</Type/Annot/Subtype/Popup/Parent 8 0 R/Contents(One remark)/Rect[0 0 9 9]>>",
      "<</Type/Annot/Subtype/Link/Contents(a link)/Rect[0 0 9 9]>>",
      "<</Type/Annot/Subtype/Highlight/Rect[0 0 9 9]/QuadPoints[0 9 9 9 0 0 9 0]>>",
      '<</Type/Annot/Subtype/FreeText/Rect[0 0 9 9]/RC(<body xmlns="http://www.w3.org/1999/xhtml"><p>Bold remark</p></body>)>>',
    ),
  "layers.pdf": () =>
    pageWith(
      "/OCProperties<</OCGs[6 0 R]/D<</OFF[6 0 R]>>>>",
      `/Resources<<${FONTS}/Properties<</A 6 0 R>>>>`,
      `${shown("Seen")}/OC /A BDC ${shown("Hidden", 700)}EMC BT 3 Tr /F 12 Tf 72 680 Td (Words of a scan) Tj ET`,
      "<</Type/OCG/Name(Draft layer)>>",
    ),
  "wait.pdf": () => pageWith("/AcroForm<</Fields[]/XFA 5 0 R>>", `/Resources<<${FONTS}>>`, shown("Please wait...")),
  "turned.pdf": () =>
    pageWith(
      "",
      `/Rotate 90/Resources<<${FONTS}>>`,
      ["Sideways ", "and then", "turned"]
        .map((words, at) => `BT /F 12 Tf 0 1 -1 0 300 ${100 + 54 * at} Tm (${words}) Tj ET`)
        .join(" "),
    ),
  "unknown.pdf": () =>
    pageWith(
      "",
      "/Resources<</Font<</F 6 0 R>>>>",
      shown("Known ABC"),
      "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>",
      streamOf("begincmap 3 beginbfchar <41> <E001> <42> <0003> <43> <F0B7> endbfchar endcmap"),
    ),
};
