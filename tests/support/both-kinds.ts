import fc from "fast-check";
import { type Text, textFromString } from "../../src/context/text/text.ts";
import { PAGE_BYTES } from "../../src/platform/checked-file.ts";
import { largeText } from "./large-context.ts";

/** A kind of text: it is made of the parts of P, each of which a load or an append has added. */
export interface TextKind {
  readonly kind: string;
  readonly textOf: (parts: readonly string[]) => Text;
}

/** Both kinds of text. What one answers, the other one answers. */
export const TEXT_KINDS: readonly TextKind[] = [
  { kind: "in memory", textOf: (parts) => textFromString(parts.join("")) },
  { kind: "in files", textOf: (parts) => largeText({ parts }) },
];

const character = fc.constantFrom("a", "\n", "\r\n", "é", "漢", "😀", "\u{10ffff}", "\0", "\ufeff", "\u2028");
const few = fc.array(character, { maxLength: 5 }).map((characters) => characters.join(""));
const filler = fc.constantFrom("x", "line\n", "line\r\n", "é", "漢\n", "😀");

/**
 * Text that ends some bytes before the border of a page, then a few characters, which may cross it:
 * of one filling, so that pages are of one script, and many have no newline.
 */
const upToBorder = fc
  .tuple(filler, fc.integer({ min: 0, max: 9 }), few)
  .map(([filling, before, characters]) => [filling, before, characters] as const);

/**
 * Parts of a P of some pages. Characters of 1 to 4 bytes lie around the borders of pages and of
 * parts, and there are empty parts.
 */
export const anyParts: fc.Arbitrary<readonly string[]> = fc
  .tuple(
    fc.array(upToBorder, { maxLength: 3 }),
    fc.array(few, { minLength: 1, maxLength: 3 }),
    fc.array(fc.nat(), { maxLength: 3 }),
  )
  .map(([pages, tail, cuts]) => {
    const pieces: string[] = [];
    let bytes = 0;
    for (const [filling, before, characters] of pages) {
      const room = PAGE_BYTES - (bytes % PAGE_BYTES) - before;
      const filled = filling.repeat(Math.max(0, Math.floor(room / Buffer.byteLength(filling))));
      for (const piece of [filled, ...characters]) {
        pieces.push(piece);
        bytes += Buffer.byteLength(piece);
      }
    }
    pieces.push(...tail);
    return cutAt(
      pieces,
      cuts.map((cut) => cut % (pieces.length + 1)),
    );
  });

/** The pieces joined into parts. @param cuts numbers of pieces before which a part begins */
function cutAt(pieces: readonly string[], cuts: readonly number[]): readonly string[] {
  const borders = [0, ...cuts.toSorted((one, other) => one - other), pieces.length];
  return borders.slice(1).map((end, at) => pieces.slice(borders[at], end).join(""));
}

/** The UTF-16 units of a P around the borders of its pages and parts, and some others. */
export function unitsToTry(parts: readonly string[], others: readonly number[]): readonly number[] {
  const P = parts.join("");
  const units = new Set([0, P.length]);
  const around = (unit: number) => {
    for (let at = unit - 3; at <= unit + 3; at++) units.add(Math.min(Math.max(at, 0), P.length));
  };
  let seen = 0;
  for (const part of parts) {
    seen += part.length;
    around(seen);
  }
  const bytes = Buffer.from(P);
  for (let page = PAGE_BYTES; page < bytes.length; page += PAGE_BYTES) around(bytes.toString("utf8", 0, page).length);
  for (const other of others) units.add(other % (P.length + 1));
  return [...units];
}
