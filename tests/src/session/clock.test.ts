import { join } from "node:path";
import { ulid } from "ulid";
import { expect, test } from "vitest";
import { systemClock } from "../../../runtime/index.ts";
import { openSessionWith } from "../../../src/session/session.ts";
import { findingsIn, openStore } from "../../../src/store/index.ts";
import { lengthAnswers } from "../../support/length-answers.ts";
import { listed } from "../../support/listed.ts";
import { folderWith } from "../../support/tree.ts";

const DAY_MS = 86_400_000;

test("a clock that jumps backwards between and inside execs changes nothing but times", async () => {
  const folder = join(folderWith(), "store");
  const suspend = new AbortController();
  const answers = lengthAnswers({ onAsked: (prompt) => prompt === "stop" && suspend.abort() });
  /** Each session opens a thousand days earlier, and a wall clock stands a day earlier whenever it is looked at again. */
  let start = Date.UTC(2030, 0, 1);
  const open = async () => {
    start -= 1000 * DAY_MS;
    let now = start;
    const clock = { ...systemClock, now: () => (now -= DAY_MS) };
    const store = await openStore(folder);
    // Ids sort by their time: backwards, too.
    const parts = { store, answers, clock, newId: () => ulid(clock.now()) };
    const session = await openSessionWith({ session: "s" }, parts);
    const close = () => session.close().then(() => store[Symbol.asyncDispose]());
    return { store, session, [Symbol.asyncDispose]: close };
  };
  const cell = `
    globalThis.total = (globalThis.total ?? 0) + Number(await llm_query("x".repeat(3), { tools: [] }));
    total += Number(await llm_query("yy", { tools: [] }));`;
  for (const expected of [5, 10, 15]) {
    await using life = await open();
    const envelope = await life.session.exec(cell);
    expect(envelope).toMatchObject({ success: true, result_json: expected, resumed: 0 });
    expect(envelope.execution_time_ms).toBeGreaterThanOrEqual(0);
    expect(life.session.budget().remaining_time_ms).toBeLessThanOrEqual(300_000);
  }
  {
    await using life = await open();
    const ask = (prompt: string) => `await llm_query("${prompt}", { tools: [] })`;
    const source = `total += Number(${ask("four")}); ${ask("stop")}; total`;
    const suspended = await life.session.exec(source, { suspend: suspend.signal });
    expect(suspended).toMatchObject({ success: false, error_code: "cancelled", resumable: true });
  }
  // Interrupted under one clock, finished under an earlier one.
  await using life = await open();
  const { store, session } = life;
  expect(session.unfinished()).toMatchObject({ kind: "cell" });
  expect((await session.resume())?.envelope).toMatchObject({ success: true, result_json: 19, resumed: 1 });
  expect(await session.exec("total")).toMatchObject({ result_json: 19 });
  const rows = await store.journal(session.id);
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
  const [row] = await listed(store);
  expect(row).toMatchObject({ name: "s", last_seq: rows.length });
  expect((await store.checkpoints(session.id)).at(-1)?.id).toBe(row?.head);
  await session.close();
  expect(await findingsIn(store)).toEqual([]);
});
