import { expect, test } from "vitest";
import { openSpeed, progressText, runExitCode, type Standing } from "../../../../src/cli/batch/run-state.ts";
import type { Counts } from "../../../../src/store/index.ts";

const NONE: Counts = { waiting: 0, running: 0, parked: 0, cancelling: 0, done: 0, failed: 0, cancelled: 0, workers: 0 };
const amount = (nanodollars: number, sub_calls = 0, tokens = 0) => ({ nanodollars, sub_calls, tokens });
const NO_LIMITS = { nanodollars: null, sub_calls: null, tokens: null };

function standing(at: number, counts: Partial<Counts>, run: Partial<Standing["run"]> = {}): Standing {
  const spent = { spent: amount(0), held: amount(0), doubtful: amount(0), limits: NO_LIMITS };
  return { at, counts: { ...NONE, ...counts }, run: { ...spent, ...run } };
}

test("the line says done, failed, running, dollars, speed and time left", () => {
  const run = {
    spent: amount(1.42e9),
    held: amount(0.1e9),
    doubtful: amount(0.01e9),
    limits: { ...NO_LIMITS, nanodollars: 5e9 },
  };
  const now = standing(0, { done: 120, failed: 3, running: 11, cancelling: 1, waiting: 65, workers: 4 }, run);
  expect(progressText(now, { callsPerSecond: 2.14, leftMs: 241_000 })).toBe(
    "120/200 done · 3 failed · 12 running on 4 workers · $1.42 of $5.00 (held $0.100, in doubt $0.010) · 2.1 calls/s · ~4 min",
  );
  const reason = { error_code: "schema_mismatch", error: "", count: 2 };
  expect(progressText({ ...now, reason }, { callsPerSecond: null, leftMs: null })).toContain(
    " · 3 failed (2 × schema_mismatch) · ",
  );
  const unpaid = { ...run, spent: amount(0), held: amount(0), limits: NO_LIMITS };
  expect(progressText(standing(0, { waiting: 1 }, unpaid), { callsPerSecond: null, leftMs: null })).toBe(
    "0/1 done · $0.0000 (in doubt $0.010)",
  );
});

test("what is not there is left out", () => {
  const unknown = { callsPerSecond: null, leftMs: null };
  expect(progressText(standing(0, { waiting: 2 }), unknown)).toBe("0/2 done");
  const free = standing(0, { done: 1, running: 1, parked: 2, cancelled: 1, workers: 1 }, { spent: amount(0, 3, 1234) });
  expect(progressText(free, unknown)).toBe("1/5 done · 1 cancelled · 2 parked · 1 running · 1.2k tokens");
  const paid = standing(0, { done: 1 }, { spent: amount(21e6) });
  expect(progressText(paid, unknown)).toBe("1/1 done · $0.021");
});

test.each([
  [500, "~10 s"],
  [41_000, "~50 s"],
  [50_001, "~1 min"],
  [89_000, "~1 min"],
  [240_000, "~4 min"],
  [6_000_000, "~1.7 h"],
])("%d ms left are told as %s", (leftMs, text) => {
  expect(progressText(standing(0, { waiting: 1 }), { callsPerSecond: null, leftMs })).toBe(`0/1 done · ${text}`);
});

test("speed is that of the last minute, and is not told before two seconds", () => {
  const speed = openSpeed();
  const look = (at: number, done: number, calls: number) =>
    speed(standing(at, { done, waiting: 100 - done }, { spent: amount(0, calls) }));
  expect(look(0, 10, 50)).toEqual({ callsPerSecond: null, leftMs: null });
  expect(look(1000, 11, 52)).toEqual({ callsPerSecond: null, leftMs: null });
  expect(look(10_000, 20, 100)).toEqual({ callsPerSecond: 5, leftMs: 80_000 });
  expect(look(60_000, 20, 100).leftMs).toBe(480_000);
  expect(look(80_000, 20, 100)).toEqual({ callsPerSecond: null, leftMs: null });
});

test("a run that is over ends with 0 or 1, and one that is not with 3", () => {
  expect(runExitCode({ ...NONE, done: 2 })).toBe(0);
  expect(runExitCode({ ...NONE, done: 2, failed: 1 })).toBe(1);
  expect(runExitCode({ ...NONE, cancelled: 1 })).toBe(1);
  expect(runExitCode({ ...NONE, done: 2, failed: 1, parked: 1 })).toBe(3);
  expect(runExitCode({ ...NONE, waiting: 1 })).toBe(3);
});
