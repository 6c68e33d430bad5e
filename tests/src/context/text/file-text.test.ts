import { statSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openFileText } from "../../../../src/context/text/file-text.ts";
import { openText, type TextData } from "../../../../src/context/text/text.ts";
import { PAGE_BYTES } from "../../../../src/platform/checked-file.ts";
import { anyParts, unitsToTry } from "../../../support/both-kinds.ts";
import { flipByte } from "../../../support/flip-byte.ts";
import { largeText } from "../../../support/large-context.ts";
import { sparseText } from "../../../support/sparse-text.ts";
import { folderWith } from "../../../support/tree.ts";

test("indexOf is that of strings, across pages and files, from any unit", () => {
  fc.assert(
    fc.property(
      anyParts,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 12 })), { minLength: 15 }),
      (parts, others) => {
        const P = parts.join("");
        const text = largeText({ parts });
        const units = unitsToTry(parts, []);
        for (const [other, length] of others) {
          const at = units[other % units.length] ?? 0;
          const needle = P.slice(at, at + length);
          if (!needle.isWellFormed()) continue;
          for (const from of [0, at - 1, at, at + 1, -5, P.length, P.length + 5])
            if (text.large?.indexOf(needle, from) !== P.indexOf(needle, from)) expect([needle, from]).toBe("found");
        }
        expect(text.large?.indexOf("nowhere", 0)).toBe(-1);
      },
    ),
    { numRuns: 2 },
  );
});

test("the data of a text opens in another thread", () => {
  const { data } = largeText({ parts: ["one\n", "zwei 漢字😀"] });
  using text = openText(structuredClone<TextData>(data));
  expect(text.slice(0, text.length)).toBe("one\nzwei 漢字😀");
});

test("nothing is opened before it is asked for", () => {
  using text = openFileText({ files: [{ path: "/nowhere/one", bytes: 5 }], table: "/nowhere/table", length: 5 });
  expect([text.length, text.bytes]).toEqual([5, 5]);
  expect(() => text.read(0, 1)).toThrow("/nowhere/one is missing");
  expect(() => text.slice(0, 1)).toThrow("/nowhere/table is missing");
});

test("a damaged page is lost, and other pages can still be read", () => {
  const { data } = largeText({ parts: ["x".repeat(3 * PAGE_BYTES), "tail"] });
  const [file] = data.files;
  flipByte(file?.path ?? "", PAGE_BYTES + 5);
  using text = openFileText(data);
  const lost = `${file?.path} is damaged in the 64 KB that begin at 65536`;
  expect(() => text.slice(PAGE_BYTES, PAGE_BYTES + 1)).toThrow(lost);
  expect(() => text.read(0, 3 * PAGE_BYTES)).toThrow(lost);
  expect(() => text.large?.indexOf("tail", 0)).toThrow(lost);
  expect(text.slice(0, 3)).toBe("xxx");
  expect(text.slice(3 * PAGE_BYTES - 1, 3 * PAGE_BYTES + 4)).toBe("xtail");
});

test("a table or a file of another text is refused", () => {
  const one = largeText({ parts: ["text of some length 漢"] }).data;
  const other = largeText({ parts: ["another text, 漢, of length"] }).data;
  using withTable = openFileText({ ...one, table: other.table });
  expect(() => withTable.slice(0, 5)).toThrow(`${other.table} is the table of another text`);
  const [file] = one.files;
  using withSize = openFileText({ ...one, files: [{ path: file?.path ?? "", bytes: 5 }] });
  expect(() => withSize.read(0, 5)).toThrow(`${file?.path} has 23 bytes instead of 5`);
});

test("a text of many parts opens some of them at once", () => {
  const parts = Array.from({ length: 70 }, (_, n) => `part ${n} 漢\n`);
  const text = largeText({ parts });
  const P = parts.join("");
  expect(text.slice(0, P.length)).toBe(P);
  expect(text.large?.indexOf("part 57 漢\npart 58", 0)).toBe(P.indexOf("part 57"));
  expect(text.slice(3, 9)).toBe(P.slice(3, 9));
});

test("offsets over 2^31 and 2^32 are exact, in bytes and in UTF-16 units", () => {
  const page = (text: string) => Buffer.concat([Buffer.alloc(PAGE_BYTES - Buffer.byteLength(text)), Buffer.from(text)]);
  const border = (bytes: number) => bytes / PAGE_BYTES;
  const first = "漢".repeat(21_845);
  const pages = new Map([
    [0, page(first)],
    [border(2 ** 31) - 1, page("\nbefore 2^31 bytes 😀")],
    [border(2 ** 31), page("\nbehind é 2^31\n")],
    [border(2 ** 32) - 1, page("\nbefore 2^32 bytes 😀")],
    [border(2 ** 32) + 1, page("\nbehind é 2^32\n")],
  ]);
  const count = border(2 ** 32) + 3;
  const data = sparseText(folderWith(), pages, count);
  expect(statSync(data.files[0]?.path ?? "").blocks * 512).toBeLessThan(2 ** 20);
  using text = openFileText(data);
  const lostUnits = { first: 2 * 21_845, smile: 2, e: 1 };
  expect(text.length).toBe(count * PAGE_BYTES - lostUnits.first - 2 * (lostUnits.smile + lostUnits.e));
  const unit31 = 2 ** 31 - lostUnits.first - lostUnits.smile;
  expect(text.unitAt(2 ** 31)).toBe(unit31);
  expect(text.byteAt(unit31)).toBe(2 ** 31);
  expect(text.slice(unit31 - 9, unit31 + 1)).toBe(" bytes 😀\0");
  expect(text.lines.at(2 ** 31)).toEqual({ newlines: 1, start: 2 ** 31 - Buffer.byteLength("before 2^31 bytes 😀") });
  const unit32 = 2 ** 32 - lostUnits.first - 2 * lostUnits.smile - lostUnits.e;
  expect(text.unitAt(2 ** 32)).toBe(unit32);
  expect(text.byteAt(unit32)).toBe(2 ** 32);
  expect(text.slice(unit32 - 2, unit32 + 1)).toBe("😀\0");
  expect(text.slice(2 ** 32, 2 ** 32 + 3)).toBe("\0\0\0");
  expect(text.byteAt(2 ** 32) - text.byteAt(2 ** 32 - 1)).toBe(1);
  const found = text.large?.indexOf("behind é 2^32", 2 ** 32 - 100_000) ?? -1;
  expect(text.slice(found, found + 14)).toBe("behind é 2^32\n");
  expect(text.byteAt(found)).toBe(2 ** 32 + 2 * PAGE_BYTES - Buffer.byteLength("behind é 2^32\n"));
  expect(text.lines.at(text.bytes)).toEqual({ newlines: 6, start: 2 ** 32 + 2 * PAGE_BYTES });
  expect(text.slice(text.length - 1, text.length + 5)).toBe("\0");
});
