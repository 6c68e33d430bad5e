import fc from "fast-check";
import { expect, test } from "vitest";
import { skippedLines, skippedSince } from "../../../src/cli/render/loaded.ts";
import { jsonParts, prettyJson, showValue } from "../../../src/cli/render/value.ts";
import { skippedStats } from "../../../src/context/index.ts";
import type { Json } from "../../../src/index.ts";
import { visible } from "../../../src/platform/visible.ts";
import { recorded } from "./recorded.ts";

const json = fc.jsonValue().map((value): Json => JSON.parse(JSON.stringify(value)));

test("pretty JSON is the same JSON, and its parts are the whole of it", () => {
  fc.assert(
    fc.property(json, fc.integer({ min: 1, max: 120 }), (value, width) => {
      const text = prettyJson(value, width);
      expect(JSON.parse(text)).toEqual(value);
      expect(
        jsonParts(text)
          .map((part) => part.text)
          .join(""),
      ).toBe(text);
    }),
  );
});

test("what fits into a line stands in one", () => {
  const found = JSON.parse('{ "matches": [[1, 2], [3, 4]], "capped": false }');
  expect(prettyJson(found, 60)).toBe('{ "matches": [[1, 2], [3, 4]], "capped": false }');
  const lines = ["{", '  "matches": [', "    [1, 2],", "    [3, 4]", "  ],", '  "capped": false,', '  "none": []', "}"];
  expect(prettyJson({ ...found, none: [] }, 24).split("\n")).toEqual(lines);
  expect(jsonParts('{ "a": ["b", -1.5e3, true] }').filter(({ kind }) => kind !== "other")).toEqual([
    { kind: "key", text: '"a"' },
    { kind: "string", text: '"b"' },
    { kind: "number", text: "-1.5e3" },
    { kind: "word", text: "true" },
  ]);
});

/** What a value looks like on a terminal without colours, or in a pipe. */
function shown(value: Json, isTerminal: boolean): string {
  const { output, text } = recorded({ isTerminal, columns: 200 });
  const write = (part: string) => output.writeRaw(isTerminal ? visible(part) : part);
  showValue(value, { ...output, write });
  return text();
}

test("places are lines on a terminal, as rg prints them, and JSON elsewhere", () => {
  const place = { id: "docs/a.md", start: 4, end: 8, line: 12, column: 3, text: "  TODO: write \x1b[2J this\r" };
  const line = "docs/a.md:12:3:   TODO: write \\x1b[2J this\n";
  expect(shown([place, place], true)).toBe(line + line);
  expect(shown({ matches: [place], capped: false }, true)).toBe(line);
  expect(shown([{ id: "b\nc", start: 0, end: 9, line: 1, column: 1 }], true)).toBe("b\\nc:1:1\n");
  expect(JSON.parse(shown([place], false))).toEqual([place]);
  for (const other of [[], [place, 1], [{ ...place, line: 0 }], { matches: [place], more: 1 }, place, [{ id: "a" }]]) {
    expect(JSON.parse(shown(other, true))).toEqual(other);
  }
});

test("skipped files are named when few and counted when many", () => {
  const binary = (path: string) => ({ path, reason: "binary (NUL in the first 8 KB)" });
  const large = (path: string) => ({ path, reason: "14.2 MB > 10 MB" });
  const few = skippedStats([binary("a"), large("b")]);
  expect(skippedLines(skippedStats([]))).toEqual([]);
  expect(skippedLines(few)).toEqual(["1 file could not be read: b (14.2 MB > 10 MB).", "skipped 1 file: a (binary)"]);
  const many = skippedStats([
    ...Array.from({ length: 1012 }, (_, at) => binary(`a${at}`)),
    ...Array.from({ length: 8 }, (_, at) => large(`b${at}`)),
  ]);
  const [sentence = "", line] = skippedLines(many);
  expect(sentence).toMatch(
    /^8 files could not be read: b0 .*, b4 \(14.2 MB > 10 MB\), … 3 more \(--verbose lists them\)\.$/,
  );
  expect(line).toBe("skipped 1,012 files (1,012 binary); --verbose lists them");
  const lines = skippedLines(many, true);
  expect([lines[0], lines[1], lines[9]]).toEqual([
    "8 files could not be read",
    "  b0: 14.2 MB > 10 MB",
    "skipped 1,012 files (1,012 binary)",
  ]);
  expect(lines.at(-1)).toBe("  … 20 more");
  expect(skippedSince(few, skippedStats([binary("a"), large("b"), large("c")]))).toEqual(skippedStats([large("c")]));
  expect(skippedSince(few, few).count).toBe(0);
});
