import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ScriptedAnswer, startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { json, jsonLines } from "./belay.ts";
import { belayHere, killedHere } from "./in-process.ts";

// Each new exec, ask and query has the budget of the settings; what is continued keeps what it has spent.

/** The command, and a model that writes these cells in turn, and answers prompts with "yes"; `slow` ones once `isFast` is set. */
async function scene(cells: string[] = []) {
  const pace = { isFast: false };
  const home = join(folderWith(), "home");
  const cwd = folderWith({ "notes.txt": "one\ntwo\n" });
  const server = await startModelServer(({ prompt, body }): ScriptedAnswer => {
    if (!body.tools) return { text: "yes", ...(prompt.startsWith("slow") && !pace.isFast ? { delayMs: 60_000 } : {}) };
    if (cells[0]?.startsWith("// slow") && !pace.isFast) return { delayMs: 60_000 };
    const code = cells.shift() ?? "answer(P.length)";
    return { tools: [{ id: `u${cells.length}`, name: "rlm_exec", arguments: { code } }] };
  });
  onTestFinished(() => server.close());
  const shared = ["-s", "work", "-q", "--json", "--model", "local/m", "--base-url", server.url, "--max-sub-calls", "2"];
  const run = (...args: string[]) => belayHere([...args, ...shared], { cwd, home });
  return { server, pace, home, cwd, shared, run };
}

const call = (prompt: string) => `await llm_query(${JSON.stringify(prompt)}, { tools: [] })`;
const CAUGHT = `let left = []; for (let i = 0; i < 3; i++) try { ${call("Is it?")} } catch (e) { left.push(e.code) }`;

test("the third question of a day has the whole budget, and the session's total stays in sight", async () => {
  const { run, server } = await scene();
  const cell = ["-e", `${call("a")}; ${call("b")}; result = budget().sub_calls`];
  const seen = [await run("exec", ...cell), await run("exec", ...cell), await run("exec", ...cell)];
  expect(seen.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(seen.map((one) => json(one))).toMatchObject(
    [2, 4, 6].map((sub_calls) => ({
      result_json: 0,
      warnings: [],
      budget: { remaining_sub_calls: 0, session: { sub_calls } },
    })),
  );
  expect(server.requests).toHaveLength(6);
});

test("the cells of one command share its budget, and a command that meets it says which flag raises it", async () => {
  const { run } = await scene();
  const over = await run("exec", "-e", `${call("a")}; ${call("b")}`, "-e", `${CAUGHT}; result = left`);
  expect(over.code).toBe(3);
  expect(jsonLines(over)).toMatchObject([
    { success: true, budget: { remaining_sub_calls: 0 } },
    { result_json: Array(3).fill("budget_exceeded"), warnings: ["limit_met: sub_calls"] },
  ]);
});

test("an ask in which a limit was met says so in its last line, its envelope and its exit code", async () => {
  const { run, home, cwd, shared } = await scene([CAUGHT, "answer('yes')", CAUGHT, "answer('yes')"]);
  const told = await run("ask", "Which?", "-c", "notes.txt");
  expect(told.code).toBe(3);
  expect(json(told)).toMatchObject({ success: true, answer: "yes", limits_met: ["sub_calls"] });
  const args = ["ask", "And now?", ...shared.filter((flag) => flag !== "--json")];
  const quiet = await belayHere(args, { cwd, home });
  const line = "Limit met: sub-calls (--max-sub-calls); what that kept from being asked is not in the answer.";
  expect(quiet).toEqual({ code: 3, stdout: "yes\n", stderr: `${line}\n` });
  const loud = await belayHere(
    args.filter((flag) => flag !== "-q"),
    { cwd, home },
  );
  expect(loud).toMatchObject({ code: 0, stdout: "8\n" });
});

test.each([
  ["by resume", ["resume", "work", "-q", "--json"]],
  ["by the same line", null],
])("what a kill interrupted keeps what it has spent, once: %s", async (_, resume) => {
  const { server, pace, home, cwd, shared, run } = await scene();
  const cell = `${call("one")}; ${call("slow two")}; result = budget().sub_calls`;
  const next = `${CAUGHT}; result = left`;
  const line = ["exec", "-e", cell, "-e", next, ...shared];
  expect((await run("exec", "-e", call("earlier"))).code).toBe(0);
  await killedHere(server, 2, line, { cwd, home });
  pace.isFast = true;
  const goneOn = jsonLines(await belayHere(resume ?? line, { cwd, home }));
  // The cell behind it is of the same question, whose two calls are spent.
  expect(goneOn).toMatchObject([
    { result_json: 0, budget: { remaining_sub_calls: 0, session: { sub_calls: 3 } } },
    { result_json: Array(3).fill("budget_exceeded") },
  ]);
  const fresh = json(await run("exec", "-e", "budget().sub_calls"));
  expect(fresh).toMatchObject({ result_json: 2, budget: { session: { sub_calls: 3 } } });
});

test("a resume with a higher limit has more left, and what was spent stays", async () => {
  const { server, pace, home, cwd, shared } = await scene();
  const line = ["exec", "-e", `${call("one")}; ${call("slow two")}; result = budget().sub_calls`, ...shared];
  await killedHere(server, 2, line, { cwd, home });
  pace.isFast = true;
  const resumed = await belayHere(["resume", "work", "-q", "--json", "--max-sub-calls", "9"], { cwd, home });
  expect(json(resumed)).toMatchObject({ result_json: 7 });
});

test("an ask that a kill interrupted still knows the limits that it had met", async () => {
  const { server, pace, home, cwd, shared } = await scene([CAUGHT, "// slow\nanswer('yes')"]);
  const line = ["ask", "Which?", "-c", "notes.txt", ...shared];
  await killedHere(server, 4, line, { cwd, home });
  pace.isFast = true;
  const resumed = await belayHere(["resume", "work", "-q", "--json"], { cwd, home });
  expect(resumed.code).toBe(3);
  expect(json(resumed)).toMatchObject({ success: true, answer: "yes", sub_calls: 2, limits_met: ["sub_calls"] });
});

test("turns and tokens are limits of an ask too, and an ask that fails by one ends with 3 as well", async () => {
  const { run } = await scene(Array(9).fill("print(P.length, Math.random())"));
  const turns = await run("ask", "Which?", "-c", "notes.txt", "--max-turns", "1");
  expect(turns.code).toBe(3);
  expect(json(turns)).toMatchObject({ success: false, error_code: "no_answer", limits_met: ["turns"] });
  const none = await run("ask", "And now?", "--max-tokens", "2000");
  expect(none.code).toBe(3);
  expect(json(none)).toMatchObject({ success: false, error_code: "budget_exceeded", limits_met: ["tokens"] });
});
