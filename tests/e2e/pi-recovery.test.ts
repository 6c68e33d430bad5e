import { expect, test } from "vitest";
import { CELL_FILES, cellResult, subCallsOf, toldOf } from "../support/pi-cells.ts";
import { FAULT_VARIABLE, type PiFault } from "../support/pi-fault.ts";
import { cellTask, type KillPoint, killedAt, type Task, timesAsked } from "../support/pi-kill.ts";
import { envelopeOf, resultTo } from "../support/pi-model.ts";
import { NEWEST_PI } from "../support/pi-process.ts";
import { exec, loadedIn, mirrored, piScene, resultsOnDisk } from "../support/pi-scene.ts";

/** Recovery is killed at each of these, one after the other. */
const WHILE_RECOVERING: readonly PiFault[] = [
  { at: "commit", record: "rlm_tool_result", side: "after" },
  { at: "commit", record: "rlm_complete", side: "after" },
  { at: "entry", record: "rlm_complete", side: "after" },
];

test.concurrent.for(NEWEST_PI)(
  "Pi $version: recovery is killed again and again; the one after it goes on, and with auto_continue the turn does too",
  { timeout: 120_000 },
  async (line) => {
    await using scene = await piScene(line, { files: CELL_FILES, settings: { auto_continue: true } });
    const { model } = scene;
    const file = await loadedIn(scene);
    await killedAt(scene, scene.start(file), { name: "first", by: "its sub-calls", held: "of cell" }, cellTask(0));
    for (const fault of WHILE_RECOVERING) {
      const pi = scene.start(file, { [FAULT_VARIABLE]: JSON.stringify(fault) });
      expect(await pi.ended, pi.stderr()).toBe("SIGKILL");
    }
    const pi = scene.start(file);
    await pi.until(({ type }) => type === "agent_end");
    expect(toldOf(model.turns().at(-1), 0)).toEqual(cellResult(0, 0));
    expect(timesAsked(scene, subCallsOf(0)[0])).toBeLessThanOrEqual(3);
    expect([...resultsOnDisk(file).values()].map((texts) => texts.length)).toEqual([1, 1]);
    expect(mirrored(file, "rlm_complete")).toHaveLength(2);
  },
);

test.concurrent.for(NEWEST_PI)(
  "Pi $version: loads, changes of memory and helpers, and queries are recovered as cells are",
  { timeout: 120_000 },
  async (line) => {
    await using scene = await piScene(line, { files: CELL_FILES });
    const { model, home, start } = scene;
    const task = (tool: string, args: object, subCalls = 0): Task => ({
      prompt: `use ${tool}`,
      call: { tool, args },
      subCalls,
    });
    const end = (at: PiFault["at"], side: PiFault["side"]): KillPoint => ({
      name: `${side} the ${at}`,
      by: { at, record: "rlm_complete", side },
    });
    const batch = {
      ops: [
        { op: "put", key: "a", value: 1 },
        { op: "get", key: "a" },
      ],
    };
    const first = start();
    const file = await first.sessionFile();
    await killedAt(scene, first, end("commit", "before"), task("rlm_load", { path: home.project }));
    await killedAt(scene, start(file), end("commit", "after"), task("rlm_memory_batch", batch));
    await killedAt(
      scene,
      start(file),
      end("entry", "after"),
      task("rlm_helpers_add", { name: "one", code: "const one = 1;" }),
    );
    await killedAt(
      scene,
      start(file),
      { name: "query", by: "its sub-calls", held: "" },
      task("rlm_query", { prompt: "what is TODO?", search_strategy: "regex" }, 1),
    );

    const last = start(file);
    await last.prompt(
      model.plan("look", exec("result = [memory.list(), one, find('TODO').matches.length, typeof total]")),
    );
    const request = model.turns().at(-1);
    const told = (prompt: string) => envelopeOf(resultTo(request, prompt));
    expect(told("use rlm_load")).toMatchObject({ success: true, stats: { document_count: 1 } });
    expect(told("use rlm_memory_batch")).toMatchObject({ success: true, results: [{ ok: true }, { value: 1 }] });
    expect(told("use rlm_helpers_add")).toMatchObject({ success: true });
    expect(told("use rlm_query")).toMatchObject({ success: true, answer: expect.any(String) });
    expect(told("look")).toMatchObject({ success: true, result_json: [["a"], 1, 2, "undefined"] });
    expect([...resultsOnDisk(file).values()].map((texts) => texts.length)).toEqual([1, 1, 1, 1, 1]);
  },
);
