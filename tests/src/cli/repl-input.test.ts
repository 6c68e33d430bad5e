import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { complete, openHistory } from "../../../src/cli/repl/lines.ts";
import { isIncomplete } from "../../../src/cli/repl/repl.ts";
import { folderWith } from "../../support/tree.ts";

test.each([
  ...["f(", "[1,", "{ a: 1,", "{ a: 1, b:", "{ let x = 1;", "const f = () => {", "x =", "a +", "`one", "`${"],
  ...["interface Row {", "const f = (a: number) => {\n  a", "type A = {\n  n: number;"],
  ...["/* so", "await", "if (a)", "for (const a of b) {\n", "f( // open", "'a\\"],
])("%j goes on", (source) => {
  expect(isIncomplete(source)).toBe(true);
});

test.each([
  ...["1", "{ a: 1 }", "{ a: 1, b: [2] }", "{ let x = 1; }", "await f()", "return 1", "// only a comment", "f()) "],
  ...[
    "let let = 1",
    "'open string",
    "/open regex",
    "import x from 'y'",
    "{ a: 1, b: }",
    "interface Row { n: 1 }",
    "const n: number = f(1)",
  ],
])("%j is all there is", (source) => {
  expect(isIncomplete(source)).toBe(false);
});

test("completion knows builtins, their members, dot-commands and paths", () => {
  expect(complete("const n = peek_")).toEqual([["peek_doc"], "peek_"]);
  expect(complete("memory.b")).toEqual([["memory.batch"], "memory.b"]);
  expect(complete("x(")).toEqual([[], ""]);
  expect(complete(".he")).toEqual([[".help", ".helpers"], ".he"]);
  const folder = folderWith({ "docs/a.md": "", "docs/sub/b.md": "", "dot.txt": "" });
  expect(complete(`.load ${folder}/do`)[0].sort()).toEqual([`${folder}/docs/`, `${folder}/dot.txt`]);
  expect(complete(`.append ${folder}/docs/`)[0].sort()).toEqual([`${folder}/docs/a.md`, `${folder}/docs/sub/`]);
  expect(complete(".load /nowhere/at/all")).toEqual([[], "/nowhere/at/all"]);
});

test("history comes back newest first, without repeats and blanks, and is cut when it is long", () => {
  const env = { BELAY_HOME: join(folderWith(), "home") };
  const history = openHistory(env);
  for (const line of ["one", "one", "  ", "two", "one"]) history.add(line);
  expect(openHistory(env).lines).toEqual(["one", "two", "one"]);
  const lines = Array.from({ length: 2001 }, (_, index) => `line ${index}`);
  writeFileSync(join(env.BELAY_HOME, "history"), `${lines.join("\n")}\n`);
  expect(openHistory(env).lines.slice(0, 2)).toEqual(["line 2000", "line 1999"]);
  expect(openHistory(env).lines).toHaveLength(1000);
  const unusable = openHistory({ BELAY_HOME: "/dev/null/home" });
  unusable.add("lost");
  expect(unusable.lines).toEqual([]);
});
