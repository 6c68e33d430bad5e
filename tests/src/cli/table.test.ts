import { expect, test } from "vitest";
import { cut, table } from "../../../src/cli/table.ts";

test("columns stand under each other", () => {
  const rows = [
    ["name", "size", "last"],
    ["a", "1,000", "x"],
    ["long", "2", ""],
  ];
  expect(table(rows, ["left", "right", "left"])).toEqual(["name   size  last", "a     1,000  x", "long      2"]);
  expect(table([], ["left"])).toEqual([]);
});

test("a line is cut to a terminal, and whole elsewhere", () => {
  expect(cut("0123456789", { isTerminal: true, columns: 6 })).toBe("01234…");
  expect(cut("0123456789", { isTerminal: true, columns: 10 })).toBe("0123456789");
  expect(cut("0123456789", { isTerminal: false, columns: 6 })).toBe("0123456789");
});
