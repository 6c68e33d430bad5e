import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ulid } from "ulid";
import { expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "../../runtime/index.ts";
import { openSessionWith } from "../../src/session/session.ts";
import { openStore } from "../../src/store/thread/thread.ts";
import { findingsIn } from "../../src/store/verify-store.ts";
import { lengthAnswers } from "../support/length-answers.ts";
import { listed } from "../support/listed.ts";

const DAY_MS = 86_400_000;

/** A wall clock that stands a day earlier whenever it is looked at again; what is measured runs as usual. */
function backwardsClock(start: number): Clock {
  let now = start;
  return {
    ...systemClock,
    now() {
      now -= DAY_MS;
      return now;
    },
  };
}

test("a clock that jumps backwards between and inside execs changes nothing but times", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-clock-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let start = Date.UTC(2030, 0, 1);
  const open = async () => {
    const clock = backwardsClock(start);
    start -= 1000 * DAY_MS;
    const store = await openStore(folder);
    // Ids sort by their time: backwards, too.
    const newId = () => ulid(clock.now());
    const session = await openSessionWith({ session: "s" }, { store, answers: lengthAnswers(), clock, newId });
    return { store, session };
  };
  const cell = `
    globalThis.total = (globalThis.total ?? 0) + Number(await llm_query("x".repeat(3), { tools: [] }));
    total += Number(await llm_query("yy", { tools: [] }));`;
  for (const expected of [5, 10, 15]) {
    const { store, session } = await open();
    const envelope = await session.exec(cell);
    expect(envelope).toMatchObject({ success: true, result_json: expected, resumed: 0 });
    expect(envelope.execution_time_ms).toBeGreaterThanOrEqual(0);
    expect(session.budget().remaining_time_ms).toBeLessThanOrEqual(300_000);
    await session.close();
    await store[Symbol.asyncDispose]();
  }

  // Interrupted under one clock, finished under an earlier one.
  {
    const { store, session } = await open();
    const suspend = new AbortController();
    const answers = lengthAnswers({ onAsked: (prompt) => prompt === "stop" && suspend.abort() });
    await session.close();
    const again = await openSessionWith({ session: "s" }, { store, answers, clock: backwardsClock(start) });
    const source =
      'total += Number(await llm_query("four", { tools: [] })); await llm_query("stop", { tools: [] }); total';
    const suspended = await again.exec(source, { suspend: suspend.signal });
    expect(suspended).toMatchObject({ success: false, error_code: "cancelled", resumable: true });
    await again.close();
    await store[Symbol.asyncDispose]();
  }
  const { store, session } = await open();
  expect(session.unfinished()).toMatchObject({ kind: "cell" });
  expect((await session.resume())?.envelope).toMatchObject({ success: true, result_json: 19, resumed: 1 });
  expect(await session.exec("total")).toMatchObject({ result_json: 19 });
  const rows = await store.journal(session.id);
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
  const [row] = await listed(store);
  expect(row).toMatchObject({ name: "s", last_seq: rows.length });
  const checkpoints = await store.checkpoints(session.id);
  expect(checkpoints.at(-1)?.id).toBe(row?.head);
  await session.close();
  expect(await findingsIn(store)).toEqual([]);
  await store[Symbol.asyncDispose]();
});
