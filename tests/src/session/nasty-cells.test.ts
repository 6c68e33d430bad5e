import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../../src/index.ts";

let session: Session;
beforeAll(async () => {
  session = await openSession({ memoryMb: 24 });
});
afterAll(() => session.close());

/** A helper of about so many characters. */
const helper = (name: string, line: string, units: number) =>
  `helpers.add(${JSON.stringify(name)}, Array.from({ length: ${Math.ceil(units / line.length)} }, (_, i) => ${JSON.stringify(line)}.replaceAll("N", i)).join("\\n"))`;

const CELLS = {
  "lists until the heap is full": "var a = []; for (;;) a.push(new Array(1e5).fill(1))",
  "objects until the heap is full": "var o = []; for (;;) o.push({ at: o.length, more: [o.length] })",
  "strings until the heap is full": "var s = []; for (;;) s.push('x'.repeat(2e5) + s.length)",
  "almost all of the heap": "var most = []; for (let i = 0; i < 27; i++) most.push(new Array(1e5).fill(i)); 1",
  "memory until it is full": "for (let i = 0; ; i++) memory.put('k' + i, 'v'.repeat(300_000))",
  "a long list in memory": "memory.put('list', Array.from({ length: 2e5 }, (_, i) => i)); 1",
  "a helper of 250 KB": helper("large", "function large_N(a, b) { return [a + b * N, { a, b }] }", 250_000),
  "a helper of 900 KB": helper(
    "larger",
    `const larger_N = { at: N, text: '${"text of N, with some more in it, ".repeat(20)}' };`,
    900_000,
  ),
  "a helper of many names": helper("names", "const tiny_N=()=>N;", 60_000),
  "a helper that takes memory": "helpers.add('hungry', 'const hungry = new Array(1e6).fill(1);')",
  "a helper that fills the heap":
    "helpers.add('fills', 'globalThis.kept = []; for (;;) kept.push(new Array(1e5).fill(1));')",
  "a helper that throws": "helpers.add('throws', 'throw new Error(\"no\");')",
  "a helper that does not end": "helpers.add('endless', 'for (;;);')",
  "a loop without end": "for (;;);",
  "a loop without end that catches": "for (;;) try { for (;;); } catch {}",
  "jobs without end": "(function again() { Promise.resolve().then(again) })(); await new Promise(() => {})",
  "a promise that nothing settles": "await new Promise(() => {})",
  "recursion without end": "(function f() { f() })()",
  "a deep object": "var deep = {}; for (let i = 0; i < 1e5; i++) deep = { deep }; 1",
  "then for every object": "Object.prototype.then = (resolve) => resolve(5)",
  "then for every object, for ever": "Object.defineProperty(Object.prototype, 'then', { value: () => {} })",
  "value for every object, for ever": "Object.defineProperty(Object.prototype, 'value', { get() { throw 1 } }); 1",
  "setters for every list": "Object.defineProperty(Array.prototype, '0', { set() { throw 1 } }); 1",
  "no language": "Object = Array = Promise = Reflect = JSON = Map = Error = String = globalThis = null; 1",
  "no methods":
    "for (const C of [Array, String, Map, Set, Promise, Function, WeakMap]) for (const k of Reflect.ownKeys(C.prototype)) try { C.prototype[k] = null } catch {}; 1",
  "a frozen global object": "Object.freeze(globalThis)",
  "a global object that takes nothing new": "Object.preventExtensions(globalThis); 1",
  "a hostile prototype of the global object":
    "Object.setPrototypeOf(globalThis, new Proxy({}, { has: () => true, get() { throw 1 }, set() { throw 1 } })); 1",
  "stacks that throw": "Error.prepareStackTrace = () => { throw 1 }; throw new Error()",
  "an odd value": "result = { toJSON() { throw { get name() { throw 1 } } } }",
} as const;

const names = Object.keys(CELLS);
const cellNamed = new Map<string, string>(Object.entries(CELLS));

/** Runs cells in a fresh guest, then `1+1`: again for each helper that failed, since it is left out from then on. */
async function afterAllOf(cells: readonly string[]): Promise<string> {
  await session.load({ text: "text", name: "text.txt" });
  for (const name of cells) {
    const limits = name.includes("without end") ? { max_execution_ms: 100 } : {};
    await session.exec(cellNamed.get(name) ?? "", { limits });
  }
  const limits = cells.includes("a helper that does not end") ? { max_execution_ms: 1000 } : {};
  for (let left = cells.length; ; left--) {
    const answer = await session.exec("1+1", { limits });
    if (answer.success) return JSON.stringify(answer.result_json);
    const isHelper = answer.warnings.some((warning) => warning.startsWith("helper_set_aside: "));
    if (!isHelper || left === 0) return `${answer.error_code}: ${answer.error_message}`;
  }
}

test("a heap that is too full for large helpers is not kept: the state before is", async () => {
  await session.load({ text: "text", name: "text.txt" });
  await session.exec(cellNamed.get("a helper of 250 KB") ?? "");
  await session.exec("const kept = 21");
  const full = await session.exec(cellNamed.get("lists until the heap is full") ?? "");
  const warnings = [expect.stringMatching(/^state_restored: checkpoint /)];
  expect(full).toMatchObject({ success: false, error_code: "memory_limit_exceeded", warnings });
  const result_json = [21, "undefined", 3];
  expect(await session.exec("[kept, typeof a, large_2(1, 1)[0]]")).toMatchObject({ result_json, warnings: [] });
});

test("a state with little room that still has enough is kept", async () => {
  await session.load({ text: "text", name: "text.txt" });
  const tight = await session.exec("var most = new Array(1.4e6).fill(7); most.length");
  expect(tight).toMatchObject({ success: true, warnings: [] });
  expect(await session.exec("most[1e6]")).toMatchObject({ result_json: 7, warnings: [] });
});

test("memory and helpers from outside that leave no room are refused, and the state is that before", async () => {
  await session.load({ text: "text", name: "text.txt" });
  await session.exec("var most = new Array(2.2e6).fill(7)");
  const code = Array.from({ length: 5000 }, (_, i) => `const tiny_${i}=()=>${i};`).join("\n");
  await expect(session.helpers.add("names", code)).rejects.toMatchObject({ code: "memory_limit_exceeded" });
  expect(await session.helpers.list()).toEqual([]);
  expect(await session.exec("most[1e6]")).toMatchObject({ result_json: 7, warnings: [] });
});

test("a helper that fails is told of once as an error, then left out until it is added again", async () => {
  await session.load({ text: "text", name: "text.txt" });
  await session.exec(
    "helpers.add('good', 'const good = 1;'); helpers.add('bad', 'const bad = 2;\\nthrow new Error(\"no\");')",
  );
  expect(await session.exec("good")).toMatchObject({
    error_message: "Error: no",
    traceback: "Error: no\n    at <helper bad>:2:11",
    suggestion: expect.stringMatching(
      /^The helper bad is left out from now on.* or remove it with `helpers.remove\("bad"\)`\.$/,
    ),
    warnings: ["helper_set_aside: bad: Error: no"],
  });
  const later = await session.exec("[good, typeof bad, helpers.list().length]");
  expect(later).toMatchObject({ result_json: [1, "undefined", 2], warnings: ["helper_set_aside: bad: Error: no"] });
  const listed = (await session.helpers.list()).map(({ name, set_aside }) => [name, set_aside]);
  expect(listed).toEqual([
    ["good", undefined],
    ["bad", "Error: no"],
  ]);
  expect(await session.exec("helpers.list()[1].set_aside")).toMatchObject({ result_json: "Error: no" });
  await session.exec("helpers.add('bad', 'const bad = 2;')");
  expect(await session.helpers.list()).not.toContainEqual(expect.objectContaining({ set_aside: expect.anything() }));
  expect(await session.exec("bad")).toMatchObject({ result_json: 2, warnings: [] });
});

test("after any sequence of nasty cells, 1+1 runs", { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(names, { minLength: 2, maxLength: 3 }), async (cells) => {
      expect(await afterAllOf(cells)).toBe("2");
    }),
    {
      numRuns: 4,
      examples: [
        [["a helper of 900 KB", "lists until the heap is full"]],
        [["a helper that fills the heap", "then for every object, for ever"]],
      ],
    },
  );
});
