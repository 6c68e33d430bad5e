import { pdfWith, streamOf } from "../../packed.ts";

// Pages by their operators, and files that are refused.

/** Text at a position. */
const at = (x: number, y: number, said: string, size = 10) =>
  `BT /F ${size} Tf 1 0 0 1 ${x} ${y} Tm (${said.replace(/[()\\]/g, "\\$&")}) Tj ET `;
const page = (...shown: string[]) => streamOf(shown.join(""));

const LEFT = [
  "Gulls are loud in the morning,",
  "and quiet at noon, which is",
  "known to people of harbors",
  "but was measured by no one.",
];
const RIGHT = [
  "The roof had a microphone in",
  "three winters, and it was",
  "read each day by a person",
  "who wrote what it had heard.",
];

/** Two columns that are drawn line by line under a title, with a page number. */
const lineByLine = () =>
  pdfWith([
    page(
      at(200, 740, "On the voices of gulls", 16),
      ...LEFT.flatMap((line, n) => [at(60, 700 - 12 * n, line), at(320, 700 - 12 * n, RIGHT[n] ?? "")]),
      at(300, 40, "17"),
    ),
  ]);

/** A table with an empty cell, a lone cell, and prose on both sides. */
const bill = () =>
  pdfWith([
    page(
      at(60, 740, "The bill of May follows, with all that was bought."),
      ...[at(60, 700, "Item"), at(250, 700, "Count"), at(350, 700, "Sum")],
      ...[at(60, 685, "Bolt"), at(250, 685, "12"), at(350, 685, "1,234.50")],
      ...[at(60, 670, "A nut with a long name"), at(350, 670, "7.00")],
      at(350, 655, "1,241.50"),
      at(60, 620, "It is to be paid within 14 days of the day of the bill."),
    ),
  ]);

/** Raised and lowered digits, an ordinal, the same text twice. */
const signs = () =>
  pdfWith([
    page(
      at(60, 700, "Sales of 4,217", 12),
      at(137, 704, "1", 7),
      at(150, 700, "and 10", 12),
      at(187, 704, "6", 7),
      at(60, 680, "on the 1", 12),
      at(104, 684, "st", 7),
      at(114, 680, "of May", 12),
      at(60, 660, "Bold by two strokes", 12),
      at(60.2, 660, "Bold by two strokes", 12),
    ),
  ]);

const UTF16_NAME = Buffer.from("__properties_version1.0", "utf16le");
/** The head of an OLE file with the stream that each message of Outlook has. */
const message = () =>
  Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(1016), UTF16_NAME, Buffer.alloc(466)]);

export const PRINTED: Readonly<Record<string, () => Buffer>> = {
  ...{ "line-by-line.pdf": lineByLine, "bill.pdf": bill, "signs.pdf": signs },
  "letter.msg": message,
  "typed.rtf": () => Buffer.from("{\\rtf1\\ansi Hello}"),
  "noise.html": () =>
    Buffer.from(
      Array.from({ length: 400 }, (_, n) => (n * 89 + (n % 7)) % 256).map((byte) => (byte % 5 === 0 ? 0 : byte)),
    ),
};
