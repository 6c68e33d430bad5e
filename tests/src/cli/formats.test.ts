import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Format } from "../../../src/cli/flags/declared.ts";
import { formatOfFile, formatted } from "../../../src/cli/render/formats.ts";

const text = (value: unknown, format: Format | null) => [...formatted(JSON.stringify(value), format)].join("");

/** Fields of CSV; null for an empty one without quotes. */
function parsed(csv: string): readonly unknown[] {
  const cast = (field: string, { quoting }: { readonly quoting: boolean }) => (quoting ? field : field || null);
  return parse(csv, { record_delimiter: "\r\n", cast });
}

const field = fc.oneof(fc.string({ unit: fc.constantFrom("a", '"', ",", "\r", "\n", " ", "é") }), fc.constant(null));

test("CSV holds every field, whatever is in it", () => {
  const rows = fc
    .integer({ min: 1, max: 4 })
    .chain((width) => fc.array(fc.array(field, { minLength: width, maxLength: width }), { minLength: 1 }));
  fc.assert(
    fc.property(rows, (given) => {
      expect(parsed(text(given, "csv"))).toEqual(given);
    }),
  );
});

test("objects make a table with every name as a column", () => {
  const rows = [
    { path: "a.md", lines: 3 },
    { lines: 4, "ends, how": 'with "x"', open: true },
  ];
  expect(text(rows, "csv")).toBe('path,lines,"ends, how",open\r\na.md,3,,\r\n,4,"with ""x""",true\r\n');
  expect(text([], "csv")).toBe("");
  expect(text([{ a: null }, { a: "" }], "csv")).toBe('a\r\n\r\n""\r\n');
  expect(text([["a\rb", "c\nd"]], "csv")).toBe('"a\rb","c\nd"\r\n');
});

test("a list or an object in a field is JSON", () => {
  expect(text([{ a: [1, "x"], b: { c: null } }], "csv")).toBe('a,b\r\n"[1,""x""]","{""c"":null}"\r\n');
  expect(text([[1, {}]], "csv")).toBe("1,{}\r\n");
});

test("a terminal gets CSV without a carriage return at the ends of lines", () => {
  const csv = (isTerminal: boolean) => [...formatted('[{"a":1}]', "csv", { isTerminal, columns: 80 })].join("");
  expect([csv(true), csv(false)]).toEqual(["a\n1\n", "a\r\n1\r\n"]);
});

test("the name of a file asks for its form, but for a string, which may be of that form already", () => {
  const rows = '[{"a":1}]';
  const forms = ["a.csv", "A.CSV", "a.jsonl", "a.ndjson", "a.json", "a.txt", "a"].map((file) =>
    formatOfFile(file, rows),
  );
  expect(forms).toEqual(["csv", "csv", "jsonl", "jsonl", null, null, null]);
  expect(formatOfFile("a.csv", '"a\\n1"')).toBeNull();
});

test("JSON, JSON lines and strings as they are", () => {
  expect(text({ a: [1] }, "json")).toBe('{"a":[1]}\n');
  expect(text([{ a: 1 }, "b", null], "jsonl")).toBe('{"a":1}\n"b"\nnull\n');
  expect([text("no newline", "raw"), text(42, "raw"), text("x", "json")]).toEqual(["no newline", "42\n", '"x"\n']);
  expect([text("as it is\n", null), text([1, 2], null), text(null, null)]).toEqual(["as it is\n", "[1,2]\n", "null\n"]);
});

test.each<[Format, unknown, string]>([
  ["csv", { a: 1 }, "csv: it takes an array of rows, and the result is an object"],
  ["csv", "text", "csv: it takes an array of rows, and the result is a string"],
  ["csv", [[1], 2], "csv: row 2 is a number, and a row is an object or an array"],
  ["csv", [null], "csv: row 1 is null, and a row is an object or an array"],
  ["csv", [{ a: 1 }, [2]], "csv: row 2 is an array, and others are objects"],
  ["table", { a: 1 }, "table: it takes an array of rows, and the result is an object"],
  ["table", [[1], "text"], "table: row 2 is a string, and a row is an object or an array"],
  ["jsonl", { a: 1 }, "jsonl: it takes an array, and the result is an object"],
  ["raw", [1], "raw: it takes a string, a number or a boolean, and the result is an array"],
  ["raw", null, "raw: it takes a string, a number or a boolean, and the result is null"],
])("%s does not take %j", (format, value, why) => {
  expect(() => text(value, format)).toThrow(`the result does not fit ${why}`);
});
