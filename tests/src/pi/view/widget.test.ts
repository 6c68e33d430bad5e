import { expect, test } from "vitest";
import { NO_STATE, openStateBoard, type RunningState, type State } from "../../../../src/pi/runs/board.ts";
import { showWidget, widgetLine } from "../../../../src/pi/view/widget.ts";

type WidgetPlace = Parameters<typeof showWidget>[1];

const PAINT = { fg: (_colour: string, text: string) => text, bold: (text: string) => text };

const RUNNING: RunningState = {
  ...{ tool: "rlm_exec", tool_call_id: "call", exec_id: null, phase: "running", started_at: 1000, turn: null },
  child: null,
  calls: { done: 3, running: 5, waiting: 0, left: 42, tokens: 512, cost_usd: 0, held_tokens: 0, held_cost_usd: 0 },
  ...{ load: null, notice: null },
};
const TURN = { turn: 3, of: 20, cells: 2, sub_calls: 1, tokens: 18_412, cost_usd: 0.03 };
const OUT = { objects: 41, tokens: 61_234, next: { tokens: 62_000, window: 200_000 } };
const CONTEXT = { sources: ["/a/docs", "/a/src"], chars: 1_234_567, tokens_estimate: 308_641, documents: 30 };

test.each<[string, Partial<State>, string | null]>([
  ["nothing where RLM was not used", {}, null],
  ["nothing for a session without a context or an exec", { session: "S" }, null],
  ["quietly what is there", { context: CONTEXT, checkpoints: 4 }, "rlm · docs +1 · 1.2M characters · 4 checkpoints"],
  ["what is outside", { conversation: OUT }, "rlm · 41 objects outside · 61k tokens · context 31 % of 200k"],
  [
    "both",
    { context: CONTEXT, checkpoints: 4, conversation: { ...OUT, objects: 1, next: { tokens: 1, window: null } } },
    "rlm · docs +1 · 1.2M characters · 4 checkpoints · 1 object outside · 61k tokens",
  ],
  ["that it is off", { enabled: false, checkpoints: 1 }, "rlm off · no context · 1 checkpoint"],
  ["what runs", { running: RUNNING }, "● rlm_exec running 14 s · 3 done · 5 running · 42 left · 512 tokens"],
  [
    "the turn of an ask",
    { running: { ...RUNNING, tool: "rlm_ask", turn: TURN, calls: null } },
    "● rlm_ask running 14 s · turn 3 of 20 · 2 cells · 1 sub-call · 18k tokens · $0.030",
  ],
  [
    "the sub-calls of a turn",
    { running: { ...RUNNING, tool: "rlm_ask", turn: TURN } },
    "● rlm_ask running 14 s · turn 3 of 20 · 3 done · 5 running · 42 left · 512 tokens",
  ],
  [
    "the turn of a child",
    { running: { ...RUNNING, calls: null, child: { depth: 1, turn: 2, of: 10 } } },
    "● rlm_exec running 14 s · child: turn 2 of 10",
  ],
  [
    "what a builtin is busy with",
    { running: { ...RUNNING, calls: null, phase: "recovering", notice: "building the index" } },
    "● rlm_exec recovering 14 s · building the index",
  ],
])("the line shows %s", (_what, state, line) => {
  expect(widgetLine({ ...NO_STATE, ...state }, 15_400, PAINT)).toBe(line);
});

/** A terminal with one place for a widget. */
function terminal() {
  let shown: ReturnType<Exclude<Parameters<WidgetPlace["setWidget"]>[1], undefined>> | undefined;
  const counts = { set: 0, redrawn: 0 };
  const place: WidgetPlace = {
    setWidget(_key, content) {
      counts.set++;
      shown?.dispose();
      shown = content?.({ requestRender: () => void counts.redrawn++ }, PAINT);
    },
  };
  return { place, counts, lines: () => shown?.render(200) };
}

/** A clock whose ticks are called by hand. */
function handClock() {
  const ticking = new Set<() => void>();
  return {
    ticking,
    now: () => 3000,
    every(_ms: number, work: () => void) {
      ticking.add(work);
      return () => void ticking.delete(work);
    },
  };
}

test("it follows the board, ticks only while something runs, and goes with its session", () => {
  const board = openStateBoard();
  const { place, counts, lines } = terminal();
  const clock = handClock();
  const end = showWidget(board, place, clock);
  expect([lines(), counts.set, clock.ticking.size]).toEqual([undefined, 0, 0]);

  board.change({ running: RUNNING });
  expect(lines()).toEqual([" ● rlm_exec running 2 s · 3 done · 5 running · 42 left · 512 tokens"]);
  expect(clock.ticking.size).toBe(1);
  board.progress({ notice: "building the index" });
  expect([counts.set, counts.redrawn]).toEqual([1, 1]);
  for (const tick of clock.ticking) tick();
  expect(counts.redrawn).toBe(2);

  board.change({ running: null, context: CONTEXT, checkpoints: 1 });
  expect(clock.ticking.size).toBe(0);
  expect(lines()).toEqual([" rlm · docs +1 · 1.2M characters · 1 checkpoint"]);

  board.change({ context: null, checkpoints: 0 });
  expect(lines()).toBeUndefined();
  board.change({ running: RUNNING });
  end();
  expect([lines(), clock.ticking.size]).toEqual([undefined, 0]);
  board.change({ context: CONTEXT });
  expect(lines()).toBeUndefined();
});

test("where nothing is drawn it is no trouble", () => {
  const board = openStateBoard();
  const clock = handClock();
  const end = showWidget(board, { setWidget() {} }, clock);
  board.change({ running: RUNNING });
  for (const tick of clock.ticking) tick();
  board.change({ running: null });
  end();
  expect(clock.ticking.size).toBe(0);
});
