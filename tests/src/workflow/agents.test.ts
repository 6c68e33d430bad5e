import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { runWorkflow } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";
import { META } from "../../support/workflow.ts";

/** A program that prints its words, its folder and its prompt. */
const TELL =
  "console.log([...process.argv.slice(1), process.cwd(), require('fs').readFileSync(0, 'utf8')].join(' | '))";

const told = (name: string) => ({
  command: [process.execPath, "-e", TELL, name],
  with: { model: ["--model", "{model}"], effort: ["--effort", "{effort}"] },
});

test("agents of the user's get what a script says: model, effort, a worktree, and which of them answers", async () => {
  const cwd = folderWith({ "a.txt": "a" });
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "a");
  const script = [
    META,
    "return await parallel([",
    "  () => agent('one', { model: 'opus', effort: 'high' }),",
    "  () => agent('two', { agentType: 'codex', model: 'inherit' }),",
    "  () => agent('three', { isolation: 'worktree' }),",
    "  () => agent('four', { agentType: 'Explore', tools: ['bash'] }),",
    "])",
  ].join("\n");
  const options = {
    cwd,
    agentsDir: folderWith(),
    agent: "claude",
    agents: { claude: told("claude"), codex: told("codex") },
  };
  const { result_json, stderr, warnings, ...envelope } = await runWorkflow(script, options);
  expect(envelope).toMatchObject({ success: true });
  expect(result_json).toEqual([
    `claude | --model | opus | --effort | high | ${cwd} | one`,
    `codex | ${cwd} | two`,
    expect.stringMatching(/^claude \| (?!.*belay-test-[^/]+ \|)\/.+ \| three$/),
    `claude | ${cwd} | four`,
  ]);
  expect(warnings).toEqual([]);
  expect(stderr.split("\n").filter(Boolean)).toEqual([
    "agent(): no agent Explore is configured; claude answers",
    "agent(): the option tools does nothing for the agent claude",
  ]);
});

test("an agent that fails gives null and says why, and the others go on", async () => {
  const cwd = folderWith();
  const command = [process.execPath, "-e", "console.error('no disk'); process.exit(3)"];
  const script = `${META}\nreturn await parallel([() => agent('a', { agentType: 'bad', label: 'first' }), () => agent('b')])`;
  const agents = { bad: { command }, good: told("good") };
  const envelope = await runWorkflow(script, { cwd, agentsDir: folderWith(), agents, agent: "good" });
  expect(envelope.result_json).toEqual([null, `good | ${cwd} | b`]);
  expect(envelope.stderr).toMatch(/^agent first gave no answer, and is null: .*no disk/);
  expect(envelope.warnings).toContain("agents_unanswered: 1 of 2 agents gave no answer");
});
