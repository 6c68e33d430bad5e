import fc from "fast-check";
import stringWidth from "string-width";
import { expect, test } from "vitest";
import { type Data, dataTable } from "../../../src/cli/render/data-table.ts";
import { fitted } from "../../../src/cli/render/table.ts";
import { anyCharacter } from "../../support/any-character.ts";

const linesOf = (data: Data, columns?: number) =>
  [...dataTable(data, { isTerminal: columns !== undefined, columns: columns ?? 0 })].map((line) => line.slice(0, -1));

test("columns stand under each other by what they take on a terminal, and numbers to the right", () => {
  const names = ["id", "name", "note"];
  const rows = [
    [7, "日本語", "x"],
    [1200, "e\u0301te\u0301", null],
    [-5, "👨‍👩‍👧", undefined],
    [null, "", "two\nlines \u001b[31m"],
  ];
  expect(linesOf({ names, rows })).toEqual([
    "  id  name    note",
    "   7  日本語  x",
    "1200  e\u0301te\u0301",
    "  -5  👨‍👩‍👧",
    "              two\\nlines \\x1b[31m",
  ]);
});

test("rows without names, of different lengths, and values of all kinds", () => {
  expect(linesOf({ names: [], rows: [[1, "a", { b: [true] }], [22], []] })).toEqual([' 1  a  {"b":[true]}', "22", ""]);
  expect(linesOf({ names: [], rows: [] })).toEqual([]);
});

test("texts that are numbers stand to the right, and what only looks so does not", () => {
  const rows = [
    ["1", [1], "1.2.3", "1e3"],
    ["-200.50", [20], "4", "x"],
  ];
  expect(linesOf({ names: [], rows })).toEqual(["      1  [1]   1.2.3  1e3", "-200.50  [20]  4      x"]);
});

test("a terminal cuts the widest columns, and a file or pipe has all", () => {
  const rows = [["a".repeat(50), 3, "b".repeat(30), "c".repeat(9)]];
  const names = ["one", "n", "two", "three"];
  expect(linesOf({ names, rows }, 40)).toEqual([
    "one           n  two           three",
    `${"a".repeat(11)}…  3  ${"b".repeat(11)}…  ${"c".repeat(9)}`,
  ]);
  expect(linesOf({ names, rows }, 200)).toEqual(linesOf({ names, rows }));
  expect(linesOf({ names: ["one"], rows: [["x".repeat(5000)]] }, 20)[1]).toBe(`${"x".repeat(19)}…`);
});

test("columns that have no room are counted in a last line", () => {
  const names = Array.from({ length: 30 }, (_, at) => `column${at}`);
  expect(linesOf({ names, rows: [names.map((_, at) => at)] }, 40)).toEqual([
    "column0  column1  column2  column3",
    "      0        1        2        3",
    "… and 26 more columns; a wider terminal or a pipe has them all",
  ]);
});

test("no line of any data is wider than its terminal, unless that is narrower than a column can be", () => {
  const value = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 40 }), fc.integer(), fc.constant(null));
  const rows = fc.array(fc.array(value, { maxLength: 8 }), { maxLength: 5 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 20, max: 100 }), (given, columns) => {
      const lines = linesOf({ names: [], rows: given }, columns).filter((line) => !line.startsWith("… and "));
      for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    }),
  );
});

test("a text is cut at whole characters", () => {
  expect(fitted("日本語", 6)).toBe("日本語");
  expect(fitted("日本語", 5)).toBe("日本…");
  expect(fitted("日本語", 4)).toBe("日…");
  expect(fitted("a👨‍👩‍👧b", 3)).toBe("a…");
  expect(fitted("e\u0301e\u0301e\u0301", 2)).toBe("e\u0301…");
});
