import { closeSync, openSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { count, find } from "../../../../src/context/find/find.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";
import { SIZES, type Sizes } from "../../../../src/context/find/sizes.ts";
import { type Text, textFromString } from "../../../../src/context/text/text.ts";
import { PAGE_BYTES } from "../../../../src/platform/checked-file.ts";
import { largeText } from "../../../support/large-context.ts";
import { onePass } from "../../../support/patterns.ts";
import { refusalOf } from "../../../support/refusal.ts";

/** Pieces of a few lines, which four threads search. */
const SHARED: Partial<Sizes> = { piece: 300, alone: 0 };

/** A text in memory that is searched as one in files is. */
function byWindows(plain: string): Text {
  const { large } = largeText({ parts: ["x"] });
  return large ? { ...textFromString(plain), large } : textFromString(plain);
}

function expectOnePass(pattern: string, letters: string, text: Text, sizes: Partial<Sizes>): void {
  const compiled = compileFind(pattern, letters);
  const expected = onePass(pattern, letters, text);
  expect(find(text, compiled, 1000, undefined, sizes).matches).toEqual(expected.slice(0, 1000));
  expect(count(text, compiled, undefined, sizes)).toBe(expected.length);
}

const LINES = Array.from({ length: 3000 }, (_, n) => {
  const end = n % 3 === 0 ? "\r\n" : "\n";
  return n % 100 === 42 ? `${"x".repeat(900)} foo ${n}${end}` : `line ${n} é漢😀 ${n % 7 === 0 ? "foo" : "bar"}${end}`;
});

test.each([
  ...[
    "foo",
    "(?i)FOO|bar",
    "\\d+ foo\\b",
    "(?m)^line \\d*7 .*$",
    "\\w+",
    "x{400}",
    "(?m)$",
    "foo\\s+line",
    "nowhere",
    "[^b]{30}",
  ],
])("several threads find %s over several files in its order", (pattern) => {
  const half = LINES.length / 2;
  const text = largeText({ parts: [LINES.slice(0, half).join(""), LINES.slice(half).join("")] });
  expectOnePass(pattern, "", text, SHARED);
  expectOnePass(pattern, "", text, { ...SHARED, held: 3 });
  expectOnePass(pattern, "", text, { ...SHARED, line: 200 });
  expect(find(text, compileFind("foo", ""), 5, undefined, SHARED)).toMatchObject({ capped: true });
});

test("a search that is ended leaves nothing to the next one", () => {
  const text = largeText({ parts: [LINES.join("")] });
  for (const calls of [1, 2, 3, 5]) {
    let left = calls;
    const between = () => {
      left -= 1;
      if (left === 0) throw new Error("the time is over");
    };
    expect(() => count(text, compileFind("[lx][^z\\n]*", ""), between, SHARED)).toThrow("the time is over");
    expectOnePass("foo", "", text, SHARED);
  }
});

test("a damaged page is context_lost, and pages before it are searched", () => {
  const text = largeText({ parts: ["needle\n".repeat(50_000)] });
  const damagedPage = 3;
  const file = openSync(text.data.files[0]?.path ?? "", "r+");
  writeSync(file, "X", damagedPage * PAGE_BYTES + 100);
  closeSync(file);
  const lost = { code: "context_lost", message: expect.stringContaining(`begin at ${damagedPage * PAGE_BYTES}`) };
  for (const sizes of [
    { piece: 1000, alone: 0 },
    { piece: 1000, alone: 1000 },
    { piece: 1000, line: 2 },
  ]) {
    expect(find(text, compileFind("needle", ""), 20, undefined, sizes).matches).toHaveLength(20);
    expect(refusalOf(() => count(text, compileFind("needle", ""), undefined, sizes))).toMatchObject(lost);
  }
});

test("a match that may be longer than the largest window is a RangeError", () => {
  const text = byWindows(`${"a".repeat(3000)} ${"b".repeat(500)}z`);
  const sizes = { piece: 16, largestWindow: 1024 };
  const refusal = refusalOf(() => count(text, compileFind("a[\\s\\S]*z", ""), undefined, sizes));
  expect(refusal).toMatchObject({
    guestName: "RangeError",
    message: "find: a match of this pattern may be longer than 0 MB",
    suggestion: expect.stringContaining("[\\s\\S]{0,2000}?"),
  });
  expect(count(text, compileFind("b[\\s\\S]*z", ""), undefined, sizes)).toBe(1);
  expect(SIZES.largestWindow).toBe(128 * 2 ** 20);
});
