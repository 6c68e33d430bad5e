import { expect, test } from "vitest";
import { runExitCode } from "../../../../src/cli/batch/run-command.ts";
import { openRunProgress, openSpeed, openTally, progressText } from "../../../../src/cli/batch/run-progress.ts";
import type { RunState } from "../../../../src/runs/index.ts";
import type { Counts } from "../../../../src/store/index.ts";
import { recorded } from "../recorded.ts";

const NONE: Counts = { waiting: 0, running: 0, parked: 0, cancelling: 0, done: 0, failed: 0, cancelled: 0, workers: 0 };
const amount = (nanodollars: number, sub_calls = 0, tokens = 0) => ({ nanodollars, sub_calls, tokens });
const NO_LIMITS = { nanodollars: null, sub_calls: null, tokens: null };

function standing(at: number, counts: Partial<Counts>, run: Partial<RunState["run"]> = {}): RunState {
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
    "120/200 done · 3 failed · 12 running on 4 workers · $1.42 of $5.00 (held $0.100, in doubt $0.010) · 2.1 calls/s · ~4 min left",
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
  const next = Date.now() + 270_000;
  expect(progressText({ ...standing(0, { parked: 6 }), next }, unknown)).toBe("0/6 done · 6 parked, next in 4 min");
  const refusal = { job: "a", error_code: "rate_limited", error: "m: 429\n no credit", suggestion: "", at: 0 };
  expect(progressText({ ...standing(0, { parked: 6 }), refusal }, unknown)).toBe(
    "0/6 done · 6 parked · refused: rate_limited: m: 429 no credit",
  );
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
  expect(progressText(standing(0, { waiting: 1 }), { callsPerSecond: null, leftMs })).toBe(`0/1 done · ${text} left`);
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

test("a run that is over ends with 0 or 1, one that is not with 3, and one that providers alone can go on with ends with 4", () => {
  const wait = { provider: "p", batch: "b", state: "out" as const, calls: 1, done: 0, since: 0, until: 1, earlier: [] };
  const code = (counts: Partial<Counts>, waits = [wait].slice(1), state: "open" | "paused" = "open") =>
    runExitCode({ counts: { ...NONE, ...counts }, run: { state }, waits });
  expect(code({ done: 2 })).toBe(0);
  expect(code({ done: 2, failed: 1 })).toBe(1);
  expect(code({ cancelled: 1 })).toBe(1);
  expect(code({ done: 2, failed: 1, parked: 1 })).toBe(3);
  expect(code({ waiting: 1 })).toBe(3);
  expect(code({ done: 2, parked: 1 }, [wait])).toBe(4);
  expect(code({ waiting: 1, parked: 1 }, [wait])).toBe(3);
  expect(code({ parked: 1 }, [wait], "paused")).toBe(3);
});

// What a run and a worker say where a line cannot be rewritten, such as in a log.

/** An output that keeps what is written, and a clock that the test moves. */
function record() {
  const { output, written } = recorded();
  const clock = { at: 0, now: () => clock.at, every };
  let timer: { at: number; readonly work: () => void } | null = null;
  function every(ms: number, work: () => void) {
    const own = { at: clock.at + ms, work };
    timer = own;
    return () => {
      if (timer === own) timer = null;
    };
  }
  return {
    written,
    output,
    clock,
    pass(ms: number) {
      clock.at += ms;
      if (timer && timer.at <= clock.at) timer.work();
    },
  };
}

const NOTHING = { nanodollars: 0, tokens: 0, sub_calls: 0 };
const RUN = {
  ...{ spent: NOTHING, held: NOTHING, doubtful: NOTHING },
  limits: { nanodollars: null, tokens: null, sub_calls: null },
};

/** Looks at a run of 40 jobs each second, one of which is over with each look. */
function follow(as: "text" | "json" | "quiet", seconds: number): readonly string[] {
  const { written, output, clock } = record();
  const progress = openRunProgress(output, clock, as);
  for (let done = 0; done <= seconds; done += 1) {
    clock.at = done * 1000;
    progress.show({ at: clock.at, counts: { ...NONE, done, waiting: 40 - done }, run: RUN });
  }
  return written;
}

test("a run has a line after three seconds, and then one every ten", () => {
  expect(follow("text", 2)).toEqual([]);
  expect(follow("text", 30)).toEqual([
    "3/40 done · ~40 s left\n",
    "13/40 done · ~30 s left\n",
    "23/40 done · ~20 s left\n",
  ]);
  expect(follow("quiet", 30)).toEqual([]);
});

test("with --json the lines are objects", () => {
  const lines = follow("json", 13).map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { kind: "progress", jobs: { all: 40, done: 3 }, calls_per_second: null, left_ms: 37_000 },
    { kind: "progress", jobs: { all: 40, done: 13 } },
  ]);
});

test("a worker has a line at its first job, then at most one every ten seconds, and none while nothing changes", () => {
  const { written, output, clock, pass } = record();
  const tally = openTally(output, clock, false);
  const key = { run: "r", n: 0 };
  tally.told({ kind: "begun", key, id: "a", resumed: false });
  pass(0);
  tally.told({ kind: "left", key, id: "a", state: "done", why: null });
  tally.told({ kind: "begun", key: { run: "r", n: 1 }, id: "b", resumed: false });
  pass(9000);
  expect(written.splice(0)).toEqual(["1 running · 0 done\n"]);
  pass(1000);
  expect(written.splice(0)).toEqual(["1 running · 1 done\n"]);
  pass(60_000);
  tally.told({ kind: "left", key: { run: "r", n: 1 }, id: "b", state: "waiting", why: null });
  tally.end();
  pass(60_000);
  expect(written).toEqual(["0 running · 1 done · 1 given back\n"]);
});
