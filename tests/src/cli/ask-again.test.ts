import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cell } from "../../support/ask/scene.ts";
import { type ScriptedAnswer, startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

const REFUSED: ScriptedAnswer = { status: 401, body: '{"error":{"message":"bad key"}}' };
const LOOK = cell("const found = find('4711').matches; print(found.length)");

/** A session `work` whose ask `Which code?` its provider has refused after one turn; the script goes on behind it. */
async function scene(replies: readonly ScriptedAnswer[], ...flags: string[]) {
  const server = await startModelServer(replies);
  onTestFinished(() => server.close());
  const folder = folderWith({ "notes.txt": "the code is 4711\n" });
  const belay = (...args: string[]) => belayHere(args, { cwd: folder, home: join(folder, "home") });
  const model = ["--model", "local/root", "--base-url", server.url];
  const first = await belay("ask", "Which code?", "-c", "notes.txt", "-s", "work", ...model, ...flags);
  return { server, belay, first };
}

test("an ask that its provider failed is open: the same question goes on, and another one names the cure", async () => {
  const { server, belay, first } = await scene([LOOK, REFUSED, { text: "It is 4711." }]);
  expect(first).toMatchObject({ code: 1, stdout: "" });
  expect(first.stderr).toContain("(auth_failed)");
  expect(first.stderr).toContain("suspended; continue with: belay resume work\n");
  const other = await belay("ask", "Which date?", "-s", "work");
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(other.stderr).toContain("work has an unfinished ask: Which code? (exec_unfinished)");
  expect(other.stderr).toContain(
    "`belay resume work` finishes it; the same line with `--discard` gives it up and keeps the variables of its",
  );
  expect(server.requests).toHaveLength(2);
  const stdout = "It is 4711.\n";
  expect(await belay("ask", "Which code?", "-s", "work", "-q")).toEqual({ code: 0, stdout, stderr: "" });
  const again = await belay("resume", "work", "-q");
  expect(again).toMatchObject({ code: 0, stdout: "It is 4711.\n" });
  expect(server.requests).toHaveLength(3);
});

test("resume prints the turns that it takes with --verbose, and all turns of the ask with --trajectory", async () => {
  const { belay } = await scene([LOOK, REFUSED, { ...cell("answer(found.length)"), text: "Now I know." }]);
  const verbose = await belay("resume", "work", "--verbose");
  expect(verbose).toMatchObject({ code: 0, stdout: "1\n" });
  expect(verbose.stderr).toBe(`resuming work: the ask, 1 turn of it is recorded
--- turn 2
Now I know.
  > answer(found.length)
(no output: print something, or end with an expression)
A model read at least 0 % of 17 characters; its document was opened.
`);
  // What is resumed is over: its record has the trajectory all the same.
  const told = await belay("resume", "work", "--trajectory", "-q");
  expect(told).toMatchObject({ code: 0, stdout: "1\n" });
  expect(told.stderr).toMatch(
    /^--- turn 1 .*\n {2}> const found.*no reply that can be used: auth_failed\n--- turn 2 /s,
  );
  const json = await belay("resume", "work", "--trajectory", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({ resumed: 1, replayed_turns: 1 });
  expect(JSON.parse(json.stdout).trajectory).toMatchObject([{ turn: 1 }, { error_code: "auth_failed" }, { turn: 2 }]);
  await belay("exec", "-e", "1", "-s", "work");
  expect((await belay("resume", "work", "--trajectory", "-q")).stderr).toBe(
    "--trajectory prints the turns of an ask; what was resumed is a cell\n",
  );
});

test("with --max-turns 1 there is one turn with code and then the answer", async () => {
  const { server, first } = await scene([LOOK, { text: "It is 4711." }], "--max-turns", "1", "--verbose");
  expect(first).toMatchObject({ code: 3, stdout: "It is 4711.\n" });
  expect(first.stderr).toContain("Limit met: turns (--max-turns)");
  expect(first.stderr).toContain("the model had no turns left, and answered from what it had seen");
  expect(first.stderr).toContain("--- turn 1\n");
  expect(first.stderr).toContain("--- closing turn\nIt is 4711.\n");
  const [one, two] = server.requests.map(({ prompt }) => prompt);
  expect(one).toContain("This is the last turn in which code is run");
  expect(two).toContain("Answer now, in plain text");
});
