import { expect, test } from "vitest";
import { readWorkflow } from "../../../src/workflow/index.ts";
import { refusalOf } from "../../support/refusal.ts";

const META = 'export const meta = { name: "a", description: "does a" };';

function refusedFor(source: string): string {
  const { code, message, suggestion } = refusalOf(() => readWorkflow(source, "a.js"));
  expect(code).toBe("invalid_argument");
  expect(suggestion).toMatch(/\S/);
  return message;
}

test("meta is read as it is written, and the body keeps every place", () => {
  const source = [
    "#!/usr/bin/env belay",
    "// what it does",
    "export const meta = {",
    "  name: 'audit', // the name",
    "  description: `two",
    "lines`,",
    '  "whenToUse": "often", /* and */',
    "  phases: [{ title: 'Find', detail: 'all of it', model: 'haiku' }, { title: 'Verify' }],",
    "  retries: -1, on: true, none: null, 3: [],",
    "}",
    "const found = await agent('x')",
    "return found",
  ].join("\n");
  const { meta, body, isTypeScript, ...script } = readWorkflow(source, "a.js");
  expect(meta).toEqual({
    name: "audit",
    description: "two\nlines",
    whenToUse: "often",
    phases: [{ title: "Find", detail: "all of it", model: "haiku" }, { title: "Verify" }],
  });
  expect(script.source).toBe(source);
  expect(isTypeScript).toBe(false);
  expect(body).toBe(source.replace("#!", "//").replace("export", "      "));
});

test.each([
  [
    "const meta = { name: 'a', description: 'b' }",
    "a.js: the first statement must be `export const meta = { name, description }`",
  ],
  ["", "a.js: the first statement must be `export const meta = { name, description }`"],
  [
    "await agent('x');\nexport const meta = { name: 'a', description: 'b' }",
    "a.js: the first statement must be `export const meta = { name, description }`",
  ],
  [
    "export const meta = { name: 'a', description: 'b' }, other = 1",
    "a.js: the first statement must be `export const meta = { name, description }`",
  ],
  [
    "export default { name: 'a', description: 'b' }",
    "a.js: the first statement must be `export const meta = { name, description }`",
  ],
  ["export const meta = { name: 'a' + 'b', description: 'c' }", "a.js:1:29: meta must be a literal"],
  [`export const meta = { name: \`a\`, description: \`\${1}\` }`, "a.js:1:47: meta must be a literal"],
  ["export const meta = { name: 'a', ...more }", "a.js:1:34: meta must be a literal"],
  ["export const meta = { name: 'a', ['b']: 1 }", "a.js:1:34: meta must be a literal"],
  ["export const meta = { name: 'a', get b() { return 1 } }", "a.js:1:34: meta must be a literal"],
  ["export const meta = { name: /a/, description: 'c' }", "a.js:1:29: meta must be a literal"],
  ["export const meta = []", "a.js:1:14: meta.name is missing"],
  ["export const meta = { description: 'c' }", "a.js:1:14: meta.name is missing"],
  ["export const meta = { name: '', description: 'c' }", "a.js:1:14: meta.name must not be empty"],
  ["export const meta = { name: 'a', description: 3 }", "a.js:1:14: meta.description must be a text"],
  [
    "export const meta = { name: 'a', description: 'b', phases: ['Find'] }",
    "a.js:1:14: meta.phases.0 must be { title }",
  ],
  [`${META}\nimport fs from "fs";`, "a.js:2:1: a workflow has no modules, and exports only meta"],
  [`${META}\nexport const b = 1;`, "a.js:2:1: a workflow has no modules, and exports only meta"],
  [`import fs from "fs";\n${META}`, "a.js: the first statement must be `export const meta = { name, description }`"],
  [`${META}\n\nconst = 1`, "a.js:3:7: Unexpected token"],
  [`${META}\r\n\r\nconst = 1`, "a.js:3:7: Unexpected token"],
  [`\uFEFFexport const meta = 1 +;`, "a.js:1:24: Unexpected token"],
  [`${META} let x = ;`, "a.js:1:67: Unexpected token"],
])("%j is refused with its place", (source, message) => {
  expect(refusedFor(source)).toBe(message);
});

test("a script that nests too deeply is refused, and the next one is read", () => {
  expect(refusedFor(`${META}\n${"(".repeat(100_000)}`)).toContain("Not enough stack space");
  expect(refusedFor(`${META}\nconst a: number = ${"[".repeat(300)}1${"]".repeat(300)};`)).toContain("nests too deeply");
  expect(readWorkflow(META, "a.js").meta.name).toBe("a");
});

test("nothing of a script runs while it is read", () => {
  expect(readWorkflow(`${META}\nthrow new Error("ran");`, "a.js").meta.name).toBe("a");
});

test("types are left out, and every place stays", () => {
  const source = [
    'import type { Meta } from "somewhere";',
    "// a word",
    'export const meta: Meta = { name: "t", description: "types" } as const;',
    "interface Finding { file: string }",
    "const all = await parallel<Finding>(args.files.map((file: string) => () => agent(file)));",
    "return all as Finding[]",
  ].join("\r\n");
  const { meta, body, isTypeScript } = readWorkflow(source, "a.ts");
  expect(meta.name).toBe("t");
  expect(isTypeScript).toBe(true);
  expect(body).toHaveLength(source.length);
  const places = (text: string) =>
    ["const meta", "const all", "args.files", "agent(file)", "return all"].map((part) => text.indexOf(part));
  expect(places(body)).toEqual(places(source));
  expect(body).not.toMatch(/Finding|Meta|export|import/);
  expect(body.split("\r\n")).toHaveLength(6);
});

test.each([
  [`${META}\nenum Color { Red }`, "a.js:2:1: TypeScript enum is not supported"],
  [`${META} enum Color { Red }`, "a.js:1:59: TypeScript enum is not supported"],
  [`${META}\nconst a: number = ;`, "a.js:2:19: Expression expected"],
  [`${META}\nconst a: number = 1;\nexport const b = 1;`, "a.js:3:1: a workflow has no modules, and exports only meta"],
  [`${META}\nconst a: number = 1;\nimport fs from "fs";`, "a.js:3:1: a workflow has no modules, and exports only meta"],
  [`export const meta: any = { name: f() };`, "a.js:1:34: meta must be a literal"],
])("%j is refused with its place in the TypeScript", (source, message) => {
  expect(refusedFor(source)).toBe(message);
});
