import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession } from "../../../src/index.ts";
import { openStore } from "../../../src/store/index.ts";
import { startModelServer } from "../../support/model-server.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { folderWith } from "../../support/tree.ts";
import { json } from "./belay.ts";
import { belayHere } from "./in-process.ts";

/** A session in which these cells have run, without a process of its own. */
async function made(home: string, session: string, cells: readonly string[]): Promise<void> {
  await using opened = await openSession({ store: home, session });
  for (const cell of cells) await opened.exec(cell);
}

test("sessions are listed and shown", async () => {
  await using server = await startModelServer(() => ({ text: "yes", usage: { prompt: 90, completion: 10 } }));
  const home = join(folderWith(), "home");
  const run = (...args: string[]) => belayHere(args, { home });
  const stdout = `no sessions in ${home}\nmake one: belay exec FILE -c PATH --session NAME\n`;
  expect(await run("sessions")).toEqual({ code: 0, stdout, stderr: "" });
  for (const args of [["show"], ["show", "--json"]]) {
    const none = await run(...args);
    expect(none.code).toBe(1);
    expect(none.stdout + none.stderr).toContain(`no session found in ${home}`);
    expect(none.stdout + none.stderr).toContain("Make one: `belay exec FILE -c PATH --session NAME`.");
  }
  const model = ["--model", "local/m", "--base-url", server.url];
  await run("exec", "-e", 'let n = 1;\nawait llm_query("hi", { tools: [] })', "-s", "main", "-q", ...model);
  await run("exec", "-e", "n = 2", "-s", "main");
  const listed = await run("sessions");
  const [header = "", row = ""] = listed.stdout.split("\n");
  expect(header).toMatch(/^session +status +changed +context +execs +calls +tokens +cost +size +last$/);
  expect(row).toMatch(/^main +idle +(now|\d+ s) +- +2 +1 +100 +- +[\d.]+ KB +n = 2$/);

  const shown = await run("show", "main");
  expect(shown.stdout).toMatch(
    /^main {2}idle\nid {8}\w{26}\nbegun .*\ncontext {3}none\ntook {6}1 sub-call · 100 tokens/,
  );
  expect(shown.stdout).toMatch(
    /\n {2}1 +cell +ok +.* m?s +1 call +100 tokens +let n = 1;\n {6}1 +ok +local\/m +[\d.]+ m?s +100 tokens +hi\n/,
  );
  const { session } = json(await run("show", "main", "--json"));
  expect(session.execs).toMatchObject([
    { kind: "cell", status: "ok", input: "let n = 1;", tokens: 100, calls: [{ name: "llm_query", status: "ok" }] },
    { kind: "cell", status: "ok", input: "n = 2", calls: [] },
  ]);
  const [first, second] = session.checkpoints;
  expect([first.head, second.head, second.parent]).toEqual([false, true, first.id]);
  const asked = { number: 1, prompt: "hi", answer: "yes", args: ["hi", { tools: [] }] };
  expect(session.execs[0]).toMatchObject({
    source: 'let n = 1;\nawait llm_query("hi", { tools: [] })',
    calls: [asked],
  });
  const call = await run("show", "@last", "--call", "1", "--json");
  expect(json(call)).toMatchObject({ session: { name: "main" }, exec: 1, call: asked });
  const last = await run("show");
  expect(last).toMatchObject({ code: 0, stderr: "main is the session changed last\n" });
  expect(last.stdout).toMatch(/^main {2}idle\n/);
  expect((await run("exec", "-e", "n", "-s", "@last")).stdout).toBe("2\n");
});

test("sessions are forked and dropped", async () => {
  const home = join(folderWith(), "home");
  const run = (...args: string[]) => belayHere(args, { home });
  await made(home, "main", ["let n = 1", "n = 2"]);
  const [first] = json(await run("show", "main", "--json")).session.checkpoints;
  const forked = await run("fork", `main@${first.id.slice(-12)}`, "--name", "past");
  expect(forked).toEqual({ code: 0, stdout: "past\n", stderr: "" });
  expect((await run("exec", "-e", "n", "-s", "past")).stdout).toBe("1\n");
  expect((await run("exec", "-e", "n", "-s", "main")).stdout).toBe("2\n");
  const taken = await run("fork", "main", "--name", "past", "--json");
  expect([taken.code, json(taken).error_code]).toEqual([1, "session_exists"]);
  const unknown = await run("fork", "main@nowhere");
  expect(unknown).toMatchObject({ code: 1, stdout: "" });
  expect(unknown.stderr).toMatch(
    /^error: main has no checkpoint nowhere \(checkpoint_not_found\)\nsuggestion: `belay show main`/,
  );

  const wrong = await run("rm", "past", "mian");
  expect(wrong).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Did you mean main?") });
  const stdout = expect.stringMatching(/^removed past \([\d.]+ KB\)\nremoved main \([\d.]+ KB\)\n$/);
  expect(await run("rm", "past", "main")).toMatchObject({ code: 0, stdout });
  expect(json(await run("sessions", "--json"))).toMatchObject({ success: true, store: home, sessions: [] });
});

test("gc says what would go, then drops it; a session in use stays", async () => {
  const home = join(folderWith(), "home");
  const run = (...args: string[]) => belayHere(args, { home });
  expect((await run("gc")).stdout).toBe("nothing to drop\n");
  await made(home, "old", ["1"]);
  await run("exec", "-e", "1");
  expect((await run("gc", "--dry-run")).stdout).not.toContain("session");
  const dry = await run("gc", "--older-than", "0min", "--dry-run");
  expect(dry.stdout).toMatch(/^would drop old\nwould drop 1 session, .* would be given back\n$/);
  expect(json(await run("gc", "--older-than", "0min", "--json"))).toMatchObject({ dry_run: false, sessions: ["old"] });
  expect(json(await run("sessions", "--json")).sessions).toMatchObject([{ name: null, execs: 1 }]);
});

test("gc does not count bytes on a server, which keeps the space", async ({ skip }) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const store = await freshStoreUrl();
  {
    await using opened = await openStore(store);
    await opened.create({ id: `01${"A".repeat(24)}`, name: "old", origin: "command", settings: null, at: 1 });
  }
  const gc = (...args: string[]) => belayHere(["gc", "--store", store, "--older-than", "0min", ...args]);
  const kept = "the server keeps the space for new rows of its tables\n";
  expect((await gc("--dry-run")).stdout).toBe(`would drop old\nwould drop 1 session; ${kept}`);
  expect((await gc()).stdout).toBe(`dropped old\ndropped 1 session; ${kept}`);
  expect(await gc()).toEqual({ code: 0, stdout: "nothing to drop\n", stderr: "" });
});

test("a command looks after sessions without a name if none did for a day, and younger ones stay", async () => {
  const home = join(folderWith(), "home");
  await belayHere(["exec", "-e", "1"], { home });
  const marker = join(home, "collected");
  const made = statSync(marker).mtimeMs;
  const yesterday = made / 1000 - 25 * 3600;
  utimesSync(marker, yesterday, yesterday);
  await belayHere(["exec", "-e", "2"], { home });
  expect(statSync(marker).mtimeMs).toBeGreaterThanOrEqual(made);
  expect(json(await belayHere(["sessions", "--json"], { home })).sessions).toHaveLength(2);
});

test("--store and --no-store say where a session is kept", async () => {
  const folder = folderWith();
  const [home, store] = [join(folder, "home"), join(folder, "store")];
  const run = (...args: string[]) => belayHere(args, { home });
  expect((await run("exec", "-e", "let n = 7", "-s", "a", "--store", store)).code).toBe(0);
  expect((await run("exec", "-e", "n", "-s", "a", "--store", store)).stdout).toBe("7\n");
  expect((await run("exec", "-e", "1", "--no-store")).stdout).toBe("1\n");
  expect(json(await run("sessions", "--json")).sessions).toEqual([]);
  expect(json(await run("sessions", "--json", "--store", store)).sessions).toMatchObject([{ name: "a" }]);
});

test("a label is shown by sessions and show; a session goes on with it until another is given", async () => {
  const cwd = folderWith({ "docs/a.md": "a" });
  const home = join(cwd, "home");
  const run = (...args: string[]) => belayHere(args, { home, cwd });
  const listed = async () => (await run("sessions")).stdout.split("\n").map((line) => line.trimEnd());
  await run("exec", "-e", "let n = 1", "-s", "plain");
  expect((await listed())[0]).not.toContain("label");
  const long = "what the letters of the archive say about the great fire";
  expect(await run("exec", "-e", "1", "-s", "main", "--label", long)).toMatchObject({ code: 0, stderr: "" });
  expect(await run("exec", "-e", "2", "-c", "docs", "--append", "-s", "main")).toMatchObject({ code: 0 });
  const [header, main, plain] = await listed();
  expect(header).toMatch(/ size +label +last$/);
  expect(main).toMatch(/ KB +what the letters of the archive say abo… +2$/);
  expect(plain).toMatch(/ KB +- +let n = 1$/);
  expect((await run("show", "main")).stdout).toContain(`\nlabel     ${long}\nbegun `);
  expect((await run("show", "plain")).stdout).not.toContain("label");
  expect(json(await run("show", "main", "--json")).session.label).toBe(long);
  expect(json(await run("sessions", "--json")).sessions).toMatchObject([{ label: long }, { label: null }]);
  const repl = await belayHere(["repl", "-s", "main"], { home, cwd, input: ".load docs\nP.length > 0\n" });
  expect(repl).toMatchObject({ code: 0, stdout: "true\n" });
  await run("exec", "-e", "3", "-s", "plain", "--label", "b");
  await run("exec", "-e", "3", "-s", "plain", "--label", "");
  const labels = json(await run("sessions", "--json")).sessions.map((session: { label: string }) => session.label);
  expect(labels).toEqual([null, long]);
  for (const [args, stderr] of [
    [["--label", "a\nb"], "--label must be a line of up to 200 characters\n"],
    [["--label", "a", "--no-store"], "--no-store and --label exclude each other\n"],
    [["--label", "a", "-s", "main", "--dry-run"], "--dry-run changes nothing, and --label would\n"],
  ] as const) {
    expect(await run("exec", "-e", "1", ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(stderr) });
  }
});

test("a child goes on and away with its parent alone, and no command takes it for a session", async () => {
  const home = join(folderWith(), "home");
  await made(home, "main", ["1"]);
  const store = await openStore(home);
  const name = `${(await store.find("main"))?.id}.01KEXEC0000000000000000000.2`;
  await store.create({ id: "01KCHDDDDDDDDDDDDDDDDDDDDD", name, origin: "child", settings: null, at: 8e15 });
  const facts = { status: "running", execs: 1, sub_calls: 0, tokens: 0, cost_usd: 0, context: null, last: null };
  await store.commit("01KCHDDDDDDDDDDDDDDDDDDDDD", { facts });
  await store[Symbol.asyncDispose]();
  const run = (...args: string[]) => belayHere(args, { home });
  for (const args of [
    ["resume", name],
    ["exec", "-e", "1", "--session", name],
    ["rm", name],
    ["repl", "-s", name],
  ]) {
    const refused = await run(...args);
    expect([args[0], refused.code, refused.stdout]).toEqual([args[0], 1, ""]);
    expect(refused.stderr).toContain("is a child: it answers call 01KEXEC0000000000000000000.2 of main");
    expect(refused.stderr).toContain(
      "It is resumed, and dropped, with main. To look around in it, work on a copy, made with `belay fork ",
    );
  }
  expect((await run("sessions")).stdout).not.toContain("01KEXEC");
  expect((await run("resume")).stderr).toContain("nothing is unfinished in main");
});
