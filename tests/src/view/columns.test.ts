import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { columnsOf } from "../../../src/view/columns.ts";
import { COLUMNS, NONE, PAGE_CALLS } from "../../../src/view/format.ts";
import { emptyColumns, readPage } from "../../../src/view/page/model.ts";

const row = fc.array(fc.nat(NONE - 1), { minLength: COLUMNS.length, maxLength: COLUMNS.length });

test("the page reads the numbers that were written", () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 20 }), (rows) => {
      const { pages, counts } = columnsOf(rows);
      const columns = emptyColumns(rows.length);
      for (const [at, page] of pages.entries()) readPage(columns, gunzipSync(page), at * PAGE_CALLS, counts[at] ?? 0);
      expect(rows.map((_, call) => COLUMNS.map((name) => columns[name][call]))).toEqual(rows);
    }),
  );
});

test("many calls are pages, a number that is none says so, and a page that is not whole is refused", () => {
  const rows = Array.from({ length: PAGE_CALLS + 1 }, () => COLUMNS.map(() => null));
  const { pages, counts } = columnsOf(rows);
  expect(counts).toEqual([PAGE_CALLS, 1]);
  const last = gunzipSync(pages[1] ?? new Uint8Array());
  const columns = emptyColumns(1);
  readPage(columns, last, 0, 1);
  expect(columns.run[0]).toBe(NONE);
  expect(() => readPage(columns, last.subarray(1), 0, 1)).toThrow("a page of calls is not whole");
});
