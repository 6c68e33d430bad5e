import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { forgetRun, isUnderWay } from "../../../../src/models/agents/index.ts";
import { ask, killAgent, killKeeper, openPlace, otherBelay, started, startsOf, told, until } from "./support.ts";

const once = { "1.1": 1 };

test("an agent outlives a Belay that was killed, and the next one takes its answer", async () => {
  const place = openPlace();
  const belay = otherBelay(place, { ms: 400, says: "done" });
  await started(place);
  belay.kill("SIGKILL");
  expect(await belay.answer).toBe(null);
  expect(isUnderWay(place.outbox())).toBe(true);
  expect(told(await ask(place, { says: "another" }))).toBe("done");
  expect(startsOf(place)).toEqual(once);
});

test("an answer that a killed Belay has not recorded is in the outbox", async () => {
  const place = openPlace();
  const belay = otherBelay(place, { says: "done" });
  await until(() => existsSync(join(place.outbox(), "result.json")));
  belay.kill("SIGKILL");
  await belay.answer;
  expect(told(await ask(place, { says: "another" }))).toBe("done");
  expect(startsOf(place)).toEqual(once);
  forgetRun(place.outbox());
  expect(existsSync(place.outbox())).toBe(false);
});

test("two Belays on one outbox start one agent", async () => {
  const place = openPlace();
  const belays = [1, 2, 3].map(() => otherBelay(place, { ms: 300, says: "one" }));
  const answers = [...(await Promise.all(belays.map(({ answer }) => answer))), await ask(place, { says: "two" })];
  expect(answers.map((answer) => answer && told(answer))).toEqual(["one", "one", "one", "one"]);
  expect(startsOf(place)).toEqual(once);
});

test("an agent whose keeper was killed is waited for, and its whole output counts", async () => {
  const place = openPlace();
  const answer = ask(place, { ms: 600, says: "done" });
  await started(place);
  await killKeeper(place);
  expect(told(await answer)).toBe("done");
  expect(startsOf(place)).toEqual(once);
});

test("keeper and agent were killed: what was printed counts if it is whole", async () => {
  const place = openPlace();
  const answer = ask(place, { hangs: true });
  await started(place);
  writeFileSync(join(place.outbox(), "out"), '{"result":"whole","usage":{"input_tokens":1}}');
  await killKeeper(place);
  await killAgent(place);
  expect(told(await answer)).toBe("whole");
  expect(startsOf(place)).toEqual(once);
});

test("keeper and agent were killed: the doubt stays until the user has it started again", async () => {
  const place = openPlace();
  const answer = ask(place, { hangs: true });
  await started(place);
  await killKeeper(place);
  await killAgent(place);
  expect(await answer).toMatchObject({
    ok: false,
    ends: "job",
    error: { code: "answer_lost", message: "the agent fake was started, and it is unknown whether it has ended" },
  });
  expect(told(await ask(place, { says: "no" }))).toBe("answer_lost");
  expect(startsOf(place)["1.1"]).toBe(1);
  const resent = await ask(place, { says: "yes", tokens: [1, 2] }, { mostTries: Number.POSITIVE_INFINITY });
  expect(resent).toMatchObject({ ok: true, turn: { text: "yes" }, usage: { output: 100_002 } });
  expect(startsOf(place)["1.1"]).toBe(2);
});

test("the user's word to start it again is for the doubt that there was", async () => {
  const place = openPlace();
  for (const mostTries of [1, Number.POSITIVE_INFINITY]) {
    const answer = ask(place, { hangs: true }, { mostTries });
    await started(place, mostTries === 1 ? 1 : 2);
    await killKeeper(place);
    await killAgent(place);
    expect(told(await answer)).toBe("answer_lost");
  }
  expect(startsOf(place)["1.1"]).toBe(2);
});

test("an agent without effects is started three times at most", async () => {
  const place = openPlace();
  const answer = ask(place, { hangs: true }, { mostTries: 3 });
  for (const tries of [1, 2, 3]) {
    await started(place, tries);
    await killKeeper(place);
    await killAgent(place);
  }
  expect(told(await answer)).toBe("answer_lost");
  expect(startsOf(place)).toEqual({ "1.1": 3 });
});

test("a process with the agent's old id is not taken for it", async () => {
  const place = openPlace();
  const answer = ask(place, { hangs: true });
  await started(place);
  await killKeeper(place);
  // The id is this process's now, which was born at another time.
  writeFileSync(join(place.outbox(), "process"), JSON.stringify({ pid: process.pid, born: "1" }));
  await killAgent(place);
  expect(told(await answer)).toBe("answer_lost");
});

test("a keeper that cannot work is a failure that the user can act on", async () => {
  const place = openPlace();
  writeFileSync(place.outbox(), "a file in the place of the folder");
  expect(await ask(place, { says: "no" })).toMatchObject({
    ok: false,
    ends: "job",
    error: { code: "no_model_configured", message: expect.stringContaining("could not be started") },
  });
  rmSync(place.outbox());
  expect(told(await ask(place, { says: "yes" }))).toBe("yes");
});
