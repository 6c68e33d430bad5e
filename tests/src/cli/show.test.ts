import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonParts, prettyJson, showValue } from "../../../src/cli/render/value.ts";
import { skippedLine, skippedSince } from "../../../src/cli/render/warnings.ts";
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
  expect(skippedLine({ count: 0, files: [] })).toBeNull();
  expect(skippedLine({ count: 2, files: [binary("a"), large("b")] })).toBe(
    "skipped 2 files: a (binary), b (14.2 MB > 10 MB)",
  );
  const many = [...Array.from({ length: 12 }, () => binary("a")), ...Array.from({ length: 8 }, () => large("b"))];
  const reasons = { binary: 1012, "over 10 MB": 8 };
  const line = "skipped 1,020 files (1,012 binary, 8 over 10 MB)";
  expect(skippedLine({ count: 1020, files: many, reasons })).toBe(`${line}; --verbose lists them`);
  const [summary, first, ...rest] = skippedLine({ count: 1020, files: many, reasons }, true)?.split("\n") ?? [];
  expect([summary, first, rest.length]).toEqual([line, "  a: binary (NUL in the first 8 KB)", 20]);
  expect(rest.at(-1)).toBe("  … 1,000 more");
  const since = skippedSince(
    { count: 1000, files: many.slice(0, 12), reasons: { binary: 1000 } },
    { count: 1020, files: many, reasons },
  );
  expect(since).toEqual({ count: 20, files: many.slice(12), reasons: { binary: 12, "over 10 MB": 8 } });
});
