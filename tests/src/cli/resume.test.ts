import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession } from "../../../src/index.ts";
import { type ScriptedAnswer, startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { endedAt, json, jsonLines } from "./belay.ts";
import { belayHere, killedHere, signalledHere } from "./in-process.ts";

/** Answers a prompt with itself in capitals; `slow` prompts only once `isFast` is set. */
async function startSlowServer() {
  const pace = { isFast: false };
  const server = await startModelServer(({ prompt }): ScriptedAnswer => {
    const isSlow = prompt.startsWith("slow") && !pace.isFast;
    return { text: prompt.toUpperCase(), ...(isSlow ? { delayMs: 60_000 } : {}) };
  });
  const flags = ["--model", "local/scripted", "--base-url", server.url];
  return { server, pace, flags, [Symbol.asyncDispose]: () => server.close() };
}

const ask = (prompt: string) => `await llm_query(${JSON.stringify(prompt)}, { tools: [] })`;
const CELL = `print("begun"); const one = ${ask("one")}; const two = ${ask("slow two")}; result = [one, two];`;

test("a suspended run is resumed with its settings: nothing that was answered is sent again", async () => {
  await using slow = await startSlowServer();
  const { server, pace, flags } = slow;
  const home = join(folderWith(), "home");
  const cwd = folderWith({ "a.js": CELL, "b.js": "result = [two, P.length]", "docs/x.md": "12345" });
  const args = ["exec", "a.js", "b.js", "-c", "docs/x.md", "-s", "work", "-q", ...flags];
  const suspended = await signalledHere(server, 2, "SIGINT", args, { home, cwd });
  const stderr = "suspended; continue with: belay resume work\n";
  expect(suspended).toEqual({ code: 130, stdout: "", stderr });
  pace.isFast = true;
  // From another folder, without a flag, and by no name: it is the only one that is unfinished.
  const resumed = await belayHere(["resume"], { home, cwd: folderWith() });
  expect(resumed).toEqual({
    code: 0,
    stdout: 'begun\n["ONE", "SLOW TWO"]\n["SLOW TWO", 5]\n',
    // What takes long on a busy machine is said after it.
    stderr: expect.stringMatching(/^resuming work: cell 1, 1 of 2 sub-calls is recorded\n/),
  });
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["one", "slow two", "slow two"]);
  const again = await belayHere(["resume", "work", "--json"], { home });
  expect(again.stderr).toBe("nothing is unfinished in work; this is the record of what ran last\n");
  expect(json(again)).toMatchObject({ success: true, result_json: ["SLOW TWO", 5], resumed: 0 });
  expect(server.requests).toHaveLength(3);
});

test("the same command over files that have changed since a kill names the line that finishes it", async () => {
  await using slow = await startSlowServer();
  const { server, pace, flags } = slow;
  const [cwd, home] = [folderWith({ "a.md": "alpha" }), join(folderWith(), "home")];
  const line = ["exec", "-e", CELL, "-c", "a.md", "-s", "work", "-q", ...flags];
  await killedHere(server, 2, line, { cwd, home });
  writeFileSync(join(cwd, "a.md"), "other");
  const refused = await belayHere([...line, "--json"], { cwd, home });
  expect(json(refused)).toMatchObject({
    error_code: "context_changed",
    suggestion: expect.stringMatching(
      /^`belay resume work` finishes what was interrupted .*; the same line with `--discard --reload` gives it up/,
    ),
  });
  for (const change of ["--reload", "--append"]) {
    expect(json(await belayHere([...line, "--json", change], { cwd, home }))).toMatchObject({
      error_code: "exec_unfinished",
      suggestion: expect.stringMatching(/^`belay resume work` finishes it/),
    });
  }
  pace.isFast = true;
  const given = await belayHere([...line, "--discard", "--reload"], { cwd, home });
  expect(given).toMatchObject({ code: 0, stdout: 'begun\n["ONE", "SLOW TWO"]\n' });
});

test("the same command resumes what it began, another is refused, --discard gives it up", async () => {
  await using slow = await startSlowServer();
  const { server, pace, flags } = slow;
  const home = join(folderWith(), "home");
  const run = (...args: string[]) => belayHere(["exec", ...args, "-s", "work", "-q", "--json"], { home });
  const killed = await endedAt(server, 2, "SIGKILL", ["exec", "-e", CELL, "-s", "work", ...flags], { home });
  expect(killed).toMatchObject({ code: null, stdout: "" });
  const other = await run("-e", "1");
  expect(other.code).toBe(1);
  expect(json(other)).toMatchObject({
    error_code: "exec_unfinished",
    error_message: expect.stringMatching(/^work has an unfinished cell: print\("begun"\); const one = .*…$/),
    suggestion: expect.stringContaining("`belay resume work` finishes it; the same line with `--discard` gives it up"),
  });
  pace.isFast = true;
  const same = await run("-e", CELL, "-e", "two");
  expect(jsonLines(same)).toMatchObject([
    { success: true, stdout: "begun\n", result_json: ["ONE", "SLOW TWO"], resumed: 1 },
    { success: true, result_json: "SLOW TWO" },
  ]);
  pace.isFast = false;
  await killedHere(server, 2, ["exec", "-e", `globalThis.x = 1; ${CELL}`, "-s", "work"], { home });
  const discarded = await run("-e", "[typeof x, two]", "--discard");
  expect(json(discarded)).toMatchObject({ success: true, result_json: ["undefined", "SLOW TWO"] });
});

test.each(["begun", "resumed"])("%s with --on-restart fail, a call in flight fails in the cell", async (where) => {
  await using slow = await startSlowServer();
  const { server, flags } = slow;
  const home = join(folderWith(), "home");
  const fail = (at: string) => (at === where ? ["--on-restart", "fail"] : []);
  const code = `const one = ${ask("one")}; let two; try { ${ask("slow")} } catch ({ code }) { two = code } [one, two, ${ask("three")}]`;
  const args = ["exec", "-e", code, "-s", "work", ...fail("begun"), ...flags];
  await killedHere(server, 2, args, { home });
  const resumed = await belayHere(["resume", "-q", ...fail("resumed")], { home });
  expect(resumed).toEqual({ code: 0, stdout: '["ONE", "process_restarted", "THREE"]\n', stderr: "" });
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["one", "slow", "three"]);
});

test("a query that was suspended is resumed as a query", async () => {
  await using server = await startModelServer(({ prompt, index }) => ({
    text: prompt.includes("Notes from") ? "Blue [a.md:2]." : "It says blue.",
    ...(index === 0 ? { delayMs: 60_000 } : {}),
  }));
  const home = join(folderWith(), "home");
  const cwd = folderWith({ "docs/a.md": "# Doors\nThe door is blue.\n" });
  const args = ["query", "Which colour has the door?", "-c", "docs", "--model", "local/m", "--base-url", server.url];
  const suspended = await signalledHere(server, 1, "SIGHUP", [...args, "--json"], { home, cwd });
  expect(suspended.code).toBe(129);
  const { resume, session_id } = json(suspended);
  expect(resume).toBe(`belay resume ${session_id.slice(-8)}`);
  const resumed = await belayHere(["resume", session_id.slice(-8), "-q"], { home, cwd });
  expect(resumed).toEqual({ code: 0, stdout: "Blue [a.md:2].\n", stderr: "" });
});

test("cells that were to follow are run where a run ended between two of them", async () => {
  const home = join(folderWith(), "home");
  const session = await openSession({ store: home, session: "work" });
  await session.exec("let n = 20; n", { rest: [{ name: "b.js", source: "n + 1" }] });
  await session.close();
  const stderr = expect.stringMatching(/^resuming work: the last cell is recorded, 1 cell to follow\n/);
  expect(await belayHere(["resume", "work"], { home })).toEqual({ code: 0, stdout: "20\n21\n", stderr });
});

test("without a name, a session that only loaded something, or ran nothing, is passed over", async () => {
  const home = join(folderWith(), "home");
  const cwd = folderWith({ "a.txt": "alpha" });
  const repl = (name: string, input: string) => belayHere(["repl", "-s", name], { home, cwd, input });
  expect(await repl("loaded", ".load a.txt\n")).toMatchObject({ code: 0 });
  const none = "error: no session found to resume: the newest, loaded, has run nothing since it was begun or loaded (";
  expect(await belayHere(["resume"], { home })).toMatchObject({ code: 1, stderr: expect.stringContaining(none) });
  expect(await belayHere(["exec", "-e", "20 + 1", "-s", "work"], { home })).toMatchObject({ code: 0 });
  expect(await repl("loaded", ".load a.txt\n")).toMatchObject({ code: 0 });
  expect(await repl("empty", "")).toMatchObject({ code: 0 });
  const stderr = expect.stringMatching(/^nothing is unfinished in work; this is the record of what ran last\n/);
  expect(await belayHere(["resume"], { home })).toEqual({ code: 0, stdout: "21\n", stderr });
});

test("there is nothing to resume, and a session that does not exist has near ones", async () => {
  const home = join(folderWith(), "home");
  const none = await belayHere(["resume"], { home });
  expect(none).toMatchObject({ code: 1, stdout: "" });
  expect(none.stderr).toMatch(/^error: no session found to resume \(session_not_found\)\nsuggestion: /);
  expect(await belayHere(["exec", "-e", "1", "-s", "letters"], { home })).toMatchObject({ code: 0 });
  const misspelt = await belayHere(["resume", "leters", "--json"], { home });
  expect(misspelt.code).toBe(1);
  expect(json(misspelt)).toMatchObject({
    error_code: "session_not_found",
    error_message: "session leters not found",
    suggestion: "Did you mean letters?",
  });
});
