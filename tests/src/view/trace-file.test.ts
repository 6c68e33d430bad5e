import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { COLUMNS, NONE, PAGE_CALLS, type Row } from "../../../src/view/format.ts";
import { openColumns } from "../../../src/view/page/model.ts";
import { columnsOf } from "../../../src/view/trace-file.ts";

const rowOf = (numbers: readonly number[] | null): Row =>
  Object.assign(JSON.parse("{}"), Object.fromEntries(COLUMNS.map((name, at) => [name, numbers?.[at] ?? null])));

const numbers = fc.array(fc.nat(NONE - 1), { minLength: COLUMNS.length, maxLength: COLUMNS.length });

test("the page reads the numbers that were written", () => {
  fc.assert(
    fc.property(fc.array(numbers, { maxLength: 20 }), (all) => {
      const rows = all.map(rowOf);
      const pages = columnsOf(rows);
      const columns = openColumns(rows.length);
      for (const [at, page] of pages.entries()) columns.read(gunzipSync(page), at * PAGE_CALLS);
      expect(rows.map((_, call) => columns.row(call))).toEqual(rows);
    }),
  );
});

test("many calls are pages, a number that is none says so, and a page that is not whole is refused", () => {
  const rows = Array.from({ length: PAGE_CALLS + 1 }, () => rowOf(null));
  const pages = columnsOf(rows);
  expect(pages).toHaveLength(2);
  const last = gunzipSync(pages[1] ?? new Uint8Array());
  const columns = openColumns(1);
  columns.read(last, 0);
  expect(columns.of("run", 0)).toBe(NONE);
  expect(() => columns.read(last.subarray(1), 0)).toThrow("a page of calls is not whole");
});
