import { expect, test } from "vitest";
import { openRunProgress, openTally } from "../../../../src/cli/batch/run-progress.ts";
import type { Counts } from "../../../../src/store/index.ts";
import { recorded } from "../recorded.ts";

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

const NONE: Counts = { waiting: 0, running: 0, parked: 0, cancelling: 0, done: 0, failed: 0, cancelled: 0, workers: 0 };
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
  expect(follow("text", 30)).toEqual(["3/40 done · ~40 s\n", "13/40 done · ~30 s\n", "23/40 done · ~20 s\n"]);
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
