import { expect, test } from "vitest";
import { cut, table } from "../../../src/cli/render/table.ts";

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

test("a narrow terminal goes without the least important columns, and keeps the last", () => {
  const rows = [
    ["session", "size", "cost", "last"],
    ["letters", "24.1 KB", "$0.021", 'find("TODO").matches.length'],
  ];
  const columns = ["left", "right 1", "right 2", "left"] as const;
  const at = (width: number) => table(rows, columns, { isTerminal: true, columns: width });
  expect(at(80)[1]).toBe('letters  24.1 KB  $0.021  find("TODO").matches.length');
  expect(at(50)[1]).toBe('letters  24.1 KB  $0.021  find("TODO").matches.le…');
  expect(at(49)).toEqual(["session    cost  last", 'letters  $0.021  find("TODO").matches.length']);
  expect(at(41)[1]).toBe('letters  $0.021  find("TODO").matches.le…');
  expect(at(40)).toEqual(["session  last", 'letters  find("TODO").matches.length']);
  expect(at(20)[1]).toBe('letters  find("TODO…');
  expect(table(rows, columns, { isTerminal: false, columns: 20 })[1]).toContain("24.1 KB");
});
