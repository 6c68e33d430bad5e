import module from "node:module";
import fc from "fast-check";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { CellSyntaxError } from "../../../runtime/cells/checks.ts";
import { transformHelper } from "../../../runtime/cells/helper-script.ts";
import { transformCell } from "../../../runtime/cells/scripts.ts";
import { openSession, type Session } from "../../../src/index.ts";

const reserved = new Set(["find", "P"]);

function errorOf(run: () => unknown): CellSyntaxError {
  try {
    run();
  } catch (error) {
    if (error instanceof CellSyntaxError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

test("Node's warning that the function is experimental is not heard", () => {
  const warn = vi.spyOn(process, "emitWarning");
  expect(transformCell("var a: number = 1", reserved)).toMatchObject({
    source: "var a         = 1",
    isTypeScript: true,
    declared: ["a"],
  });
  expect(warn).not.toHaveBeenCalled();
});

/** Statements of TypeScript, alone and next to each other. */
const STATEMENTS = [
  "var a1: number = 1",
  "var b1 = JSON.parse('{}') as { n: number }",
  "interface Row {\n  id: string;\n  n?: number }",
  "type Übung = 'é中😀' | string[]",
  "function f<T extends object>(this: any, x: T, y?: number, ...z: string[]): x is T { return y! > z.length }",
  "abstract class C<T> implements D { private readonly x: number = 1; abstract g(): void; declare y: T }",
  "declare function g(n: number): void",
  "var h = async <T,>(x: T): Promise<T> => await x",
  "var m = new Map<string, Array<[number, string]>>()",
  "a1 satisfies number",
  "var plain = a1 ? `<b>` : (a1 as any); a < b > (c)",
  "import type { A } from 'a'",
];

test("types become blanks: what runs stands where it stood", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(STATEMENTS, { minLength: 1 }), (statements) => {
      const source = statements.join("\n");
      const { source: ran, columnOf } = transformCell(source, reserved);
      const lines = source.split("\n");
      expect(ran.split("\n")).toHaveLength(lines.length);
      for (const [at, text] of ran.split("\n").entries()) {
        // `var` and what follows it may be the cell's own way to keep a class.
        for (const { 0: word, index } of text.replace(/^ *var C=/, (own) => " ".repeat(own.length)).matchAll(/\w+/g)) {
          expect(lines[at]?.slice(columnOf(at + 1, index + 1) - 1).startsWith(word)).toBe(true);
        }
      }
    }),
    { numRuns: 40 },
  );
});

test.each(["a < b > (c)", "var type = 1, as = 2, satisfies = 3; type\nas\nsatisfies", "f(a < b, c > (1))", "{ a: 1 }"])(
  "JavaScript keeps its meaning: %s",
  (source) => {
    expect(transformCell(source, reserved)).toMatchObject({ isTypeScript: false });
    expect(transformCell(source, reserved).source).toContain(source);
  },
);

test("what the engine takes is JavaScript, even if acorn refuses it", () => {
  const source = "var a: number = 1";
  expect(transformCell(source, reserved, () => true)).toMatchObject({ source, isTypeScript: false });
});

test("an object in TypeScript is the cell's value, as it is in JavaScript", () => {
  const source = "{ total: 3 as number, rows: [] as string[] }";
  const { source: ran, completion } = transformCell(source, reserved);
  expect(ran).toBe(`(${source.replaceAll(/ as \w+(?:\[\])?/g, (type) => " ".repeat(type.length))}\n)`);
  expect(completion).toBe(true);
});

test.each([
  ["enum Color { Red }", /^TypeScript enum is not supported$/, 1, 1, /Write an object for the enum/],
  ["var a: number\n namespace N { export const a = 1 }", /namespace declaration/, 2, 2, /Write an object or plain/],
  ["class A { constructor(private x: number) {} }", /parameter property/, 1, 31, /assign it in the constructor/],
  ["var n = <number>3", /angle-bracket/, 1, 9, /`value as Type`/],
  ["import fs = require('fs')", /import equals/, 1, 1, /no modules here/],
  ["var n: number = 1\nvar m: string = f(1;", /^Expected ',', got ';'$/, 2, 20, /Fix the TypeScript/],
  ["var n: number = 1; return n", /^return is not allowed/, 1, 20, /assign to result/],
  ["var n: number = 1\nvar find: string", /find is a builtin/, 2, 5, /my_find/],
  ["import { a } from 'a'; var n: number = 1", /^import is not available/, 1, 1, /no modules here/],
  ["export const n: number = 1", /^export is not available/, 1, 1, /without export/],
  ["export default async function () { return 1 }", /^export is not available/, 1, 1, /without export/],
  [`var n: any = ${"[".repeat(300)}1${"]".repeat(300)}`, /nests too deeply/, 1, 1, /plain JavaScript/],
])("%s is refused at its place, with a cure", (source, message, line, column, suggestion) => {
  const error = errorOf(() => transformCell(source, reserved));
  expect(error).toMatchObject({ line, column, message: expect.stringMatching(message) });
  expect(error.suggestion).toMatch(suggestion);
  const ofHelper = errorOf(() => transformHelper(source, reserved));
  expect(ofHelper.message).toMatch(message);
});

test.each(["import re\nprint(re.findall('a', P))", "const b = ;", "print('never'", "Here is the code", "x = 1 +"])(
  "what is neither JavaScript nor TypeScript is left to the engine: %s",
  (source) => {
    expect(transformCell(source, reserved)).toMatchObject({ source, isTypeScript: false });
  },
);

test("a Node that was built without the parser says so of types, and of nothing else", () => {
  const missing = Object.assign(new Error("no"), { code: "ERR_NO_TYPESCRIPT" });
  vi.spyOn(module, "stripTypeScriptTypes").mockImplementation(() => {
    throw missing;
  });
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const error = errorOf(() => transformCell("1;\nvar n: number = 1", reserved));
  expect(error).toMatchObject({ line: 2, column: 6, message: expect.stringContaining("built without its parser") });
  expect(transformCell("x = 1 +", reserved)).toMatchObject({ isTypeScript: false });
});

test("a helper may be TypeScript", () => {
  const helper = transformHelper("const twice = (n: number): number => n * 2; interface Row { a: 1 }", reserved);
  expect(helper).toMatchObject({ names: 1, isTypeScript: true });
  expect(helper.source).toContain("const twice = (n        )         => n * 2;");
});

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session.close());

test("a parser that overflows ends the exec with a message, and the session goes on in another thread", async () => {
  await session.exec("var before: string = 'kept'");
  const nested = `${"a=>".repeat(60_000)}1`;
  const refused = await session.exec(`var f: number = ${nested}`);
  expect(refused).toMatchObject({
    error_code: "js_error",
    error_message: "SyntaxError: TypeScript in this cell nests too deeply to be read",
    warnings: [expect.stringMatching(/^state_restored/)],
  });
  const added = await session.exec(
    `var seen; try { helpers.add('h', \`const f: number = ${nested}\`) } catch (e) { seen = e.message }; seen`,
  );
  expect(added.result_json).toMatch(/nests too deeply/);
  const after = await session.exec("const again: string = before; again");
  expect(after).toMatchObject({ result_json: "kept", warnings: ["typescript_stripped"] });
});

test("a parser that takes too long is ended by the exec's time", async () => {
  await session.exec("before = 'kept'");
  const slow = `var x: number = ${"a ? (b) : c => ".repeat(60)}1`;
  const ended = await session.exec(slow, { limits: { max_execution_ms: 100 } });
  expect(ended).toMatchObject({ error_code: "js_timeout" });
  expect(await session.exec("const after: string = before; after")).toMatchObject({ result_json: "kept" });
});
