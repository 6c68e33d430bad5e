import { monotonicFactory } from "ulid";
import { expect, test } from "vitest";
import { describeSession, openStore as openLibrary } from "../../../../src/history/index.ts";
import { forkWithAnswers, type GivenAnswer, openSession } from "../../../../src/session/index.ts";
import { openSigner } from "../../../../src/settings/signed-settings.ts";
import { openStore } from "../../../../src/store/index.ts";
import { loggedIn, startsIn } from "../../../support/agents/agents.ts";
import { call, openPlace, openRun, type Place, told } from "./support.ts";

const newId = monotonicFactory();
const WORKFLOW = { workflow: true };

/** Forks the session `run` of a place as `fork`, with these answers. */
async function fork({ store: folder }: Place, answers: readonly GivenAnswer[], from = "run", name = "fork") {
  await using store = await openStore(folder);
  const signer = openSigner(folder, process.env);
  const id = newId();
  const settings = signer.forFork(id);
  const forking = { id, name, origin: "command", at: Date.now(), settings, newId, signer } as const;
  return await forkWithAnswers(store, from, forking, answers);
}

/** The calls of the newest exec of a session, in short. */
async function callsOf({ store: folder }: Place, name: string) {
  await using store = await openStore(folder);
  const { execs } = await describeSession(store, name);
  const calls = execs.at(-1)?.calls ?? [];
  return calls.map(({ status, answer, cached, by_hand }) => ({ status, answer, cached, by_hand }));
}

const SCHEMA = { schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } };
/** An agent that nobody can start. */
const MISSING = { gone: { command: ["/nowhere/at/all"] } };

test("a run that waits goes on with the answer that a person gave", async () => {
  const place = openPlace();
  const source = `await Promise.all([${call({ says: "one" })}, ${call({ says: "x" }, { agent: "gone", ...SCHEMA })}])`;
  {
    await using session = await openRun(place);
    expect(await session.exec(source, WORKFLOW)).toMatchObject({ resumable: true });
  }
  expect(await fork(place, [{ call: "2", value: { n: 3 } }])).toMatchObject({
    how: "continued",
    session: { name: "fork", status: "unfinished" },
  });
  {
    await using library = await openLibrary(place.store);
    const answers = [{ call: "2", value: { n: 4 } }];
    expect(await library.fork("run", { name: "own", answers })).toMatchObject({ name: "own", status: "unfinished" });
    for (const wrong of [{ answers: [...answers, { call: "2", skip: true }] }, { answers, checkpoint: "A" }])
      await expect(library.fork("run", wrong)).rejects.toMatchObject({ code: "invalid_argument" });
    await using own = await openRun(place, { session: "own" });
    expect((await own.resume())?.envelope).toMatchObject({ result_json: ["one", { n: 4 }] });
  }
  await using forked = await openRun(place, { session: "fork" });
  expect((await forked.resume())?.envelope).toMatchObject({ result_json: ["one", { n: 3 }] });
  await forked.close();
  expect(await callsOf(place, "fork")).toEqual([
    { status: "ok", answer: "one", cached: false, by_hand: false },
    { status: "ok", answer: { n: 3 }, cached: true, by_hand: true },
  ]);
  // Each copy has started the call that was open.
  expect([...startsIn(place.log).values()]).toEqual([1, 1]);
  // The run that it was made of waits as before.
  await using session = await openRun(place, { agents: MISSING });
  expect(session.unfinished()).not.toBeNull();
});

test("a run that has ended is run again with the other answers taken over", async () => {
  const place = openPlace();
  const source = `const one = await ${call({ says: "one" })};
const two = await ${call({ fails: true, code: 1 })}.catch(() => null);
[one, two, await ${call({ says: "three" })}]`;
  {
    await using session = await openRun(place);
    expect(told(await session.exec(source, WORKFLOW))).toEqual(["one", null, "three"]);
  }
  expect(await fork(place, [{ call: "2", value: "two" }])).toMatchObject({ how: "again" });
  {
    await using store = await openStore(place.store);
    const { execs } = await describeSession(store, "fork");
    expect(execs.at(-1)).toMatchObject({ status: "unfinished", again: { exec: 1, by_hand: [2] } });
  }
  await using forked = await openRun(place, { session: "fork" });
  expect((await forked.resume())?.envelope).toMatchObject({ result_json: ["one", "two", "three"] });
  await forked.close();
  expect((await callsOf(place, "fork")).map(({ by_hand, cached }) => [by_hand, cached])).toEqual([
    [false, true],
    [true, true],
    [false, true],
  ]);
  expect([...startsIn(place.log).values()]).toEqual([1, 1, 1]);
});

test("a wrong answer is replaced, and a call can be skipped", async () => {
  const place = openPlace();
  const source = `const kind = await ${call({ says: "bug" })};
[kind, await llm_query('{"says":' + JSON.stringify("about " + kind) + '}', { agent: "fake" })]`;
  {
    await using session = await openRun(place);
    expect(told(await session.exec(source, WORKFLOW))).toEqual(["bug", "about bug"]);
  }
  await fork(place, [{ call: "1", value: "feature" }]);
  {
    await using forked = await openRun(place, { session: "fork" });
    // The second call asks something else now, so it is made.
    expect((await forked.resume())?.envelope).toMatchObject({ result_json: ["feature", "about feature"] });
  }
  await fork(place, [{ call: "1", value: null, skip: true }], "fork", "next");
  await using next = await openRun(place, { session: "next" });
  expect((await next.resume())?.envelope).toMatchObject({ result_json: [null, "about null"] });
  expect(loggedIn(place.log).filter(({ what }) => what === "BEGUN")).toHaveLength(4);
});

test("an answer that a call cannot have is refused, and nothing is made", async () => {
  const place = openPlace();
  {
    await using session = await openRun(place, { agents: MISSING });
    await session.exec(`await ${call({ says: "x" }, { agent: "gone", ...SCHEMA })}; await llm_query("q")`, WORKFLOW);
  }
  const failing = async (given: GivenAnswer) => fork(place, [given]).catch((error: Error) => error.message);
  expect(await failing({ call: "7", value: "x" })).toBe("run has no call 7: its calls are 1 to 1");
  expect(await failing({ call: "1", value: { n: "three" } })).toContain("the answer does not fit the schema of call 1");
  await using store = await openStore(place.store);
  expect(await store.find("fork")).toBeNull();
  await using other = await openSession({ store: place.store, session: "other" });
  await other.load({ text: "a", name: "a.txt" });
  expect(await fork(place, [{ call: "1", value: "x" }], "other").catch((error: Error) => error.message)).toContain(
    "the newest exec of other is no cell",
  );
});
