import { expect, test } from "vitest";
import type { Json } from "../../../runtime/index.ts";
import { openRows } from "../../../src/provider-batches/result-rows.ts";

const BATCH = { id: "b", requests: 3 };
const row = (n: number | string, status: number, body: Json) => ({ custom_id: `b-${n}`, answer: { status, body } });

test("of two rows of one request that differ the first that succeeded counts, and says so", () => {
  const { answersIn, oddities } = openRows(BATCH);
  const rows = [row(0, 500, { e: 1 }), row(1, 200, { x: 1 }), row(0, 200, { x: 2 }), row(1, 200, { x: 3 })];
  expect(answersIn(rows)).toEqual([
    { n: 0, status: 200, body: { x: 2, belay_other_rows: 1 }, again: false },
    { n: 1, status: 200, body: { x: 1, belay_other_rows: 1 }, again: false },
  ]);
  expect(oddities()).toBe("2 requests of it got answers that differ");
});

test("a row that comes twice is one answer, also in another piece", () => {
  const { answersIn, oddities } = openRows(BATCH);
  const one = row(2, 200, { x: 1 });
  expect(answersIn([one, one])).toEqual([{ n: 2, status: 200, body: { x: 1 }, again: false }]);
  expect([answersIn([one]), oddities()]).toEqual([[], null]);
  expect(answersIn([row(2, 200, { x: 2 })])).toEqual([]);
  expect(oddities()).toBe("1 request of it got answers that differ");
});

test("rows that answer no request of the batch are counted", () => {
  const { answersIn, oddities } = openRows(BATCH);
  const others = [row(3, 200, {}), row("x", 200, {}), { custom_id: "c-0", answer: { status: 200, body: {} } }];
  expect(answersIn([...others, { custom_id: "b-0", answer: null }])).toEqual([]);
  expect(oddities()).toBe("3 rows of its results answer no request of it");
});
