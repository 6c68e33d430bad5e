import { expect, test } from "vitest";
import type { Completion } from "../../../src/index.ts";
import { type RunWorkflowOptions, runWorkflow } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";
import { META } from "../../support/workflow.ts";

type Answer = (prompt: string, signal: AbortSignal) => Completion | Promise<Completion>;

/** Options whose model answers as a function does, and the prompts that it was asked. */
function asking(answer: Answer = (prompt) => ({ text: prompt.toUpperCase() })) {
  const prompts: string[] = [];
  const options: RunWorkflowOptions = {
    model: "test/scripted",
    price: "1/1",
    complete: async (request, { signal }) => {
      const last = request.messages.at(-1);
      const prompt = last && "text" in last ? last.text : "";
      prompts.push(prompt);
      return answer(prompt, signal);
    },
  };
  return { options, prompts };
}

const script = (rest: string) => `${META}\n${rest}`;

test("a script runs in a session of its own, with args and limits that are wide", async () => {
  const { options, prompts } = asking();
  const source = script("return [await agent(args.ask), budget.total, budget.usd.total]");
  const envelope = await runWorkflow(source, { ...options, args: { ask: "what?" } });
  expect(envelope).toMatchObject({ success: true, result_json: ["WHAT?", null, null] });
  expect(envelope.limits_applied.max_output_bytes).toBe(2 ** 20);
  expect(prompts).toEqual(["what?"]);
});

test("a limit of the caller's is what the script sees as its budget", async () => {
  const { options } = asking();
  const budget = { max_tokens: 500_000, max_cost_usd: 2 };
  const envelope = await runWorkflow(script("return [budget.total, budget.usd.total]"), { ...options, budget });
  expect(envelope.result_json).toEqual([500_000, 2]);
});

test("the same call gives the record of the end, and other args are another run", async () => {
  const { options, prompts } = asking();
  const kept = { ...options, store: folderWith(), session: "audit" } as const;
  const source = script("return await parallel(args.map((one) => () => agent(one)))");
  const first = await runWorkflow(source, { ...kept, args: ["a", "b"] });
  const again = await runWorkflow(source, { ...kept, args: ["a", "b"] });
  expect(again).toEqual({ ...first, budget: again.budget });
  expect(prompts).toEqual(["a", "b"]);
  const other = await runWorkflow(source, { ...kept, args: ["c"] });
  expect(other.result_json).toEqual(["C"]);
  expect(prompts).toEqual(["a", "b", "c"]);
});

test("a run that was suspended continues, and an answer that is recorded is not asked for again", async () => {
  const stop = new AbortController();
  const { options, prompts } = asking(async (prompt, signal) => {
    if (prompt !== "b" || stop.signal.aborted) return { text: prompt };
    stop.abort();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { text: "late" };
  });
  const kept = { ...options, store: folderWith(), session: "audit" } as const;
  const source = script("return [await agent('a'), await agent('b')]");
  const first = await runWorkflow(source, { ...kept, suspend: stop.signal });
  expect(first).toMatchObject({ success: false, resumable: true });
  expect(await runWorkflow(source, kept)).toMatchObject({ success: true, result_json: ["a", "b"] });
  expect(prompts).toEqual(["a", "b", "b"]);
});

test("a session with other unfinished work refuses a run", async () => {
  const stop = new AbortController();
  const { options } = asking(async (prompt, signal) => {
    stop.abort();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { text: prompt };
  });
  const kept = { ...options, store: folderWith(), session: "audit" } as const;
  await runWorkflow(script("return await agent('a')"), { ...kept, suspend: stop.signal });
  await expect(runWorkflow(script("return await agent('b')"), kept)).rejects.toMatchObject({ code: "exec_unfinished" });
});

test("workflow() runs scripts of `workflows`, one level deep", async () => {
  const { options } = asking();
  const workflows = {
    child: script("phase('Inner'); log(typeof parallel); return [await agent(args.word), budget.total]"),
    deep: script("return await workflow('child')"),
    typed: script("const n: number = args; return n + 1"),
    broken: script("const = 1"),
  };
  const source = script(
    "phase('Outer'); const child = await workflow('child', { word: 'hi' }); const label = await agent('after');\n" +
      "const failed = []; for (const name of ['deep', 'none', 'broken']) await workflow(name).catch((error) => failed.push(error.message));\n" +
      "return [child, label, await workflow({ scriptPath: 'typed' }, 1), failed]",
  );
  const { result_json, stderr } = await runWorkflow(source, { ...options, workflows });
  expect(result_json).toEqual([
    ["HI", null],
    "AFTER",
    2,
    [
      "workflow(): a workflow that another one runs cannot run a third (w:2:14)",
      expect.stringContaining("the workflow none is not in `workflows`"),
      expect.stringContaining("broken.js:2:7: Unexpected token"),
    ],
  ]);
  expect(stderr).toBe("— Outer\n— Inner\nfunction\n");
});

test("an agent that is not in `agents` is refused before anything runs", async () => {
  const call = runWorkflow(script("return 1"), { agent: "claud", agents: { claude: { command: ["claude", "-p"] } } });
  await expect(call).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("the agent claud is not in `agents`"),
    suggestion: "Agents are claude.",
  });
});

test("agents that gave no answer are counted in a warning", async () => {
  const { options } = asking((prompt) => (prompt === "b" ? { text: "" } : { text: prompt }));
  const source = script("return await parallel(['a', 'b', 'c'].map((one) => () => agent(one, { tools: [] })))");
  const envelope = await runWorkflow(source, options);
  expect(envelope.result_json).toEqual(["a", null, "c"]);
  expect(envelope.warnings).toContain("agents_unanswered: 1 of 3 agents gave no answer");
  expect(envelope.stderr).toMatch(/^agent b gave no answer, and is null: .*\n$/);
});

test("a run whose budget is used up waits, and continues with a larger one", async () => {
  const { options, prompts } = asking((prompt) => ({ text: prompt.toUpperCase(), usage: { input: 3_000, output: 0 } }));
  const kept = { ...options, store: folderWith(), session: "audit" } as const;
  const source = script(
    "const seen = []; for (const one of ['a', 'b', 'c']) seen.push(await agent(one, { tools: [] })); return seen",
  );
  const small = await runWorkflow(source, { ...kept, budget: { max_tokens: 4_200 } });
  expect(small).toMatchObject({ success: false, error_code: "budget_exceeded", resumable: true });
  const before = prompts.length;
  expect(before).toBeLessThan(3);
  expect((await runWorkflow(source, { ...kept, budget: { max_tokens: 100_000 } })).result_json).toEqual([
    "A",
    "B",
    "C",
  ]);
  expect(prompts).toEqual(["a", "b", "c"]);
});
