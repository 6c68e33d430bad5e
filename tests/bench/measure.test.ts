import { expect, test } from "vitest";
import { type Contestant, median, p95, p99, takeTurns, timed } from "../../bench/measure.ts";
import { figuresOf, printed } from "../../bench/report.ts";

/** A contestant that needs these times, one after the other, and writes its name down at each turn. */
function contestant(name: string, times: readonly (number | undefined)[], log: string[] = []): Contestant {
  let turn = 0;
  return {
    name,
    async once() {
      log.push(name);
      return times[turn++];
    },
  };
}

test("contestants take turns, and warm-up rounds do not count", async () => {
  const log: string[] = [];
  const measured = await takeTurns([contestant("A", [9, 1, 2], log), contestant("B", [8, 3, 4], log)], {
    rounds: 2,
    warmups: 1,
  });
  expect(log.join("")).toBe("ABABAB");
  expect(measured).toEqual([
    { name: "A", samples: [1, 2], gaveUp: false },
    { name: "B", samples: [3, 4], gaveUp: false },
  ]);
});

test("a contestant that was given up is not asked again", async () => {
  const log: string[] = [];
  const measured = await takeTurns([contestant("A", [1, 1, 1], log), contestant("B", [5, undefined, 5], log)], {
    rounds: 3,
    warmups: 0,
  });
  expect(log.join("")).toBe("ABABA");
  expect(measured[1]).toEqual({ name: "B", samples: [5], gaveUp: true });
});

test("a contestant whose budget is spent leaves with at least one sample", async () => {
  const times = [100, 50, 50, 50];
  const measured = await takeTurns([contestant("slow", times), contestant("fast", [1, 1, 1, 1])], {
    rounds: 3,
    warmups: 1,
    budgetMs: 90,
  });
  expect(measured.map(({ samples }) => samples)).toEqual([[50], [1, 1, 1]]);
});

test("median and percentiles sort by number", () => {
  expect(median([100, 9, 20])).toBe(20);
  expect(median([100, 9, 20, 30])).toBe(25);
  expect(median([])).toBeNaN();
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(p95(hundred)).toBe(95);
  expect(p99(hundred)).toBe(99);
  expect(p95([7, 3])).toBe(7);
  expect(p95([])).toBeNaN();
});

test("timed waits for what the work awaits", async () => {
  let done = false;
  const ms = await timed(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    done = true;
  });
  expect(done).toBe(true);
  expect(ms).toBeGreaterThan(0);
});

test("a ratio is Belay's median divided by the other's", () => {
  const figures = figuresOf({
    name: "work",
    measured: [
      { name: "Belay", samples: [2], gaveUp: false },
      { name: "peer", samples: [8], gaveUp: false },
      { name: "stuck", samples: [], gaveUp: true },
    ],
    remarks: { stuck: "in 10 s" },
  });
  expect(figures.map(({ belay_ratio }) => belay_ratio)).toEqual([null, 0.25, null]);
  expect(figures[2]).toMatchObject({ median: null, p95: null, remark: "did not end in 10 s" });
});

test("a report is an aligned table with its aims", () => {
  const text = printed({
    title: "title",
    cases: [
      {
        name: "work",
        measured: [
          { name: "Belay", samples: [2], gaveUp: false },
          { name: "peer", samples: [250], gaveUp: false },
        ],
        remarks: { peer: "a remark" },
      },
    ],
    aims: [{ text: "fast", value: "2 ms", met: true }],
    notes: ["read this"],
  });
  expect(text.split("\n")).toEqual([
    "title",
    "  case  contestant   median      p95  n  Belay ÷ it",
    "  work  Belay       2.00 ms  2.00 ms  1",
    "        peer         250 ms   250 ms  1      0.0080  a remark",
    "  note: read this",
    "  aim: fast: 2 ms — met",
  ]);
});
