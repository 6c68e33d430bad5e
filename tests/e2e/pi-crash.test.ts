import { appendFileSync } from "node:fs";
import { expect } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { findingsIn } from "../../src/store/whole-reads.ts";
import { TEST_EXTENSION } from "../support/command.ts";
import { CELL_FILES, cellResult, subCallsOf, toldOf } from "../support/pi/cells.ts";
import { FAULT_VARIABLE, type PiFault } from "../support/pi/fault.ts";
import { cellTask, type KillPoint, killedAt, timesAsked } from "../support/pi/kill.ts";
import { played } from "../support/pi/played.ts";
import { entriesIn, NEWEST_PI, PI_LINES, type PiLine, PLAYS_ALL, printPi } from "../support/pi/process.ts";
import { loadedIn, mirrored, piScene, resultsOnDisk } from "../support/pi/scene.ts";

const entry = (record: PiFault["record"], side: PiFault["side"]): PiFault => ({ at: "entry", record, side });
const commit = (record: PiFault["record"], side: PiFault["side"]): PiFault => ({ at: "commit", record, side });

/**
 * `sent`: how often the two sub-calls are sent, all processes together; null: the cell never begins. `isInner`: a step
 * between two that are shown.
 */
const POINTS: readonly (KillPoint & { readonly sent: readonly [number, number] | null; readonly isInner?: true })[] = [
  { by: entry("rlm_start", "before"), sent: null },
  { by: "the next turn", sent: [1, 1], isInner: true },
  { by: entry("rlm_start", "after"), sent: [1, 1], isInner: true },
  { by: commit("rlm_start", "after"), sent: [1, 1], isInner: true },
  { by: commit("rlm_tool_call", "before"), sent: [1, 1], isInner: true },
  { by: commit("rlm_tool_call", "after"), sent: [1, 1], isInner: true },
  { by: "its sub-calls", held: "of cell", sent: [2, 2] },
  // One result is in the store, and one call in flight: pi-reads.test.ts shows that too.
  { by: commit("rlm_tool_result", "after"), held: "second of", sent: [1, 2], isInner: true },
  { by: commit("rlm_complete", "before"), sent: [1, 1], isInner: true },
  { by: commit("rlm_complete", "after"), sent: [1, 1], isInner: true },
  { by: entry("rlm_complete", "after"), sent: [1, 1] },
];

/**
 * The steps of the store and the calls are Belay's own: some are shown, in one line; other tests stop at each. Entries are Pi's:
 * in the other line a process is killed right after the first. `npm run verify -- pi-lines` plays all in both.
 */
function pointsIn(line: PiLine) {
  if (PLAYS_ALL) return POINTS;
  if (!NEWEST_PI.includes(line))
    return POINTS.filter(({ by }) => typeof by === "object" && by.at === "entry" && by.side === "after").slice(0, 1);
  return POINTS.filter(({ isInner }) => isInner !== true);
}

/** Half a line, as a process leaves it that is killed while it writes. */
const TORN = '{"type":"custom","customType":"rlm_tool_result","id":"0a1b2c3d","par';

played(PI_LINES, "a session is killed at steps of a cell, and the next process finishes it", async (line) => {
  await using scene = await piScene(line, { files: CELL_FILES });
  const { model, home } = scene;
  const { pi: first, file } = await loadedIn(scene);
  const points = pointsIn(line);
  for (const [n, point] of points.entries()) {
    const pi = n === 0 ? first : scene.start(file);
    await killedAt(scene, pi, point, cellTask(n));
    appendFileSync(file, TORN);
  }
  // A process in print mode finishes the last cell; it and, in the newest line, one in rpc mode are told all results.
  const options = { home, extensions: [TEST_EXTENSION], session: file };
  const printed = await printPi(line, model.plan("wrap up"), options);
  expect(printed, printed.stderr).toMatchObject({ code: 0, stdout: "done: wrap up\n" });
  const last = NEWEST_PI.includes(line) ? scene.start(file) : undefined;
  await last?.prompt(model.plan("and again"));

  const done = points.flatMap((point, n) => (point.sent ? [{ ...point, n }] : []));
  const told = points.map(({ sent }, n) =>
    sent ? cellResult(n, done.filter((other) => other.n < n).length) : "No result provided",
  );
  for (const request of model.turns().slice(last ? -2 : -1))
    expect(points.map((_, n) => toldOf(request, n))).toEqual(told);
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
  await last?.kill();
  await using store = await openStore(home.belay);
  expect(await findingsIn(store)).toEqual([]);
});

/** The cell has its end in the store, and Pi does not know of it. */
const WHILE_RECOVERING = commit("rlm_complete", "after");

played(NEWEST_PI, "recovery is killed too; the next goes on, and so does the turn", async (line) => {
  // The ids of its calls are those of a server that gives one to all.
  const callId = "functions.rlm_exec:0";
  await using scene = await piScene(line, { files: CELL_FILES, settings: { auto_continue: true }, callId });
  const { model } = scene;
  const { pi: first, file } = await loadedIn(scene);
  await killedAt(scene, first, { by: "its sub-calls", held: "of cell" }, cellTask(0));
  const killed = scene.start(file, { [FAULT_VARIABLE]: JSON.stringify(WHILE_RECOVERING) });
  expect(await killed.ended, killed.stderr()).toBe("SIGKILL");
  const pi = scene.start(file);
  await pi.until(({ type }) => type === "agent_end");
  expect(toldOf(model.turns().at(-1), 0)).toEqual(cellResult(0, 0));
  expect(timesAsked(scene, subCallsOf(0)[0])).toBe(2);
  expect([...resultsOnDisk(file)].map(([id, texts]) => [id, texts.length])).toEqual([[callId, 2]]);
  expect(mirrored(file, "rlm_complete")).toHaveLength(2);
});
