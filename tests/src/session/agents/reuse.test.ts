import { expect, test } from "vitest";
import { describeSession } from "../../../../src/history/index.ts";
import type { SessionOptions } from "../../../../src/session/option-types.ts";
import { openSession } from "../../../../src/session/session.ts";
import { openStore } from "../../../../src/store/index.ts";
import { startsIn } from "../../../support/agents/agents.ts";
import { call, openPlace, openRun, type Place, told } from "./support.ts";

/** A session whose model answers with the number of its request, and does not count prompts that begin with `bad`. */
async function openCounting(place: Place, session: string, more: Partial<SessionOptions> = {}) {
  const prompts: string[] = [];
  const opened = await openSession({
    ...more,
    store: place.store,
    session,
    complete: async ({ messages }) => {
      const prompt = messages.flatMap((message) => (message.role === "user" ? message.text : [])).join("\n");
      if (prompt.startsWith("bad")) return "no number";
      prompts.push(prompt);
      return `${session} ${prompts.length}`;
    },
  });
  return { session: opened, prompts };
}

/** A cell that makes calls one after the other, and returns their answers; null for one that failed. */
const asking = (...calls: readonly (readonly [prompt: string, options?: object])[]) =>
  `const out = [];
for (const [prompt, options] of ${JSON.stringify(calls)})
  out.push(await llm_query(prompt, { tools: [], ...options }).catch(() => null));
out`;

/** An answer that the model never gives. */
const INTEGER = { schema: { type: "integer" } };

const WORKFLOW = { workflow: true };

test("calls that ask the same take over the answers of a run, free, and say whose they are", async () => {
  const place = openPlace();
  {
    await using first = (await openCounting(place, "one")).session;
    const cell = asking(["a", { label: "x", phase: "Find" }], ["same"], ["same"], ["bad", INTEGER], ["c"]);
    expect(told(await first.exec(cell, WORKFLOW))).toEqual(["one 1", "one 2", "one 3", null, "one 4"]);
  }
  const { session, prompts } = await openCounting(place, "two", { reuse: { session: "one" } });
  await using _closing = session;
  // Other labels, phases and times ask the same; another system prompt does not.
  const system = "Be brief.";
  const cell = asking(
    ["same"],
    ["a", { phase: "Other", timeout_ms: 5000 }],
    ["bad", INTEGER],
    ["same"],
    ["same"],
    ["c", { system }],
  );
  const answers = told(await session.exec(cell, WORKFLOW));
  expect(answers).toEqual(["one 2", "one 1", null, "one 3", "two 1", "two 2"]);
  expect(prompts.map((prompt) => prompt.split("\n")[0])).toEqual(["same", "c"]);
  await session.close();
  await using store = await openStore(place.store);
  const described = await describeSession(store, "two");
  expect(described.reused).toMatchObject({ answers: 3 });
  const [taken] = described.execs[0]?.calls ?? [];
  expect(taken).toMatchObject({ cached: true, tokens: 0, reused: { from: "one" } });
  expect(taken?.reused?.tokens).toBeGreaterThan(0);
});

test("other cells take nothing over, and a run that is not there is named", async () => {
  const place = openPlace();
  await using first = (await openCounting(place, "one")).session;
  await first.exec(asking(["a"]), WORKFLOW);
  const second = await openCounting(place, "two", { reuse: { session: "one" } });
  await using session = second.session;
  expect(told(await session.exec(asking(["a"])))).toEqual(["two 1"]);
  const third = await openCounting(place, "three", { reuse: { session: "none" } });
  await using lost = third.session;
  expect(await lost.exec(asking(["a"]), WORKFLOW)).toMatchObject({ error_code: "session_not_found" });
});

test("one phase alone is made anew, and a call of another phase without an answer stops the run before it is sent", async () => {
  const place = openPlace();
  await using first = (await openCounting(place, "one")).session;
  await first.exec(asking(["a", { phase: "Find" }], ["b", { phase: "Verify" }]), WORKFLOW);
  const reuse = { session: "one", only: "Verify" };
  const { session, prompts } = await openCounting(place, "two", { reuse });
  await using _closing = session;
  const cell = asking(["a", { phase: "Find" }], ["b", { phase: "Verify" }], ["new", { phase: "Verify" }]);
  expect(told(await session.exec(cell, WORKFLOW))).toEqual(["one 1", "two 1", "two 2"]);
  const lacking = await openCounting(place, "three", { reuse });
  const unknown = asking(["b", { phase: "Verify" }], ["other", { phase: "Find", label: "the door" }]);
  const envelope = await lacking.session.exec(unknown, WORKFLOW);
  expect(envelope).toMatchObject({ resumable: true, error_code: "policy_violation" });
  expect(told(envelope)).toContain(
    'the call "the door" (2, of the phase Find) is not of the phase Verify, and one has no answer',
  );
  expect(lacking.prompts).toEqual(["b"]);
  await lacking.session.close();
  expect(prompts).toEqual(["b", "new"]);
  // Without `only` the rest is asked for.
  const goesOn = await openCounting(place, "three", { reuse: { session: "one" } });
  await using resumed = goesOn.session;
  expect((await resumed.resume())?.envelope).toMatchObject({ result_json: ["three 1", "three 1"] });
  expect(goesOn.prompts).toEqual(["other"]);
});

test("a dry run counts what would be taken over", async () => {
  const place = openPlace();
  await using first = (await openCounting(place, "one")).session;
  await first.exec(asking(["a"], ["b"]), WORKFLOW);
  await using session = (await openCounting(place, "two", { reuse: { session: "one" } })).session;
  const { estimate } = await session.dryRun(asking(["a"], ["c"]), WORKFLOW);
  expect(estimate).toMatchObject({ sub_calls: 1, reused: 1 });
});

test("an agent whose answer is taken over is not started", async () => {
  const place = openPlace();
  const source = `[await ${call({ says: "one" }, { label: "first" })}]`;
  {
    await using first = await openRun(place);
    await first.exec(source, WORKFLOW);
  }
  await using session = await openRun(place, { session: "again", reuse: { session: "run" } });
  expect(told(await session.exec(source.replace("first", "second"), WORKFLOW))).toEqual(["one"]);
  expect([...startsIn(place.log).values()]).toEqual([1]);
});
