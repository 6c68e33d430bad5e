import { expect, test } from "vitest";
import { json } from "../belay.ts";
import { AUDIT, FILES, META, scene } from "./scene.ts";

test("a run prints its result, its phases and what the script logs", async () => {
  const { workflow, server } = await scene();
  const { code, stdout, stderr } = await workflow("audit.js", ...FILES);
  expect([code, JSON.parse(stdout)]).toEqual([0, ["did verify did find a", "did verify did find b"]]);
  // A run that takes longer says so in between.
  const lines = stderr.split("\n").filter((line) => !/ running, /.test(line));
  expect(lines.slice(0, 4)).toEqual([
    expect.stringMatching(/^audit: audit\.js, session audit-[0-9a-f]{6}$/),
    "— Find",
    "— Verify",
    "2 checked",
  ]);
  expect(server.requests).toHaveLength(4);
});

test("the same line shows the record of the end and pays nothing; --new runs it again as NAME-2", async () => {
  const { workflow, server } = await scene();
  const first = await workflow("audit.js", ...FILES);
  const again = await workflow("audit.js", ...FILES, "--max-tokens", "5000000");
  expect([again.code, again.stdout, server.requests.length]).toEqual([0, first.stdout, 4]);
  expect(again.stderr).toMatch(/session audit-\w+ has ended: this is its record, and --new runs it again\n— Find\n/);
  const other = await workflow("audit.js", ...FILES, "--new");
  expect(other.stderr).toMatch(/session audit-[0-9a-f]{6}-2\n/);
  expect(server.requests).toHaveLength(8);
});

test("other args are another run, and nothing is asked", async () => {
  const { workflow } = await scene();
  await workflow("audit.js", ...FILES);
  const { code, stdout, stderr } = await workflow("audit.js", "--args", '{"files":["c"]}');
  expect([code, stdout]).toEqual([0, '["did verify did find c"]\n']);
  expect(stderr).toMatch(/session audit-[0-9a-f]{6}\n/);
});

test("an edited script starts nothing before the user has chosen, and both lines are told", async () => {
  const { workflow, server, edit } = await scene();
  const first = await workflow("audit.js", ...FILES, "--json");
  const { run } = json(first);
  edit(`${AUDIT}// a comment\n`);
  const { code, stderr } = await workflow("audit.js", ...FILES);
  expect([code, server.requests.length]).toEqual([1, 4]);
  const line = `belay workflow audit.js --args '{"files":["a","b"]}'`;
  expect(stderr).toContain(`another text: ${run} (4 answers). Nothing was started (invalid_argument)`);
  expect(stderr).toContain(`\`${line} --reuse ${run}\` makes only the calls`);
  expect(stderr).toContain(`\`${line} --new\` takes over nothing`);
  const told = json(await workflow("audit.js", ...FILES, "--json"));
  expect(told).toMatchObject({ success: false, error_code: "invalid_argument" });
  const { code: code2 } = await workflow("audit.js", ...FILES, "--new");
  expect([code2, server.requests.length]).toEqual([0, 8]);
});

test("an edit is noticed by the script's name too, if the file was renamed", async () => {
  const { workflow, edit } = await scene();
  await workflow("audit.js", ...FILES);
  edit(`${AUDIT}// a comment\n`, "audit2.js");
  expect((await workflow("audit2.js", ...FILES)).stderr).toContain("has an earlier run with another text");
  edit(`${AUDIT.replace('"audit"', '"other"')}`, "other.js");
  expect((await workflow("other.js", ...FILES)).code).toBe(0);
});

test("a script that throws ends with 1", async () => {
  const { workflow, edit } = await scene();
  edit(`${META}\nthrow new Error("no files");`);
  const { code, stderr } = await workflow("audit.js");
  expect([code, stderr]).toEqual([1, expect.stringContaining("no files")]);
});

test("agents that give null end with 1, and the last line asks only those again", async () => {
  const failing = { status: 400, body: '{"error":{"message":"no"}}' };
  const { workflow } = await scene({}, ({ prompt }) => (prompt.includes("find b") ? failing : { text: "ok" }));
  const { code, stdout, stderr } = await workflow("audit.js", ...FILES);
  expect([code, JSON.parse(stdout)]).toEqual([1, ["ok", "ok"]]);
  const name = /session (\S+)/.exec(stderr)?.[1];
  const line = `belay workflow audit.js --args '{"files":["a","b"]}' --reuse ${name}`;
  expect(stderr.trimEnd().split("\n").at(-1)).toBe(`ask only those again: ${line}`);
  expect(json(await workflow("audit.js", ...FILES, "--json"))).toMatchObject({
    success: true,
    run: name,
    agents: { made: 4, answered: 3, failed: 1, reused: 0 },
    again: line,
    reused_from: null,
  });
});

test("args are JSON, a file with JSON, or a text, and what was meant to be JSON is refused", async () => {
  const { workflow, edit } = await scene({ "work/args.json": '\ufeff{"id": 9007199254740993}' });
  edit(`${META}\nreturn args ?? "none";`);
  const result = async (...args: string[]) => (await workflow("audit.js", ...args, "--format", "json")).stdout.trim();
  expect(await result()).toBe('"none"');
  expect(await result("--args", "plain words")).toBe('"plain words"');
  expect(await result("--args", "[1]")).toBe("[1]");
  const rounded = await workflow("audit.js", "--args", "@args.json");
  expect(rounded.stdout).toContain('"9007199254740993"');
  expect(rounded.stderr).toContain("args.id is passed as a text: JavaScript would round it");
  const wrong = await workflow("audit.js", "--args", '{"files": [');
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("--args cannot be read as JSON")]);
  const twice = await workflow("audit.js", "--args", '{"a": 1, "a": 2}');
  expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining("two properties of one name")]);
  const missing = await workflow("audit.js", "--args", "@none.json");
  expect(missing.stderr).toContain("none.json does not exist");
});

test("an agent that is not configured, and a script that is none, are refused", async () => {
  const { workflow, server, edit } = await scene();
  const { code, stderr } = await workflow("audit.js", "--agent", "claude");
  expect([code, stderr]).toEqual([1, expect.stringContaining("the agent claude is not in `agents` of your configur")]);
  expect(stderr).toContain("--init");
  edit("return 1");
  expect((await workflow("audit.js")).stderr).toContain("the first statement must be");
  expect((await workflow("audit")).stderr).toContain("the workflow audit is not saved");
  expect((await workflow("a.js", "b.js")).code).toBe(2);
  expect((await workflow("--new")).stderr).toContain("--new needs a script");
  expect(server.requests).toEqual([]);
});

test("a dry run tells what each phase could cost, and keeps nothing", async () => {
  const { workflow, server, belay } = await scene();
  const { code, stdout } = await workflow("audit.js", ...FILES, "--dry-run");
  expect(code).toBe(0);
  expect(stdout.split("\n").slice(0, 3)).toEqual([
    expect.stringMatching(/^Find {4}2 sub-calls/),
    expect.stringMatching(/^Verify {2}2 sub-calls/),
    expect.stringMatching(/^all {5}4 sub-calls/),
  ]);
  expect([server.requests.length, json(await belay("sessions", "--json")).sessions]).toEqual([0, []]);
});

test("--quiet prints the script's words at the end, --verbose a line for each agent", async () => {
  const { workflow, edit } = await scene();
  const quiet = await workflow("audit.js", ...FILES, "--quiet");
  expect(quiet.stderr).toBe("— Find\n— Verify\n2 checked\n");
  edit(AUDIT.replace('"audit"', '"verbose"'), "b.js");
  const verbose = await workflow("b.js", ...FILES, "--verbose");
  expect(verbose.stderr).toMatch(/^Find: a {2}local\/m {2}ok {2}\d+ tokens/m);
});
