import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openStore } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";
import { belay, finished, hasTerminal, startBelay, startOnTerminal, untilSearched } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const script = (...lines: string[]) => `${lines.join("\n")}\n`;

test("piped lines are grouped into cells, and state stays from one to the next", async () => {
  const input = script(
    "function lines(text) {",
    "",
    "  return text.replace(`",
    "`, '').length;",
    "}",
    'lines("a\\nc")',
    "{ a: 1,",
    "  b: [2] }",
    "let x = 20",
    "// nothing but a comment",
    "x + 1",
    ".exit",
    '"not reached"',
  );
  const run = await belay(["repl"], { input });
  expect(run).toEqual({ code: 0, stdout: '2\n{ "a": 1, "b": [2] }\n21\n', stderr: "" });
});

test("an open cell is dropped by .break, run by two empty lines, and run at the end of the input", async () => {
  const input = script("lost(", ".break", "1 + 1", "open(", "", "", "2 + 2", "last(");
  const run = await belayHere(["repl"], { input });
  expect(run).toMatchObject({ code: 1, stdout: "2\n4\n" });
  const named = run.stderr.match(/^SyntaxError: |<cell \d+>/gm);
  expect(named).toEqual(["SyntaxError: ", "<cell 2>", "SyntaxError: ", "<cell 4>"]);
});

test("dot-commands load contexts and show what the session holds", async () => {
  const cwd = folderWith({ "docs/a.md": "alpha", "docs/logo.png": new Uint8Array(3), "more.txt": "beta" });
  const input = script(
    'memory.put("seen", [1, 2])',
    ".memory",
    ".memory seen",
    ".memory sen",
    'helpers.add("two", "const two = () => 2;")',
    ".helpers",
    "two()",
    '.append "more.txt"',
    "list_docs().map(({ id }) => id)",
    ".load docs",
    "memory.list().length",
    ".stats now",
    ".stats",
  );
  const { code, stdout, stderr } = await belayHere(["repl", "-c", "docs", "-q"], { cwd, input });
  const listed = ["seen  5 bytes  [1,2]", "[1, 2]", "two  20 bytes  const two = () => 2;", "2"];
  expect(stdout.split("\n").slice(0, 6)).toEqual([...listed, '["a.md", "more.txt"]', "0"]);
  const skipped = { count: 1, files: [{ path: "logo.png" }] };
  const stats = { document_count: 1, sources: [join(cwd, "docs")], skipped };
  expect(JSON.parse(stdout.slice(stdout.indexOf("{")))).toMatchObject(stats);
  expect(stderr).toBe("key sen not found; did you mean seen?\n.stats takes no argument\n");
  expect(code).toBe(1);
});

test("help, and hints for what was probably meant", async () => {
  const input = script(".help", ".help search", ".help nothing", ".stat", ".stats", ".load nowhere", ".load", "exit");
  const { stdout, stderr } = await belayHere(["repl"], { input });
  for (const expected of [".memory [KEY]", "  memory.put(key: string, value: Json): void", "BM25", "example:"]) {
    expect(stdout).toContain(expected);
  }
  expect(stderr.split("\n").slice(0, 6)).toEqual([
    "builtin or command nothing not found",
    "unknown command .stat; did you mean .stats?",
    "no context is loaded; .load PATH loads one",
    "error: nowhere does not exist (path_not_found)",
    "suggestion: Check the spelling of the path.",
    "type .load PATH",
  ]);
  expect(stderr).toMatch(/ReferenceError: exit .*\n(.*\n)*the REPL's own commands begin with a dot: \.exit\n$/);
});

test("Ctrl-C cancels the running cell and keeps the state; where nothing runs it ends", async () => {
  const home = join(folderWith({ "a.txt": "a word" }), "home");
  const child = startBelay(["repl", "-c", join(home, "../a.txt")], { home });
  child.stdin?.write(script("let kept = 7", "search('word'); for (;;) {}"));
  let stage = 0;
  const run = finished(child, (_child, stdout, stderr) => {
    if (stage === 0 && stderr.includes("cancelled")) {
      stage = 1;
      child.stdin?.write(script("kept * 6"));
    } else if (stage === 1 && stdout.includes("42")) {
      stage = 2;
      child.kill("SIGINT");
    }
  });
  await untilSearched(home);
  child.kill("SIGINT");
  expect(await run).toEqual({ code: 130, stdout: "42\n", stderr: "cancelled\n" });
});

test("a named session goes on in the next REPL, and tells its name", async () => {
  const home = join(folderWith(), "home");
  const first = await belayHere(["repl", "--session", "notes"], { home, input: script("let n = 41", ".session") });
  expect(first).toEqual({ code: 0, stdout: "notes\nbelay repl --session notes\n", stderr: "" });
  const second = await belayHere(["repl", "-s", "notes"], { home, input: script("n += 1", ".resume") });
  expect(second).toEqual({ code: 1, stdout: "42\n", stderr: "nothing is unfinished\n" });
  const unkept = await belayHere(["repl", "--no-store"], { home, input: script(".session") });
  expect(unkept.stdout).toBe("this session is not kept; --session NAME keeps one\n");
});

test("what an earlier process left unfinished is offered: nothing else runs before it is decided", async () => {
  const home = join(folderWith(), "home");
  const begun = async () => {
    const child = startBelay(["exec", "-e", "let n = 1", "-e", "n = 2; for (;;) {}", "-s", "notes"], { home });
    child.stdin?.end();
    await using store = await openStore(home);
    await vi.waitFor(async () => {
      const { execs } = await store.describe("notes");
      expect(execs.at(-1)).toMatchObject({ input: "n = 2; for (;;) {}", status: "unfinished" });
    });
    child.kill("SIGTERM");
    await finished(child);
  };
  await begun();
  const offer = "unfinished cell: n = 2; for (;;) {}\n.resume finishes it, .discard gives it up\n";
  const refused = await belayHere(["repl", "-s", "notes"], { home, input: script("n", ".discard", "n") });
  expect(refused).toMatchObject({ code: 1, stdout: "1\n" });
  expect(refused.stderr).toMatch(
    /^unfinished cell: n = 2; .*\n.*\nerror: a cell of session notes was interrupted \(exec_unfinished\)\n/,
  );
  await begun();
  const limits = ["--max-execution-ms", "50"];
  const resumed = await belayHere(["repl", "-s", "notes", ...limits], { home, input: script(".resume", "n") });
  expect(resumed).toMatchObject({ code: 1, stdout: "2\n" });
  expect(resumed.stderr.startsWith(`${offer}TimeoutError: `)).toBe(true);
});

test.skipIf(!hasTerminal)("a terminal has prompts, completion, a private history and escaped controls", async () => {
  const home = join(folderWith(), "home");
  const terminal = startOnTerminal("repl", home);
  // What to type once the screen, since the last thing typed, ends so.
  const steps: [seen: RegExp, type: string][] = [
    [/no context is loaded.*\n.*\nbelay> ¦$/, "[1,\r"],
    [/\.\.\. ¦$/, "41 + 1]\r"],
    [/\[1, 42\]\nbelay> ¦$/, "print('\\x1b[31mred\\u0007')\r"],
    [/\\x1b\[31mred\\x07\nbelay> ¦$/, "for (;;) {}\r"],
    [/\{\}\n$/, "\x03"],
    [/cancelled\nbelay> ¦$/, "list_"],
    [/list_$/, "\t"],
    [/docs¦?$/, "\x03"],
    [/belay> ¦$/, "\x03"],
    [/\(Ctrl-C again.*\nbelay> ¦$/, "\x03"],
  ];
  let from = 0;
  const run = finished(terminal, (_child, stdout) => {
    const [step] = steps;
    if (!step?.[0].test(screenOf(stdout.slice(from)))) return;
    steps.shift();
    from = stdout.length;
    terminal.stdin.write(step[1]);
  });
  const timeout = setTimeout(() => terminal.kill(), 50_000);
  const { code, stdout } = await run;
  clearTimeout(timeout);
  expect(steps, `the screen was ${JSON.stringify(stdout.slice(from))}`).toEqual([]);
  expect(code).toBe(0);
  const path = join(home, "history");
  expect(readFileSync(path, "utf8").split("\n").slice(0, 2)).toEqual(["[1,", "41 + 1]"]);
  expect([statSync(home).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
});

/** What a terminal would show, without the moves of readline; `¦` where it puts the cursor behind a prompt: the prompt is then drawn to its end. */
function screenOf(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  return text.replace(/\x1b\[(?!1G)\d+G/g, "¦").replace(/\x1b\[[\d;?]*[A-Za-z]|\r/g, "");
}
