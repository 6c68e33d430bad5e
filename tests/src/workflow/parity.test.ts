import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LIMITS } from "../../../runtime/index.ts";
import { ROOT } from "../../../scripts/process.ts";
import { runWorkflow, type SessionOptions } from "../../../src/index.ts";
import type { ModelAnswer, ModelRequest } from "../../../src/models/index.ts";
import { readWorkflow, WORKFLOW_BUDGET } from "../../../src/workflow/index.ts";
import { meeting, promptOf, USAGE } from "../../support/scripted-session.ts";
import { META, runScript } from "../../support/workflow.ts";

/** A failure of the provider. */
const DOWN = {
  ok: false,
  usage: USAGE,
  charged: false,
  error: { code: "provider_error", message: "down", suggestion: "", retriable: false },
} as const;

/** An answer that repeats its prompt, or a failure for prompts that begin with `bad`. */
const echo = (request: ModelRequest): string | ModelAnswer => {
  const prompt = promptOf(request);
  return prompt.startsWith("bad") ? DOWN : prompt;
};

const message = (code: string) => `await (async () => { ${code} })().then(() => null, (error) => error.message)`;

/** The lines of the list in docs/workflows.md, each with what holds it. */
const LINES: Readonly<Record<string, () => Promise<void>>> = {
  async "`meta`"() {
    const source = "export const meta = {\n  name: 'w', // its name\n  description: `a trial`,\n};\nreturn 1";
    expect(readWorkflow(source, "w.js").meta).toEqual({ name: "w", description: "a trial", phases: [] });
  },
  async "plain JavaScript with `await` and `return`"() {
    const { result } = await runScript(
      "const seen = new Set();\n" +
        "for await (const one of [agent('a'), agent('b'), agent('a')]) seen.add(one);\n" +
        "while (seen.size < 3) seen.add(await agent('c' + seen.size));\n" +
        "const [x, { y = 2 }] = [await Promise.all([...seen].map((one) => agent(one))), {}];\n" +
        "return { x, y, at: x.at(-1)?.length }",
      echo,
    );
    expect(result).toEqual({ x: ["a", "b", "c2"], y: 2, at: 2 });
  },
  async TypeScript() {
    const { result, lines } = await runScript("const n: number = 1;\nreturn n as unknown");
    expect(result).toBe(1);
    expect(lines).toEqual(["the script is TypeScript: its types were left out, and nothing checked them"]);
  },
  async "names of the script's own"() {
    expect((await runScript("const log = 1; function phase() { return 2 }\nreturn log + phase()")).result).toBe(3);
  },
  async "`agent(prompt)`"() {
    expect((await runScript("return await agent('hello')", echo)).result).toBe("hello");
    const told = "agent(): the prompt must be a string, not";
    const wrong = await runScript(
      `return [${message("await agent()")}, ${message("await agent(['a'])")}, ${message("await agent(agent('x'))")}, ${message("await agent('a', 'label')")}]`,
      echo,
    );
    expect(wrong.result).toEqual([
      `${told} undefined`,
      `${told} an array`,
      `${told} a promise: await it`,
      "agent(): the options must be an object, not a string",
    ]);
  },
  async "`schema`"() {
    const schema =
      "{ type: 'object', properties: { at: { $ref: '#/$defs/Place' } }, required: ['at'], $defs: { Place: { type: 'string' } } }";
    const script = `return await agent('where?', { schema: ${schema} })`;
    expect((await runScript(script, () => '{"at":"a.ts:3"}')).result).toEqual({ at: "a.ts:3" });
    const misfit = await runScript(script, () => '{"at":3}');
    expect(misfit.envelope).toMatchObject({ success: false, error_code: "schema_mismatch" });
    expect(misfit.seen.prompts).toHaveLength(2);
    const unknown = await runScript("return await agent('a', { schema: { type: 'object', if: {} } })");
    expect(unknown.error).toContain("schema has an unsupported keyword at /if");
  },
  async "an agent that fails"() {
    const { result, lines, warnings } = await runScript(
      "return [await agent('bad luck', { label: 'first' }), await agent('x')]",
      echo,
    );
    expect(result).toEqual([null, "x"]);
    expect(lines).toEqual(["agent first gave no answer, and is null: down"]);
    expect(warnings).toContain("agents_unanswered: 1 of 2 agents gave no answer");
  },
  async "`label`"() {
    const { calls } = await runScript("await agent('x', { label: 'find: a.ts' })");
    expect(calls).toEqual([{ label: "find: a.ts" }]);
  },
  async "`phase`"() {
    const { calls } = await runScript(
      "await pipeline([1], () => { phase('Find'); return agent('a') }, () => agent('b', { phase: 'Verify' }), () => agent('c'))",
    );
    expect(calls).toEqual([{ phase: "Find" }, { phase: "Verify" }, { phase: "Find" }]);
  },
  async "`model`"() {
    const script =
      "await agent('a', { model: 'haiku' }); await agent('b', { model: 'opus' }); await agent('c', { model: 'opus' }); await agent('d', { model: 'inherit' })";
    const { calls, lines } = await runScript(script, echo, { settings: { aliases: { haiku: "test/small" } } });
    expect(calls).toEqual([{ model: "test/small" }, {}, {}, {}]);
    expect(lines).toEqual([
      "agent(): the model opus is not known here (agent_models of your configuration names it); the session's model answers",
    ]);
  },
  async "`effort`"() {
    const { calls, lines } = await runScript(
      "await agent('a', { effort: 'high' }); await agent('b', { effort: 'ultra' }); await agent('c', { effort: 'XHigh' })",
    );
    expect(calls).toEqual([{ thinking: "high" }, {}, { thinking: "xhigh" }]);
    expect(lines).toEqual([
      expect.stringMatching(/^agent\(\): the effort ultra is not known, and does nothing; it is one of /),
    ]);
  },
  async "`isolation`"() {
    const script = "for (const isolation of ['worktree', 'worktree', 'remote']) await agent('a', { isolation })";
    const { calls, lines } = await runScript(script);
    expect(calls).toEqual([{}, {}, {}]);
    expect(lines).toEqual([
      "agent(): isolation does nothing: models only read files",
      "agent(): the isolation remote is not known, and does nothing",
    ]);
  },
  async "`agentType`"() {
    const { calls, lines } = await runScript(
      "await agent('a', { agentType: 'Explore' }); await agent('b', { agentType: 'Explore' })",
    );
    expect(calls).toEqual([{}, {}]);
    expect(lines).toEqual(["agent(): no agent Explore is configured; the session's model answers"]);
    const named = await runScript("await agent('a', { agentType: 'codex' }).catch(() => 0)", echo, {
      settings: { agents: ["codex"] },
    });
    expect(named.lines).toEqual([]);
  },
  async "other options"() {
    const { calls, lines } = await runScript(
      "for (const n of [1, 2]) await agent('a', { tools: [], temperature: n, mcpServers: {} })",
    );
    expect(calls).toEqual([{ tools: [] }, { tools: [] }]);
    expect(lines).toEqual([
      "agent(): the option temperature is not known, and does nothing",
      "agent(): the option mcpServers is not known, and does nothing",
    ]);
  },
  async "`parallel(thunks)`"() {
    const { result, lines, seen } = await runScript(
      "return await parallel([() => agent('a'), () => { throw new Error('no') }, () => agent('bad'), async () => (await agent('c')).length, () => undefined])",
      async (request) => echo(request),
    );
    expect(result).toEqual(["a", null, null, 1, null]);
    expect(seen.peak).toBe(3);
    expect(lines).toEqual([
      "parallel(): item 1 threw Error: no, and is null",
      "agent bad gave no answer, and is null: down",
    ]);
    expect((await runScript(`return ${message("await parallel(agent('a'))")}`, echo)).result).toBe(
      "parallel() takes an array, not a promise: await it",
    );
  },
  async "promises and values in `parallel`"() {
    expect((await runScript("return await parallel([agent('a'), 2, agent('bad'), null])", echo)).result).toEqual([
      "a",
      2,
      null,
      null,
    ]);
  },
  async "`pipeline(items, ...stages)`"() {
    const arrived: string[] = [];
    const late = Promise.withResolvers<void>();
    const { result, lines } = await runScript(
      "return await pipeline(['a', 'b', 'c'],\n" +
        "  (item, original, index) => agent(item + index),\n" +
        "  (found, item, index) => { if (index === 1) throw new Error('odd'); return agent(found + ' of ' + item) },\n" +
        "  (found, item, index) => [found, item, index])",
      async (request) => {
        const prompt = promptOf(request);
        // The first item's first stage lasts until the last item is through its second.
        if (prompt === "a0") await late.promise;
        arrived.push(prompt);
        if (prompt === "c2 of c") late.resolve();
        return prompt;
      },
    );
    expect(result).toEqual([["a0 of a", "a", 0], null, ["c2 of c", "c", 2]]);
    expect(arrived.indexOf("c2 of c")).toBeLessThan(arrived.indexOf("a0"));
    expect(lines).toEqual(["pipeline(): item 1 threw Error: odd, and is null"]);
    expect((await runScript(`return ${message("await pipeline([1], 2)")}`)).result).toBe(
      "pipeline(): stage 1 is a number, not a function",
    );
  },
  async "`phase(title)`"() {
    const { lines, calls } = await runScript("phase('Find'); await agent('a'); phase('Verify'); await agent('b')");
    expect(lines).toEqual(["— Find", "— Verify"]);
    expect(calls).toEqual([{ phase: "Find" }, { phase: "Verify" }]);
  },
  async "`log(message)`"() {
    const { lines, out } = await runScript("log('three', { files: ['a.ts'] }, [1]); console.log('said')");
    expect(lines).toEqual(['three { files: ["a.ts"] } [1]']);
    expect(out).toBe("said\n");
  },
  async "`args`"() {
    const { result } = await runScript("const { files = [], deep } = args ?? {}; return [files, deep]", echo, {
      settings: { args: { files: ["a"], deep: null } },
    });
    expect(result).toEqual([["a"], null]);
    expect((await runScript("return args === undefined")).result).toBe(true);
  },
  async "`budget`"() {
    const script =
      "const before = budget.remaining(); await agent('a'); return [budget.total, before - budget.remaining(), budget.spent()]";
    const limited = await runScript(script, echo, {
      settings: { tokens: true },
      options: { budget: { max_tokens: 90_000 } },
    });
    expect(limited.result).toEqual([90_000, 15, 15]);
    const free = await runScript(
      "await agent('a'); return [budget.total, budget.remaining() === Infinity, budget.spent()]",
      echo,
    );
    expect(free.result).toEqual([null, true, 15]);
  },
  async "`budget.usd`"() {
    const script = "await agent('a'); return [budget.usd.total, budget.usd.remaining(), budget.usd.spent()]";
    const { result } = await runScript(script, echo, {
      settings: { dollars: true },
      options: { budget: { max_cost_usd: 2 } },
    });
    expect(result).toEqual([2, 1.999, 0.001]);
  },
  async "`workflow(name, args)`"() {
    const child = `${META}\nreturn [args, ${message("await workflow('child')")}]`;
    const source = `${META}\nreturn [await workflow('child', 1), await workflow({ scriptPath: 'child' }), ${message("await workflow('none')")}, ${message("await workflow(3)")}]`;
    const { result_json } = await runWorkflow(source, { workflows: { child } });
    const deep = "workflow(): a workflow that another one runs cannot run a third";
    expect(result_json).toEqual([
      [1, deep],
      [null, deep],
      expect.stringContaining("the workflow none is not in `workflows`"),
      "workflow() takes a name or { scriptPath }, not a number",
    ]);
    expect((await runScript(`return ${message("await workflow('x')")}`)).result).toBe(
      "workflow(): there are no saved workflows here",
    );
  },
  async "16 agents at once"() {
    const meet = meeting(LIMITS.workflowAtOnce);
    let flying = 0;
    let peak = 0;
    const options: SessionOptions = {
      model: "test/scripted",
      price: "1/1",
      complete: async () => {
        peak = Math.max(peak, ++flying);
        await meet();
        flying--;
        return "yes";
      },
    };
    const { success } = await runWorkflow(
      `${META}\nreturn await Promise.all(Array.from({ length: 40 }, () => agent('x')))`,
      options,
    );
    expect([success, peak]).toEqual([true, 16]);
  },
  async "1,000 agents in all"() {
    expect(WORKFLOW_BUDGET.max_sub_calls).toBe(1000);
    const { result, envelope } = await runScript(
      `for (let n = 0; n < 3; n++) await agent('a'); return ${message("await agent('a')")}`,
      echo,
      { options: { budget: { max_sub_calls: 3 } } },
    );
    expect(result).toContain("no sub-calls are left");
    expect(envelope.warnings).toContain("limit_met: sub_calls");
  },
  async "4,096 items in one call"() {
    const { result } = await runScript(
      `const many = (length) => Array.from({ length }, () => () => 1); const few = await parallel(many(4096)); return [few.length, ${message("await parallel(many(4097))")}, ${message("await pipeline(many(4097))")}]`,
    );
    expect(result).toEqual([
      4096,
      "parallel(): 4097 items, the limit is 4096: split the list",
      "pipeline(): 4097 items, the limit is 4096: split the list",
    ]);
  },
  async "the clock and random numbers"() {
    const { result } = await runScript(
      "return [Date.now() > 1e12, new Date().getFullYear() > 2000, Math.random() < 1]",
    );
    expect(result).toEqual([true, true, true]);
  },
  async "timers, files, modules, the web"() {
    const told = async (code: string) => (await runScript(code)).error;
    expect(await told("await new Promise((resolve) => setTimeout(resolve, 10))")).toContain(
      "setTimeout is not defined: leave the pause out",
    );
    expect(await told("require('fs').readFileSync('a')")).toContain(
      'require("fs") is not available: have an agent read, write or run it',
    );
    expect(await told("await fetch('http://a')")).toContain(
      "fetch is not defined: have an agent with the web look there",
    );
    expect(await told("process.env.HOME")).toContain("process is not defined: pass in args");
    expect((await runScript("return await parallel([() => fs.readFileSync('a')])")).lines).toEqual([
      expect.stringMatching(/^parallel\(\): item 0 threw ReferenceError: fs is not defined: have an agent read/),
    ]);
    expect(() => readWorkflow(`${META}\nconst fs = await import("node:fs");`, "w.js")).toThrow(
      "w.js:2:18: a workflow has no modules",
    );
  },
  async "the result"() {
    expect((await runScript("return { a: [1, 'b', null] }")).result).toEqual({ a: [1, "b", null] });
    expect((await runScript("log('no return')")).envelope).toMatchObject({ success: true, result_json: null });
    const set = await runScript("return { found: new Set(['a']) }");
    expect(set.warnings).toContain("result_not_serializable: result.found (a Set)");
  },
  async "agents that are not awaited"() {
    const { lines, warnings } = await runScript("agent('a', { label: 'stray' }); return 1", echo);
    expect(lines).toEqual([expect.stringContaining("agent stray gave no answer, and is null: the cell ended before")]);
    expect(warnings).toContain("unawaited_sub_calls: 1");
  },
};

describe("the format", () => {
  for (const [line, holds] of Object.entries(LINES)) test(line, holds);
});

/** The first cells of the list's rows. */
function linesOfPage(): readonly string[] {
  const page = readFileSync(join(ROOT, "docs/workflows.md"), "utf8");
  const [, list = ""] = page.split("\n## The format, line by line\n");
  const rows = list.split("\n## ")[0]?.match(/^\| .+$/gm) ?? [];
  return rows.slice(1).map((row) => row.split(" | ")[0]?.replace(/^\| /, "") ?? "");
}

/** Lines of the list that are held elsewhere, by the file and a part of the test's title. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, title: string]>> = {
  "a run that was stopped": ["tests/src/workflow/run.test.ts", "a run that was suspended continues"],
  "saved workflows": ["tests/src/workflow/saved.test.ts", "the user's count before the project's"],
};

test("each line of the list in docs/workflows.md has a test", () => {
  expect(linesOfPage()).toEqual([...Object.keys(LINES), ...Object.keys(ELSEWHERE)]);
  for (const [file, title] of Object.values(ELSEWHERE)) expect(readFileSync(join(ROOT, file), "utf8")).toContain(title);
});
