import vm from "node:vm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CellSyntaxError } from "../../../runtime/cells/checks.ts";
import { HELPER_PREFIX, transformHelper } from "../../../runtime/cells/helper-script.ts";
import { openScripts, transformCell } from "../../../runtime/cells/scripts.ts";
import { openSession, type Session } from "../../../src/index.ts";
import { type Program, programs } from "../../support/programs.ts";

const reserved = new Set(["find", "P"]);
const transformed = (source: string) => transformCell(source, reserved).source;

function errorOf(source: string): CellSyntaxError {
  try {
    transformCell(source, reserved);
  } catch (error) {
    if (error instanceof CellSyntaxError) return error;
    throw error;
  }
  throw new Error(`${source} was accepted`);
}

test.each([
  ["const a = 1", "var   a = 1"],
  ["let a = 1, b = 2", "var a = 1, b = 2"],
  ["let a;", "var a=void 0;"],
  ["let a, b = 1, c;", "var a=void 0, b = 1, c=void 0;"],
  ["class A {}", "var A=class A {};"],
  ["class A {} class B extends A {}", "var A=class A {}; var B=class B extends A {};"],
  ["var a; function f() {}", "var a; function f() {}"],
  ["{ let a; const b = 1; class C {} }", "{ let a; const b = 1; class C {} }"],
  ["for (const a of []) { let b }", "for (const a of []) { let b }"],
  ["a: b: while (1) { continue a }", "a: b: while (1) { continue b }"],
  [
    "long: b: c: for (;;) d: for (;;) { continue long; continue d }",
    "long: b: c: for (;;) d: for (;;) { continue c; continue d }",
  ],
  [
    "const f = () => { a: b: do { continue a; break a } while (0) }",
    "var   f = () => { a: b: do { continue b; break a } while (0) }",
  ],
  ["a: { b: for (;;) break a }", "a: { b: for (;;) break a }"],
  ["const f = () => { let x; class Y {} }", "var   f = () => { let x; class Y {} }"],
])("%s becomes %s", (source, expected) => {
  expect(transformed(source)).toBe(expected);
});

test("what acorn cannot read is left to the engine", () => {
  const source = "let a = ;\nclass {";
  expect(transformCell(source, reserved)).toMatchObject({ source, completion: true });
});

test.each([
  ["1", true],
  ["x = 1;", true],
  ["await f()", true],
  ["{ a: 1 }", true],
  ["let x = 1", false],
  ["if (1) 2", false],
  ["1;;", false],
  ["function f() {}", false],
  ["", false],
])("%j ends in an expression: %s", (source, completion) => {
  expect(transformCell(source, reserved).completion).toBe(completion);
});

test.each([
  ["return 1", 1, 1],
  ["  if (a) {\n    return\n}", 2, 5],
  ["f();\n\tconst find = 1", 2, 8],
  ["const { a, P } = x", 1, 7],
  ["for (var find of x);", 1, 10],
  ["import x from 'x'", 1, 1],
  ["a; import x from 'x'", 1, 4],
  ["{ a: import('x') }", 1, 6],
  ["f();\n ([a]) => { let a }", 2, 17],
  ["class eval {}", 1, 7],
  ["f(class arguments {})", 1, 3],
  ["f(() => import('x'))", 1, 9],
])("%j is refused at %i:%i", (source, line, column) => {
  expect(errorOf(source)).toMatchObject({ line, column });
});

test("imports are sandbox violations, the rest are errors of the cell", () => {
  expect(errorOf("import 'x'").code).toBe("sandbox_violation");
  expect(errorOf("import('x')").code).toBe("sandbox_violation");
  expect(errorOf("return").code).toBe("js_error");
});

test("a helper's names are read live, and its columns are those of its author", () => {
  const helper = transformHelper("let n = 0; const up = () => ++n;", reserved);
  const names = new Function(`return ${helper.source}`)();
  names.up();
  expect([names.n, Object.keys(names)]).toEqual([1, ["n", "up"]]);
  expect(helper.source.slice(HELPER_PREFIX.length)).toMatch(/^let n = 0;/);
});

test("names of the machine stay inside a helper of an earlier version that declares them", () => {
  const names = new Function(`return ${transformHelper("var result = 5, Map = 1, mine = 2;", reserved).source}`)();
  expect(Object.keys(names)).toEqual(["mine"]);
});

test("a cell's top-level names are known, also those that a block hoists", () => {
  const source = "const { a, b: [c] } = x; function d() { var no } class E {}; if (1) { var f; let no2 }";
  expect(transformCell(source, reserved).declared).toEqual(["a", "c", "d", "E", "f"]);
  expect(transformCell("let a = ;", reserved).declared).toEqual([]);
});

const piece = fc.constantFrom(
  "let a;",
  "let b",
  "let c, d = 1;",
  "const e = [];",
  "class F {}",
  "class G { m() { return 1 } }",
  "var h = 2;",
  "function i() {}",
  "{ let a }",
  "/* comment */",
  "'use strict';",
  "if (0) class_;",
  "\n",
);

test("a continue that names another label keeps the columns behind it", () => {
  const script = transformCell("long: a: while (1) { f(); continue long; g() }", reserved);
  expect(script.source).toBe("long: a: while (1) { f(); continue a; g() }");
  expect([22, 39].map((column) => script.columnOf(1, column))).toEqual([22, 42]);
});

test("a cell of an earlier build that this one refuses keeps its columns", () => {
  const scripts = openScripts(reserved);
  scripts.remember(1, "f(([a]) => { let a });");
  expect(scripts.columnOf("<cell 1>", 1, 9)).toBe(9);
  expect(() => scripts.cell(2, "f(([a]) => { let a });")).toThrow("already been declared");
});

test("every character of a cell keeps its line, and its column through columnOf", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const named = pieces.map((text, i) => text.replace(/\b([a-iFG])\b/g, `$1${i}`));
      const source = `${named.map((text, i) => `${text} ${text === "\n" ? "" : "\n".repeat(i % 2)}mark${i}();`).join("")} end();`;
      const script = transformCell(source, reserved);
      const written = source.split("\n");
      const run = script.source.split("\n");
      expect(run.length).toBe(written.length);
      written.forEach((text, index) => {
        for (const { 0: mark, index: at } of text.matchAll(/mark\d+|end/g)) {
          const column = (run[index] ?? "").indexOf(`${mark}(`) + 1;
          expect(script.columnOf(index + 1, column)).toBe(at + 1);
        }
      });
    }),
    { numRuns: 100 },
  );
});

test("a list of any length has its place in a cell", () => {
  const list = `[${"1,".repeat(150_000)}]`;
  expect(transformCell(`let all = ${list};`, new Set()).source).toContain(list);
});

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session.close());

/** A cell's value as JSON, or the name of what it threw. */
async function inBelay(source: string): Promise<string> {
  const done = await session.exec(source);
  return done.success ? JSON.stringify(done.result_json) : done.error_name;
}

function inNode(source: string, context: vm.Context): string {
  try {
    return JSON.stringify(vm.runInContext(source, context) ?? null) ?? "null";
  } catch (error) {
    return typeof error === "object" && error !== null && "name" in error ? String(error.name) : "Uncaught";
  }
}

let runs = 0;
const fresh = () => `v${++runs}_`;

/** Statements in a row. Some end with a line break alone, if that ends them. */
function joined(statements: readonly string[], breaks: fc.Stream<string>): string {
  return statements.reduce((text, next, index) => {
    const between = breaks.next().value;
    const runsOn = /^[([`]/.test(next) && !/^let v\d+( = .*)?, v\d+$/s.test(statements[index - 1] ?? "");
    return `${text}${runsOn ? ";\n" : between}${next}`;
  });
}

test("a cell gives what Node's own evaluation of the same text gives", async () => {
  const breaks = fc.infiniteStream(fc.constantFrom(";\n", "\n", "; ", " // why\n", ";\n\n"));
  await fc.assert(
    fc.asyncProperty(programs("v"), breaks, async (program, between) => {
      // Names of its own for each run: a `var` without a value keeps what an earlier cell left.
      const prefix = fresh();
      const text = joined([...program.statements.map(({ declared }) => declared), program.shown], between);
      const source = text.replace(/\bv(\d+)\b/g, `${prefix}$1`);
      expect(await inBelay(source), source).toBe(inNode(source, vm.createContext({})));
    }),
    { numRuns: 25 },
  );
});

test("a later cell that declares names again gives what assignments give", async () => {
  const pairs = programs("v").chain((first) => programs("v", first.names).map((second) => [first, second] as const));
  await fc.assert(
    fc.asyncProperty(pairs, async ([first, second]) => {
      const prefix = fresh();
      const rename = (text: string) => text.replace(/\bv(\d+)\b/g, `${prefix}$1`);
      const cell = ({ statements, shown }: Program) =>
        rename([...statements.map(({ declared }) => declared), shown].join(";\n"));
      const oracle = ({ statements, shown }: Program) =>
        rename([...statements.map(({ assigned }) => assigned), shown].join(";\n"));
      const context = vm.createContext({});
      for (const program of [first, second]) {
        expect(await inBelay(cell(program)), cell(program)).toBe(inNode(oracle(program), context));
      }
    }),
    { numRuns: 25 },
  );
});
