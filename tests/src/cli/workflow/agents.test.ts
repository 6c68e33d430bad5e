import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import type { AgentCommand } from "../../../../src/platform/agent-commands.ts";
import { doing, loggedIn, type Script, scriptedAgent, startsIn } from "../../../support/agents/agents.ts";
import { finished, json, startBelay } from "../belay.ts";
import { belayHere } from "../in-process.ts";
import { META, scene } from "./scene.ts";

/** Runs what its args say, each by the agent `a`. */
const SCRIPT = `${META}
phase("Find");
const found = await parallel(args.map((prompt, at) => () => agent(prompt, { label: "file " + at, phase: at % 2 ? "Odd" : "Even" })));
return found;
`;
const IN_TREE = SCRIPT.replace('label: "file " + at', 'isolation: "worktree"');

async function withAgent(entry: Partial<AgentCommand> = {}, script = SCRIPT) {
  const agents = { a: scriptedAgent("json", { max_usd: 0.5, ...entry }) };
  const { work, home, ...rest } = await scene({
    "home/config.json": JSON.stringify({ agents }),
    "work/audit.js": script,
  });
  const log = join(work, "log");
  const env = { ...rest.env, BELAY_AGENT_LOG: log };
  const line = (...scripts: readonly Script[]) => [
    ...["workflow", "audit.js", "--agent", "a", "--args", JSON.stringify(scripts.map(doing))],
  ];
  return {
    ...{ work, home, env, log, line },
    run: (args: readonly string[]) => belayHere(args, { cwd: work, home, env }),
    start: (args: readonly string[]) => startBelay(args, { cwd: work, home, env }),
    configure: (entries: object) => writeFileSync(join(home, "config.json"), JSON.stringify({ agents: entries })),
    begun: async (count: number) => {
      while (loggedIn(log).filter(({ what }) => what === "BEGUN").length < count) await setTimeout(20);
    },
  };
}

test("show has a row for each agent, by phase, with its label, agent, tokens, dollars and state", async () => {
  const { run, line } = await withAgent();
  const fails = { fails: true, says: "cannot", code: 1 };
  const usage = { tokens: [10, 5] as const, usd: 0.1 };
  const { code, stdout } = await run(line({ says: "zero", ...usage }, fails, { says: "two", ...usage }));
  expect([code, JSON.parse(stdout)]).toEqual([1, ["zero", null, "two"]]);
  const shown = (await run(["show"])).stdout;
  const rows = shown.split("\n").filter((row) => row.includes("agent:a/default"));
  expect(rows.map((row) => row.trim().replaceAll(/\d+(\.\d+)? m?s/g, "TIME"))).toEqual([
    "1  ok               agent:a/default  TIME  15 tokens $0.100  Even: file 0",
    "3  ok               agent:a/default  TIME  15 tokens $0.100  Even: file 2",
    expect.stringMatching(/^2 {2}sub_agent_error {2}agent:a\/default {2}TIME .*Odd: file 1$/),
  ]);
  expect(shown).toContain("workflow audit: looks at files\n");
});

test("a program that is missing makes the run wait: 3, and it continues once it is there", async () => {
  const { run, line, configure } = await withAgent();
  configure({ a: { command: ["/no/such/program"] } });
  const asked = line({ says: "well" });
  const { code, stderr } = await run(asked);
  expect([code, stderr]).toEqual([3, expect.stringContaining("the agent a could not be started: ")]);
  const name = /continue with: belay resume (\S+)/.exec(stderr)?.[1] ?? "";
  expect(json(await run([...asked, "--json"]))).toMatchObject({ success: false, resumable: true, run: name });
  const said = "waits: the agent a could not be started: ";
  const listed = (await run(["sessions"])).stdout;
  expect(listed).toMatch(/^audit-\w+ +waits /m);
  expect(listed).toContain(`\n${name} ${said}`);
  const shown = (await run(["show", name])).stdout;
  expect(shown).toContain(`\n${said}`);
  expect(shown).toMatch(/^ +1 {2}waiting [\s\S]*\nsuggestion: Correct its entry /m);
  const why = { code: "no_model_configured", message: expect.stringContaining("could not be started") };
  expect(json(await run(["show", name, "--json"])).session).toMatchObject({ waits_for: why });
  expect(json(await run(["view", name, "--json"])).trace.session.waiting).toContain("could not be started");
  configure({ a: scriptedAgent() });
  expect(await run(["resume", name])).toMatchObject({ code: 0, stdout: '["well"]\n' });
  expect(json(await run(["sessions", "--json"])).sessions[0]).not.toHaveProperty("waits_for");
  expect(await run(asked)).toMatchObject({ code: 0, stderr: expect.stringContaining("has ended") });
});

test("the usual number of tokens, typed as a limit, counts agents that tell none, and unset does not", async () => {
  const { run, line } = await withAgent({ output: { text: "/result" } });
  const asked = [...line({ says: "well" }), "--dry-run"];
  const uncounted = "the agent does not tell them";
  expect((await run(asked)).stdout).toContain(uncounted);
  expect((await run([...asked, "--max-tokens", "10000000"])).stdout).not.toContain(uncounted);
});

test("a limit of the account makes the run wait, and says until when", async () => {
  const { run, line } = await withAgent({ limit: "usage limit" });
  const at = Math.floor(Date.now() / 1000) + 7200;
  const { code, stderr } = await run(line({ fails: true, says: `Claude AI usage limit reached|${at}`, code: 1 }));
  expect([code, stderr]).toEqual([3, expect.stringMatching(/^it may continue in \d h$/m)]);
  // The time on the clock is said once.
  const clock = /\b\d\d:\d\d\b/g;
  expect(stderr.match(clock)).toHaveLength(1);
  const [waits = ""] = /^waits: .*$/m.exec((await run(["show"])).stdout) ?? [];
  expect(waits).toMatch(
    /^waits: the agent a has reached a limit, and may be started again at .*; it may continue in \d h$/,
  );
  expect(waits.match(clock)).toHaveLength(1);
  expect(json(await run(["sessions", "--json"])).sessions[0].waits_for).toMatchObject({ retry_at: at * 1000 });
});

test("Ctrl-C ends the agents, says what starting them again may cost, and the same line continues", async () => {
  const { start, run, line, begun, log } = await withAgent();
  const asked = line({ says: "done" }, { ms: 60_000 });
  const child = start(asked);
  const ended = finished(child);
  await begun(2);
  await setTimeout(500);
  expect((await run(["show"])).stdout).toMatch(/^ +2 {2}running {2}agent:a\/default .* Odd: file 1$/m);
  child.kill("SIGINT");
  const { code, stderr } = await ended;
  expect(code).toBe(130);
  expect(stderr).toContain("ending 1 agent; starting it again may cost up to $0.500");
  const name = /continue with: belay resume (\S+)/.exec(stderr)?.[1] ?? "";
  const removed = await run(["rm", name]);
  expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining(`removed ${name}`) });
  expect([...startsIn(log).values()]).toEqual([1, 1]);
});

test("a terminal that closes leaves agents at work, and the next process takes over their answers", async () => {
  const { start, run, line, begun, log } = await withAgent();
  const child = start(line({ ms: 1500, says: "kept" }));
  const ended = finished(child);
  await begun(1);
  child.kill("SIGHUP");
  expect((await ended).code).toBe(129);
  expect((await run(["show"])).stdout).toMatch(/^ +1 {2}started {2}agent:a\/default .* Even: file 0$/m);
  expect(await run(["resume"])).toMatchObject({ code: 0, stdout: '["kept"]\n' });
  expect([...startsIn(log).values()]).toEqual([1]);
});

test("worktrees with changes are told, and rm drops them only with --discard", async () => {
  const { run, line, work } = await withAgent({}, IN_TREE);
  const git = (await import("node:child_process")).execFileSync;
  const inWork = (...words: readonly string[]) => git("git", ["-C", work, ...words], { stdio: "ignore" });
  inWork("init");
  inWork("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "begin");
  const { code, stderr } = await run(line({ writes: ["new.txt", "work"], says: "wrote" }));
  expect(code).toBe(0);
  const tree = /the changes of call 1 are in (\S+)/.exec(stderr)?.[1] ?? "";
  expect(existsSync(join(tree, "new.txt"))).toBe(true);
  const name = /session (\S+)/.exec(stderr)?.[1] ?? "";
  expect((await run(["show", name])).stdout).toContain(`(changes in ${tree})`);
  const refused = await run(["rm", name]);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`1 worktree with changes of its agents: ${tree}`),
  });
  expect(refused.stderr).toContain("(worktrees_changed)");
  expect(refused.stderr).toContain(`\`belay rm ${name} --discard\` drops them too`);
  const removed = await run(["rm", name, "--discard"]);
  expect(removed.stdout).toContain(", with 1 outbox of its agents and 1 worktree");
  expect(existsSync(tree)).toBe(false);
});

test("what is left of sessions that are gone is told by doctor, and dropped by gc", async () => {
  const { run, home, configure } = await withAgent();
  await run(["exec", "-e", "1"]);
  const tree = join(home, "agents", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAV.1", "tree");
  mkdirSync(tree, { recursive: true });
  configure({ a: scriptedAgent(), b: { command: ["no-such-program"] } });
  const { checks } = json(await run(["doctor", "--json"]));
  const agents = checks.find(({ name }: { readonly name: string }) => name === "agents");
  expect(agents.state).toBe("warning");
  expect(agents.detail).toContain("a, b; a program of Belay was run as an agent");
  expect(agents.detail).toContain("the program of the agent b was not found: no-such-program");
  expect(agents.detail).toContain("has 1 outbox and 1 worktree of a session that is gone");
  expect((await run(["gc", "--dry-run"])).stdout).toContain(`would drop the worktree ${tree}`);
  expect(json(await run(["gc", "--json"])).agents).toEqual({ outboxes: 1, worktrees: [tree] });
  expect(existsSync(tree)).toBe(false);
});

test("a run that another user has recorded is not resumed, since it may ask agents", async () => {
  const { run, line, configure, env } = await withAgent();
  configure({ a: { command: ["/no/such/program"] } });
  expect((await run(line({ says: "well" }))).code).toBe(3);
  configure({ a: scriptedAgent() });
  rmSync(env.XDG_CONFIG_HOME, { recursive: true });
  const { code, stderr } = await run(["resume"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("(settings_untrusted)")]);
  expect(stderr).toMatch(/belay workflow \S+audit\.js` with its args begins the workflow for you/);
});

test("after an edit --reuse makes only the calls that ask something new, and the line says how many", async () => {
  const { run, line, work, log } = await withAgent();
  const first = json(await run([...line({ says: "zero" }, { says: "one" }), "--json"]));
  writeFileSync(join(work, "audit.js"), `${SCRIPT}// edited\n`);
  const edited = [...line({ says: "zero" }, { says: "new" }), "--reuse", first.run];
  const dry = await run([...edited, "--dry-run"]);
  expect([dry.code, dry.stdout]).toEqual([
    0,
    expect.stringMatching(/^Odd {2}1 sub-call .*\$0\.500\n1 answer is on record\n/),
  ]);
  const { code, stdout, stderr } = await run(edited);
  expect([code, stdout]).toEqual([0, '["zero", "new"]\n']);
  expect(stderr).toContain(`1 of 2 answers are those of ${first.run}; 1 call was made`);
  expect(startsIn(log).size).toBe(3);
  expect(json(await run([...edited, "--json"]))).toMatchObject({
    reused_from: first.run,
    agents: { made: 2, reused: 1 },
  });
  const only = await run([...edited, "--only", "Even"]);
  expect([only.code, only.stderr]).toEqual([3, expect.stringContaining("is not of the phase Even, and")]);
  // The line without --reuse is the same run, and pays nothing.
  const plain = await run(line({ says: "zero" }, { says: "new" }));
  expect([plain.code, plain.stdout, startsIn(log).size]).toEqual([0, stdout, 3]);
});
