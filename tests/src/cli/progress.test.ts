import { expect, test } from "vitest";
import { turnText } from "../../../src/cli/render/ask.ts";
import { callLine, takenLine } from "../../../src/cli/render/calls.ts";
import { openProgress, openTurnLines } from "../../../src/cli/render/progress.ts";
import type { CallProgress, SessionEvent } from "../../../src/index.ts";
import { compact, dollars } from "../../../src/platform/figures.ts";
import { recorded } from "./recorded.ts";

/** An output that keeps what is written, and a clock that the test moves. */
function record(isTerminal: boolean) {
  const { output, written } = recorded({ isTerminal });
  const clock = { now: 0, tick: () => {}, isTicking: false };
  function every(ms: number, work: () => void) {
    clock.isTicking = true;
    clock.tick = () => {
      clock.now += ms;
      work();
    };
    return () => {
      clock.isTicking = false;
    };
  }
  const progress = openProgress(output, { now: () => clock.now, every }, false);
  return { written, clock, progress };
}

test("where it cannot rewrite a line, progress has a first line and a last", () => {
  const { written, clock, progress } = record(false);
  progress.begin("docs");
  for (clock.now = 0; clock.now <= 7000; clock.now += 250) {
    progress.report({ kind: "load", files: clock.now, bytes: clock.now * 2 ** 20 });
  }
  progress.end();
  expect(written).toEqual(["loading docs: 3,000 files, 3000.0 MB\n", "loading docs: 7,000 files, 7000.0 MB\n"]);
  written.length = 0;
  progress.begin("more");
  progress.report({ kind: "load", files: 1, bytes: 1 });
  progress.end();
  progress.end();
  expect(written).toEqual([]);
});

test.each([
  [false, "big.log: its text takes 300.0 MB of disk, in /store/texts\n"],
  [true, "big.log: its text takes at least 300.0 MB of disk, in /store/texts\n"],
])("what a large text takes on disk is said at once, of a part of it (%s) as the least", (isPart, line) => {
  const { written, progress } = record(false);
  progress.begin("big.log");
  progress.report({ kind: "load", files: 1, bytes: 300 * 2 ** 20, texts: "/store/texts", isPart });
  expect(written).toEqual([line]);
});

test("on a terminal progress is one line, which goes before other output", () => {
  const { written, clock, progress } = record(true);
  progress.begin();
  clock.now = 999;
  progress.report({ kind: "notice", text: "indexing for search: 1 %" });
  clock.now = 1000;
  progress.report({ kind: "notice", text: "indexing for search: 2 %" });
  clock.now = 1050;
  progress.report({ kind: "notice", text: "indexing for search: 3 %" });
  clock.now = 1100;
  progress.report({ kind: "notice", text: "x".repeat(100) });
  progress.end();
  progress.end();
  const clear = "\r\x1b[K";
  expect(written).toEqual([clear, "indexing for search: 2 %", clear, "x".repeat(79), clear]);
});

const CALLS: CallProgress = {
  done: 12,
  running: 4,
  waiting: 1,
  left: 33,
  tokens: 48_123,
  cost_usd: 0.0211,
  held_tokens: 9000,
  held_cost_usd: 0.01,
};

test("sub-calls are told in one line, without dollars where no price is known", () => {
  expect(callLine(CALLS, 14_900)).toBe(
    "███████░░░ calls 12 of 17, ~10 s left · 33 more allowed · 48k tokens (~9.0k held) · $0.021 · 14 s",
  );
  // Nothing is foreseen before anything is known.
  expect(callLine({ ...CALLS, done: 0 }, 14_900)).toMatch(/^░{10} calls 0 of 5 .* · 14 s$/);
  expect(callLine(CALLS, 900)).toMatch(/ · 0 s$/);
  expect(callLine({ ...CALLS, running: 0, waiting: 0, held_tokens: 0, cost_usd: 0 }, 65_000)).toBe(
    "██████████ calls 12 of 12 · 33 more allowed · 48k tokens · 1 min 05 s",
  );
  const taken = { done: 1, unfinished: 0, tokens: 999, cost_usd: 0, elapsed: 0 };
  expect(takenLine(taken)).toBe("1 sub-call · 999 tokens · 0 s");
  expect(takenLine({ ...taken, done: 2, unfinished: 3, cost_usd: 12.345 })).toBe(
    "2 sub-calls · 3 given up · 999 tokens · $12.35 · 0 s",
  );
});

test.each([
  [0, "0"],
  [999, "999"],
  [1000, "1.0k"],
  [9949, "9.9k"],
  [9950, "10k"],
  [999_499, "999k"],
  [999_500, "1.0M"],
  [12_345_678, "12.3M"],
])("%d is %s for people", (count, text) => {
  expect(compact(count)).toBe(text);
});

test("dollars have two digits or more", () => {
  expect([4.2e-4, 0.0421, 0.999, 1, 1234.5].map(dollars)).toEqual(["$0.0004", "$0.042", "$0.999", "$1.00", "$1234.50"]);
});

test("the line goes on while all calls are waited for, and what they took is told at the end", () => {
  const { written, clock, progress } = record(true);
  progress.begin();
  progress.report({ kind: "calls", ...CALLS });
  expect(written).toEqual([]);
  clock.tick();
  clock.tick();
  expect(written.filter((text) => text.includes("calls")).map((text) => text.slice(11, 41))).toEqual([
    "calls 12 of 17 · 33 more allow",
    "calls 12 of 17, ~10 s left · 3",
  ]);
  expect(progress.end()).toEqual({ done: 12, unfinished: 4, tokens: 48_123, cost_usd: 0.0211, elapsed: 2000 });
  expect([clock.isTicking, written.at(-1)]).toEqual([false, "\r\x1b[K"]);
  // The next cell is told its own share of what the session has spent, and a load begins anew.
  progress.begin();
  progress.report({ kind: "calls", ...CALLS, done: 1, running: 0, tokens: 48_200 });
  expect(progress.end()).toMatchObject({ done: 1, tokens: 77, cost_usd: 0 });
  progress.begin();
  expect(progress.end()).toBeNull();
  progress.reset();
  progress.report({ kind: "calls", ...CALLS, tokens: 50_000 });
  expect(progress.end()).toMatchObject({ tokens: 50_000, cost_usd: 0.0211 });
});

/** What an ask reports of its turns: 7 sub-calls and $0.01 in each. */
function turn(number: number, phase: "asked" | "replied" | "ran"): Extract<SessionEvent, { kind: "turn" }> {
  const cells = phase === "asked" ? number - 1 : number;
  const spent = { sub_calls: 7 * cells, tokens: 6137 * cells, cost_usd: 0.01 * cells };
  return {
    ...{ kind: "turn", depth: 0, path: [], model: "anthropic/claude-haiku-4-5", turn: number, of: 20, phase, cells },
    ...spent,
    detail: { text: "", cells: [] },
  };
}

test("on a terminal each turn of an ask keeps a line when it is over, and the turn that is on has the last", () => {
  const { written, clock, progress } = record(true);
  progress.begin();
  for (const number of [1, 2, 3]) {
    for (const phase of ["asked", "replied", "ran"] as const) {
      clock.now += 1000;
      progress.report(turn(number, phase));
      if (phase === "replied") progress.report({ kind: "calls", ...CALLS });
    }
    // What the calls of the cell had come to is not said again while the model is asked.
    expect(clock.isTicking).toBe(false);
  }
  progress.end();
  expect(written.filter((text) => text.endsWith("\n"))).toEqual([
    "turn 1  1 cell · 7 sub-calls · 6,137 tokens · $0.010\n",
    "turn 2  2 cells · 14 sub-calls · 12,274 tokens · $0.020\n",
  ]);
  expect(written).toContain("turn 3: waiting for claude-haiku-4-5, 0 s · 2 cells · 14 sub-calls · 12k tokens");
});

test("a turn whose cell is suspended keeps no line: what it comes to is not known yet", () => {
  const { written, progress } = record(true);
  progress.begin();
  for (const phase of ["asked", "replied", "ran"] as const) progress.report(turn(1, phase));
  for (const phase of ["asked", "replied"] as const) progress.report(turn(2, phase));
  progress.report({ kind: "calls", ...CALLS });
  progress.end(false);
  expect(written.filter((text) => text.endsWith("\n"))).toEqual([
    "turn 1  1 cell · 7 sub-calls · 6,137 tokens · $0.010\n",
  ]);
});

test("an ask shows at once on a terminal that its model is asked, and the seconds go on", () => {
  const { written, clock, progress } = record(true);
  progress.begin();
  progress.report({ ...turn(1, "asked"), tokens: 0 });
  clock.tick();
  clock.now += 11_000;
  clock.tick();
  progress.report(turn(1, "replied"));
  expect([clock.isTicking, written.filter((text) => text.startsWith("turn"))]).toEqual([
    false,
    [
      "turn 1: waiting for claude-haiku-4-5, 0 s",
      "turn 1: waiting for claude-haiku-4-5, 1 s",
      "turn 1: waiting for claude-haiku-4-5, 13 s",
    ],
  ]);
});

test("elsewhere an ask that waits for its model says so after a second, and nothing twice", () => {
  const { written, clock, progress } = record(false);
  progress.begin();
  progress.report({ ...turn(1, "asked"), tokens: 0 });
  expect(written).toEqual([]);
  clock.tick();
  clock.tick();
  expect(written).toEqual(["turn 1: waiting for claude-haiku-4-5, 1 s\n"]);
  progress.end();
  written.length = 0;
  progress.begin("docs");
  for (clock.now = 10_000; clock.now < 20_000; clock.now += 1000) {
    progress.report({ kind: "load", files: 1, bytes: 2 ** 20 });
  }
  progress.end();
  expect(written).toEqual(["loading docs: 1 file, 1.0 MB\n"]);
});

test("elsewhere turns have no lines of their own", () => {
  const { written, progress } = record(false);
  progress.begin();
  for (const phase of ["asked", "replied", "ran"] as const) progress.report(turn(1, phase));
  progress.end();
  expect(written).toEqual([]);
});

test("turns of children are indented, and stand above the turn whose cell called them", () => {
  const lines = openTurnLines();
  const at = (path: readonly string[], number: number, phase: "asked" | "replied" | "ran") => {
    return lines.after({ ...turn(number, phase), path, depth: path.length });
  };
  const told = [
    ...[at([], 1, "asked"), at([], 1, "replied")],
    ...[at(["a.1"], 1, "asked"), at(["a.1"], 1, "replied"), at(["a.1", "b.1"], 1, "replied")],
    ...[at(["a.10"], 1, "asked"), at(["a.10"], 1, "replied"), at(["a.1"], 1, "ran"), at(["a.1"], 2, "asked")],
    ...[at([], 1, "ran"), at([], 2, "asked"), at([], 2, "replied"), lines.rest()],
  ].map((over) => over.map((line) => line.slice(0, line.indexOf("  ", line.search(/\S/)))));
  expect(told).toEqual([
    ...[[], []],
    ...[[], [], []],
    ...[[], [], ["    call 1, turn 1"], ["  call 1, turn 1"]],
    ...[["  call 10, turn 1"], ["turn 1"], [], []],
  ]);
});

test("--verbose tells what a child did to the right, with the number of its call", () => {
  const said = { ...turn(2, "replied"), depth: 1, path: ["E1.3"], detail: { text: "I look.", cells: [] } };
  expect(turnText(said)).toBe("  --- call 3, turn 2\n  I look.\n");
  const cells = [{ code: "print(1)", observation: "1" }];
  expect(turnText({ ...said, phase: "ran", detail: { text: "", cells } })).toBe("    > print(1)\n  1\n");
});
