import { Script } from "node:vm";
import { expect, test } from "vitest";
import { eager, type Range } from "../../scripts/eager.ts";

/** The ranges of functions that end with these comments, which stand for coverage of V8. */
function marked(text: string): ReadonlySet<Range> {
  return new Set([...text.matchAll(/\/\*<\*\/(?=([\s\S]*))/g)].map(({ index }) => range(text, index + "/*<*/".length)));
}

function range(text: string, start: number): Range {
  let depth = 1;
  const marks = /\/\*([<>])\*\//g;
  marks.lastIndex = start;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    depth += mark[1] === "<" ? 1 : -1;
    if (depth === 0) return `${start}-${mark.index}`;
  }
  throw new Error("a mark has no end");
}

const MODULE = `
const early = whole(1);
/*<*/function whole(n) { return inner(n); /*<*/function inner(m) { return m + 1; }/*>*/ }/*>*/
/*<*/async function waits() { return "waited"; }/*>*/
/*<*/function* counts() { yield 1; yield 2; }/*>*/
function exec() { return "outer"; }
const parent = { base: /*<*/() => "base"/*>*/ };
const object = {
  __proto__: parent,
  /*<*/exec() { return exec(); }/*>*/,
  /*<*/async [Symbol.asyncDispose]() { return this.n; }/*>*/,
  /*<*/base() { return super.base() + " of it"; }/*>*/,
  get n() { return 5; },
  arrow: /*<*/(a, b = /*<*/() => a/*>*/) => b()/*>*/,
  late: /*<*/async () => 7/*>*/,
  named: /*<*/function fact(n) { return n < 2 ? 1 : n * fact(n - 1); }/*>*/,
};
class Kept { /*<*/method() { return 3; }/*>*/ }
{ blocked = local(); /*<*/function local() { return "in a block"; }/*>*/ }
var blocked;
result = [
  early, await waits(), [...counts()], object.exec(), await object[Symbol.asyncDispose](), object.base(), object.arrow(4),
  await object.late(), object.named(5), new Kept().method(), blocked, whole.name, object.exec.name,
  object[Symbol.asyncDispose].name, object.arrow.name, whole.length,
];
`;

const RESULT = [
  ...[2, "waited", [1, 2], "outer", 5, "base of it", 4, 7, 120, 3, "in a block"],
  ...["whole", "exec", "[Symbol.asyncDispose]", "arrow", 1],
];

/** What the module answers when it is run. */
async function resultOf(text: string): Promise<unknown> {
  const run: unknown = new Script(
    `"use strict"; (async () => { let result; ${text}; return result; })`,
  ).runInThisContext();
  return typeof run === "function" ? run() : null;
}

test("a module does the same when its functions are compiled early", async () => {
  const text = eager(MODULE, marked(MODULE));
  expect([await resultOf(MODULE), await resultOf(text)]).toEqual([RESULT, RESULT]);
  expect(text).toContain("var whole = (function (n)");
  expect(text).toContain("exec: (function ()");
  expect(eager(MODULE, new Set())).toBe(MODULE);
});

test("V8 compiles these functions with their file, and no others", () => {
  const long = Array.from({ length: 200 }, (_, n) => `sum += x * ${n}.5;`).join(" ");
  const text = `function called(x) { let sum = 0; ${long} return sum; }\nfunction other(x) { let sum = 1; ${long} return sum; }`;
  const compiled = (code: string) => new Script(code).createCachedData().length;
  const [first = ""] = text.split("\n");
  const one = compiled(eager(text, new Set<Range>([`0-${first.length}`]))) - compiled(text);
  const both = compiled(eager(text, new Set<Range>([`0-${first.length}`, `${first.length + 1}-${text.length}`])));
  expect(one).toBeGreaterThan(1000);
  expect(both - compiled(text)).toBeGreaterThan(1.8 * one);
});
