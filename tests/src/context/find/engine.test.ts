import { expect, test, vi } from "vitest";
import type { Exports } from "../../../../src/context/find/wasm.ts";

vi.mock(import("../../../../src/context/find/wasm.ts"), { spy: true });
vi.mock(import("../../../../src/context/find/frequent.ts"), { spy: true });

// Another file of this worker may have loaded them without the spy.
vi.resetModules();
const { findAll, findFrom, instantiate, parse } = await import("../../../../src/context/find/engine.ts");
const { openEngine } = await import("../../../../src/context/find/wasm.ts");
const { blockOf, findsBlocks } = await import("../../../../src/context/find/frequent.ts");
const { countLiterals } = await import("../../../../src/context/find/literals.ts");

/** Makes instances with other exports in place of some. */
const withExports = (others: (real: Exports) => Partial<Exports>) => (own: object) => {
  const real = instantiate(own);
  return { ...real, ...others(real) };
};

test("parts are searched as one text, in bytes", () => {
  const haystack = ["aé", "b漢", "", "\x01\x01"].map((part) => Buffer.from(part));
  const matches = findAll("éb|漢\\x01+", haystack);
  expect(matches.map(({ start, end }) => [start, end])).toEqual([
    [1, 4],
    [4, 9],
  ]);
  expect(findFrom("\\bb|\\x01", haystack, 3)).toMatchObject({ start: 7, end: 8 });
  expect(findFrom("a", haystack, 1)).toBeUndefined();
  expect(findAll("a*", [])).toMatchObject([{ start: 0, end: 0 }]);
});

test("shared bytes are searched where they begin", () => {
  const shared = Buffer.from(new SharedArrayBuffer(64));
  shared.write("aab", 30);
  expect(findAll("a", [shared.subarray(31, 40)])).toMatchObject([{ start: 0, end: 1 }]);
});

test("text that is not ASCII leaves nothing behind", () => {
  const engine = openEngine(instantiate);
  const regex = engine.compile("zzz");
  const haystack = [Buffer.from(`${"a".repeat(100_000)}é${"a".repeat(100_000)}`)];
  engine.findAll(regex, haystack);
  const before = engine.bytes();
  for (let n = 0; n < 50; n++) engine.findAll(regex, haystack);
  expect(engine.bytes() - before).toBeLessThan(200_000);
});

test("an instance that trapped is not used again; one that refused a pattern is", () => {
  findAll("a", []);
  const opened = vi.mocked(openEngine).mock.calls.length;
  expect(() => findAll("(", [])).toThrow("unclosed group");
  expect(() => parse("(")).toThrow("unclosed group");
  findAll("a", []);
  expect(openEngine).toHaveBeenCalledTimes(opened);

  const threeGigabytes = Array<Buffer>(3000).fill(Buffer.alloc(1e6));
  expect(() => findAll("a", threeGigabytes)).toThrow(expect.objectContaining({ name: "RuntimeError" }));
  expect(findAll("a", [Buffer.from("a")])).toHaveLength(1);
  expect(openEngine).toHaveBeenCalledTimes(opened + 1);
});

test("an error that a search answers with is thrown", () => {
  const engine = openEngine(
    withExports((real) => ({
      rregex_findAt(regex, at, bytes, start) {
        const [index, ...rest] = real.rregex_findAt(regex, at, bytes, start);
        if (start !== 1) return [index, ...rest];
        real.__wbindgen_export_2.set(index, new Error("no such match"));
        return [0, index, 1];
      },
    })),
  );
  expect(() => engine.findFrom(engine.compile("a"), [Buffer.from("aa")], 1)).toThrow("no such match");
});

test("the text of a match is not copied, and that of an error is", () => {
  const engine = openEngine(instantiate);
  expect(engine.findAll(engine.compile("a+"), [Buffer.from("aaaaa start")])).toMatchObject([
    { start: 0, end: 5, value: "" },
    { start: 8, end: 9, value: "" },
  ]);
  expect(() => engine.compile("a{9999999}")).toThrow("size limit");
});

test.each<[string, (own: object) => Exports]>([
  ["with other exports", () => instantiate({ __wbindgen_memory: 1 })],
  ["without the search", withExports(() => ({ rregex_findAll: () => [0, 0, 0] }))],
  [
    "whose search starts anew",
    withExports((real) => ({ rregex_findAt: (...[regex, at, bytes]) => real.rregex_findAt(regex, at, bytes, 0) })),
  ],
])("an rregex %s is refused", (_, make) => {
  expect(() => openEngine(make)).toThrow("the installed rregex is not the pinned 1.13.1");
});

test("a processor without the instructions for blocks finds the same places", () => {
  const haystack = Buffer.from("abcab é ".repeat(20_000));
  const count = () => countLiterals(haystack, [["a", "b"]]);
  expect(count()).toBe(40_000);
  expect(blockOf).toHaveBeenCalled();
  vi.mocked(blockOf).mockClear();
  vi.mocked(findsBlocks).mockReturnValue(false);
  expect(count()).toBe(40_000);
  expect(blockOf).not.toHaveBeenCalled();
});
