import { expect, test } from "vitest";
import { openScripts } from "../../../runtime/cells/scripts.ts";

test("cells and helpers are named as tracebacks name them", () => {
  const scripts = openScripts(new Set());
  expect(scripts.cell(3, "1")).toMatchObject({
    source: "1",
    code: "1",
    filename: "<cell 3>",
    completion: true,
    declared: [],
    isTypeScript: false,
  });
  expect(scripts.helper("utils", "const a = 1").filename).toBe("<helper utils>");
});

test("columns of a cell are mapped in later cells too", () => {
  const scripts = openScripts(new Set());
  const { source } = scripts.cell(1, "class A {} f();");
  scripts.cell(2, "g()");
  const run = source.indexOf("f()") + 1;
  expect(run).toBeGreaterThan(12);
  expect(scripts.columnOf("<cell 1>", 1, run)).toBe(12);
  expect(scripts.columnOf("<cell 2>", 1, run)).toBe(run);
});

test("a cell that ran in another process is known again, with its columns and without its types", () => {
  const scripts = openScripts(new Set());
  scripts.remember(1, "let n: number; const m: string = f();");
  const run = "var n=void 0        ; var   m         = f();".indexOf("f()") + 1;
  expect(scripts.columnOf("<cell 1>", 1, run)).toBe("let n: number; const m: string = f();".indexOf("f()") + 1);
  expect(scripts.codeOf("<cell 1>")).toBe("let n        ; const m         = f();");
});

test("a cell is read once for guests that run it in turn, unless other names are reserved in one", () => {
  const asked: string[] = [];
  // The engine is asked about TypeScript, whenever such a cell is read.
  const isTaken = (source: string) => asked.push(source) === 0;
  const first = openScripts(new Set(["P"]), [], isTaken).cell(1, "let n: number; f();");
  const next = openScripts(new Set(["P"]), [], isTaken);
  expect(next.cell(2, "let n: number; f();")).toEqual({ ...first, filename: "<cell 2>" });
  expect(next.codeOf("<cell 2>")).toBe("let n        ; f();");
  expect(asked).toHaveLength(1);
  expect(() => openScripts(new Set(["P", "n"]), [], isTaken).cell(1, "let n: number; f();")).toThrow("n");
  next.cell(3, "f();");
  next.cell(4, "let n: number; f();");
  expect(asked).toHaveLength(3);
});

test("columns of a helper lose what stands before it on its first line", () => {
  const scripts = openScripts(new Set());
  const { source } = scripts.helper("h", "const f = () => g();\nf();");
  expect(scripts.columnOf("<helper h>", 1, source.indexOf("g()") + 1)).toBe(17);
  expect(scripts.columnOf("<helper h>", 2, 1)).toBe(1);
});

test("an unknown script's columns stay, and none is below one", () => {
  const scripts = openScripts(new Set());
  expect(scripts.columnOf("<cell 9>", 1, 7)).toBe(7);
  scripts.helper("h", "f()");
  expect(scripts.columnOf("<helper h>", 1, 1)).toBe(1);
});

test("a cell of the host's own gets builtins as parameters, under the name of a query", async () => {
  const scripts = openScripts(new Set(["find"]), ["find", "help"]);
  const { source, filename } = scripts.own("kept.push(await find(), help); // the end");
  const kept: unknown[] = [];
  await new Function("kept", `return ${source}`)(kept)({ find: async () => 1, help: 2 });
  expect([kept, filename]).toEqual([[1, 2], "<query>"]);
});
