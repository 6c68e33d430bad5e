import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WORK_ON } from "../../../../src/platform/signals.ts";
import { startsIn } from "../../../support/agents/agents.ts";
import { call, openPlace, openRun, outboxesIn, type Place, told } from "./support.ts";

const WORKFLOW = { workflow: true };

/** Waits until an agent of the place has begun. */
async function untilBegun({ log }: Place): Promise<void> {
  while (startsIn(log).size === 0) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Runs an agent with this folder of outboxes, and leaves it at work as a terminal that closes does. */
async function leftAtWork(place: Place, agentsDir: string, ms: number) {
  await using session = await openRun(place, { agentsDir });
  const suspend = new AbortController();
  const running = session.exec(`await ${call({ ms, says: "done" })}`, { ...WORKFLOW, suspend: suspend.signal });
  await untilBegun(place);
  suspend.abort(WORK_ON);
  expect(await running).toMatchObject({ success: false, resumable: true });
}

test("an agent that was begun elsewhere is in doubt, and is adopted where its outbox is", async () => {
  const place = openPlace();
  const here = join(place.store, "..", "here");
  await leftAtWork(place, here, 300);
  {
    await using session = await openRun(place, { agentsDir: join(place.store, "..", "elsewhere") });
    const envelope = (await session.resume())?.envelope;
    expect(envelope).toMatchObject({ success: false, resumable: true, error_code: "answer_lost" });
    expect(envelope).toHaveProperty(
      "error_message",
      expect.stringMatching(/^the agent fake was begun on .+, and its outbox is not here$/),
    );
  }
  expect([...startsIn(place.log).values()]).toEqual([1]);
  await using session = await openRun(place, { agentsDir: here });
  expect((await session.resume())?.envelope).toMatchObject({ result_json: "done" });
  expect([...startsIn(place.log).values()]).toEqual([1]);
});

test("an agent in doubt keeps no call of the session's model from its answer", async () => {
  const place = openPlace();
  let asked = 0;
  const answers = async () => {
    asked += 1;
    return { text: "own" };
  };
  const never = async () => new Promise<never>(() => {});
  const source = `await Promise.all([${call({ ms: 300, says: "done" })}, llm_query("a"), llm_query("b")])`;
  const options = { model: "local/m", concurrency: 1, agentsDir: join(place.store, "..", "here") };
  {
    await using session = await openRun(place, { ...options, concurrency: 4, complete: never });
    const suspend = new AbortController();
    const running = session.exec(source, { ...WORKFLOW, suspend: suspend.signal });
    await untilBegun(place);
    suspend.abort(WORK_ON);
    await running;
  }
  {
    const elsewhere = { agentsDir: join(place.store, "..", "elsewhere") };
    await using session = await openRun(place, { ...options, ...elsewhere, complete: answers });
    expect((await session.resume())?.envelope).toMatchObject({ resumable: true, error_code: "answer_lost" });
  }
  expect(asked).toBe(2);
  await using session = await openRun(place, { ...options, complete: never });
  expect((await session.resume())?.envelope).toMatchObject({ result_json: ["done", "own", "own"] });
  expect([...startsIn(place.log).values()]).toEqual([1]);
});

test("an agent in doubt is started again if the user says so", async () => {
  const place = openPlace();
  await leftAtWork(place, join(place.store, "..", "here"), 50);
  await using session = await openRun(place, { agentsDir: join(place.store, "..", "elsewhere") });
  const resumed = await session.resume({ resendDoubtful: true });
  expect(resumed?.envelope).toMatchObject({ result_json: "done" });
  expect([...startsIn(place.log).values()]).toEqual([2]);
});

test("what is left of an outbox whose answer is recorded counts for nothing, and goes", async () => {
  const place = openPlace();
  let outbox: string;
  {
    await using session = await openRun(place);
    const envelope = await session.exec(`await ${call({ says: "done" })}`, WORKFLOW);
    outbox = join(place.store, "agents", session.id, `${envelope.exec_id}.1`);
  }
  expect(outboxesIn(place)).toEqual([]);
  // As a kill between the record and the end of the outbox leaves it.
  mkdirSync(outbox, { recursive: true });
  writeFileSync(join(outbox, "result.json"), '{"tries":1,"ended":"exited","code":0,"signal":null}');
  await using session = await openRun(place);
  expect((await session.resume())?.envelope).toMatchObject({ result_json: "done" });
  await session.close();
  expect(outboxesIn(place)).toEqual([]);
  expect([...startsIn(place.log).values()]).toEqual([1]);
});

test("a run that is given up ends its agents, and charges what they held", async () => {
  const place = openPlace();
  await using session = await openRun(place, { budget: { max_tokens: 1_000_000 } });
  const suspend = new AbortController();
  const source = `await ${call({ hangs: true })}`;
  const running = session.exec(source, { ...WORKFLOW, suspend: suspend.signal });
  await untilBegun(place);
  suspend.abort(WORK_ON);
  await running;
  await session.discard();
  expect(session.budget().remaining_tokens).toBe(900_000);
  expect(told(await session.exec("1"))).toBe(1);
});
