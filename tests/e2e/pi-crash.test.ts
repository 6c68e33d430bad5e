import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openStore } from "../../src/store/thread/thread.ts";
import { findingsIn } from "../../src/store/verify-store.ts";
import { TEST_EXTENSION } from "../support/command.ts";
import { CELL_FILES, cellResult, subCallsOf, toldOf } from "../support/pi-cells.ts";
import { cellTask, type KillPoint, killedAt, timesAsked } from "../support/pi-kill.ts";
import { entriesIn, NEWEST_PI, PI_LINES, type PiLine, PLAYS_ALL, printPi } from "../support/pi-process.ts";
import { loadedIn, mirrored, piScene, resultsOnDisk } from "../support/pi-scene.ts";

/**
 * `sent`: how often the two sub-calls are sent, all processes together; null: the cell never begins. `isInner`: a step of the
 * store, between two that are shown.
 */
const POINTS: readonly (KillPoint & { readonly sent: readonly [number, number] | null; readonly isInner?: true })[] = [
  {
    name: "before the entry that the exec begins",
    by: { at: "entry", record: "rlm_start", side: "before" },
    sent: null,
  },
  { name: "after the tool's result", by: "the next turn", sent: [1, 1] },
  {
    name: "between the entry that the exec begins and the store's beginning",
    by: { at: "entry", record: "rlm_start", side: "after" },
    sent: [1, 1],
  },
  {
    isInner: true,
    name: "after the store's beginning",
    by: { at: "commit", record: "rlm_start", side: "after" },
    sent: [1, 1],
  },
  {
    isInner: true,
    name: "before the store has the calls",
    by: { at: "commit", record: "rlm_tool_call", side: "before" },
    sent: [1, 1],
  },
  {
    name: "between the store's calls and their entries",
    by: { at: "commit", record: "rlm_tool_call", side: "after" },
    sent: [1, 1],
  },
  { name: "with both calls in flight", by: "its sub-calls", held: "of cell", sent: [2, 2] },
  {
    name: "with one result in the store and one call in flight",
    by: { at: "commit", record: "rlm_tool_result", side: "after" },
    held: "second of",
    sent: [1, 2],
  },
  {
    isInner: true,
    name: "before the store has the end",
    by: { at: "commit", record: "rlm_complete", side: "before" },
    sent: [1, 1],
  },
  {
    name: "between the store's end and its entry",
    by: { at: "commit", record: "rlm_complete", side: "after" },
    sent: [1, 1],
  },
  {
    name: "between that entry and the tool's result",
    by: { at: "entry", record: "rlm_complete", side: "after" },
    sent: [1, 1],
  },
];

/**
 * The steps of the store and the calls are Belay's own: some are shown, in one line; other tests stop at each. Entries are Pi's:
 * in the other line a process is killed right after each. `npm run check:pi-lines` plays all in both.
 */
function pointsIn(line: PiLine) {
  if (PLAYS_ALL) return POINTS;
  if (!NEWEST_PI.includes(line))
    return POINTS.filter(({ by }) => typeof by === "object" && by.at === "entry" && by.side === "after");
  return POINTS.filter(({ isInner }) => isInner !== true);
}

/** Half a line, as a process leaves it that is killed while it writes. */
const TORN = '{"type":"custom","customType":"rlm_tool_result","id":"0a1b2c3d","par';

test.concurrent.for(PI_LINES)(
  "Pi $version: a session is killed at steps of a cell, and each time the next process finishes it",
  { timeout: 240_000 },
  async (line) => {
    await using scene = await piScene(line, {
      files: CELL_FILES,
    });
    const { model, home } = scene;
    const file = await loadedIn(scene);
    const points = pointsIn(line);
    for (const [n, point] of points.entries()) {
      const pi = scene.start(file);
      await killedAt(scene, pi, point, cellTask(n));
      appendFileSync(file, TORN);
    }
    // A process in print mode finishes the last cell; it and one in rpc mode are told all results.
    const options = { home, extensions: [TEST_EXTENSION], session: file };
    const printed = await printPi(line, model.plan("wrap up"), options);
    expect(printed, printed.stderr).toMatchObject({ code: 0, stdout: "done: wrap up\n" });
    const last = scene.start(file);
    await last.prompt(model.plan("and again"));

    const done = points.flatMap((point, n) => (point.sent ? [{ ...point, n }] : []));
    const told = points.map(({ sent }, n) =>
      sent ? cellResult(n, done.filter((other) => other.n < n).length) : "No result provided",
    );
    for (const request of model.turns().slice(-2)) expect(points.map((_, n) => toldOf(request, n))).toEqual(told);
    const sent = points.map((_, n) => subCallsOf(n).map((prompt) => timesAsked(scene, prompt)));
    expect(sent).toEqual(points.map((point) => point.sent ?? [0, 0]));

    const results = [...resultsOnDisk(file).values()];
    expect(results.map((texts) => texts.length)).toEqual([1, ...done.map(() => 1)]);
    const completed = mirrored(file, "rlm_complete").map(({ data }) => data?.exec_id);
    expect(new Set(completed).size).toBe(completed.length);
    expect(completed).toHaveLength(1 + done.length);
    for (const entry of entriesIn(file)) {
      if (entry.type === "custom") expect(JSON.stringify(entry).length, entry.customType).toBeLessThanOrEqual(2048);
    }
    await last.kill();
    await using store = await openStore(home.belay, {});
    expect(await findingsIn(store)).toEqual([]);
  },
);
