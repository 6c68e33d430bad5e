import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ModelScript, type ScriptedAnswer, startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

const usage = { prompt: 1000, completion: 20 };
let uses = 0;
const cell = (code: string, text = ""): ScriptedAnswer => ({
  text,
  tools: [{ id: `u${++uses}`, name: "rlm_exec", arguments: { code } }],
  usage,
});
const FIND = `const { matches } = find("code is \\\\d+");
print(peek(...matches[0]));`;

/** The command over one file, with a model that follows the script. */
async function scene(script: ModelScript, home = join(folderWith(), "home")) {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const folder = folderWith({ "notes.txt": "one\nthe code is 4711\nthree\n" });
  const model = ["--model", "local/root", "--base-url", server.url];
  const belay = (...args: string[]) => belayHere(args, { cwd: folder, home });
  const ask = (...args: string[]) => belay("ask", "Which code?", ...model, "-c", "notes.txt", ...args);
  return { server, belay, ask };
}

const LOOK_AND_ANSWER = () => [
  cell(FIND, "I look for it first."),
  cell("const sure = await llm_query('Is 4711 a code?', []); print(sure)"),
  cell("answer(4711, { cite: matches })", "That is it."),
];

/** The sub-call of a cell is answered with yes, the turns by this list. */
function script(turns: ScriptedAnswer[]): ModelScript {
  return ({ prompt }) => (prompt.startsWith("Is ") ? { text: "yes", usage } : (turns.shift() ?? {}));
}

/** What differs from run to run: ids and times. */
const steady = (text: string) =>
  text.replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, "ID").replaceAll(/"(execution_time_ms|elapsed_ms)":\d+/g, '"$1":0');

test("--json prints one object, whose trajectory is there only with --trajectory", async () => {
  const { ask } = await scene(script([...LOOK_AND_ANSWER(), ...LOOK_AND_ANSWER()]));
  const plain = await ask("--json", "-q");
  expect(plain).toMatchObject({ code: 0, stderr: "" });
  expect(plain.stdout.split("\n")).toHaveLength(2);
  const { budget, coverage, ...envelope } = JSON.parse(steady(plain.stdout));
  expect(coverage).toMatchObject({ chars: 27, found: 12, never: 15, documents: { total: 1, found: 1, never: 0 } });
  expect(coverage).not.toHaveProperty("never_opened");
  expect(budget).toMatchObject({ remaining_sub_calls: 49 });
  expect(envelope).toEqual({
    ...{ success: true, session_id: "ID", ask_id: "ID", question: "Which code?", answer: 4711 },
    answered_by: "answer",
    citations: [
      {
        ...{ valid: true, doc: "notes.txt", line: 2, place: null, start: 8, end: 20, p_start: expect.any(Number) },
        ...{ p_end: expect.any(Number), quote: "code is 4711" },
      },
    ],
    ...{ turns: 3, cells: 3, sub_calls: 1, children: 0, depth_reached: 0 },
    ...{ usage: { input: 4000, output: 80, cache_read: 0, cache_write: 0, cost_usd: 0 }, warnings: [] },
    limits_met: [],
    ...{ execution_time_ms: 0, resumed: 0, replayed_turns: 0 },
    skipped: { count: 0, unread: 0, files: [], capped: false },
  });
  const whole = await ask("--json", "--trajectory");
  const turn = { error_code: null, usage: { input: 1000, output: 20 }, elapsed_ms: 0 };
  const seen = { exec_id: "ID", success: true, calls: [] };
  expect(JSON.parse(steady(whole.stdout)).trajectory).toMatchObject([
    { ...turn, turn: 1, text: "I look for it first.", cells: [{ ...seen, code: FIND, observation: "code is 4711" }] },
    {
      ...turn,
      turn: 2,
      text: "",
      cells: [{ ...seen, observation: "yes", calls: [{ call_id: "ID.1", model: "local/root", status: "ok" }] }],
    },
    {
      ...turn,
      turn: 3,
      text: "That is it.",
      cells: [{ ...seen, code: "answer(4711, { cite: matches })", observation: expect.stringMatching(/^\(no output/) }],
    },
  ]);
});

test("without --json the trajectory is told on stderr, and the answer alone is on stdout", async () => {
  const failing = "throw new Error('no')";
  const { ask } = await scene(script([{ ...cell(failing), finish: "length" }, cell(failing), ...LOOK_AND_ANSWER()]));
  const { code, stdout, stderr } = await ask("--trajectory", "--quiet");
  expect({ code, stdout }).toEqual({ code: 0, stdout: "4711\n" });
  expect(stderr.replaceAll(/\([\d.]+ m?s /g, "(TIME ")).toBe(`--- turn 1 (TIME · 1.0k tokens)
no reply that can be used: truncated_answer
--- turn 2 (TIME · 1.0k tokens)
  > throw new Error('no')
[error js_error]
Error: no
    at <cell 1>:1:11
Read the traceback, change the cell and run it again.
--- turn 3 (TIME · 1.0k tokens)
I look for it first.
  > const { matches } = find("code is \\\\d+");
  > print(peek(...matches[0]));
code is 4711
--- turn 4 (TIME · 1.0k tokens)
  > const sure = await llm_query('Is 4711 a code?', []); print(sure)
yes
(1 sub-call of local/root)
--- turn 5 (TIME · 1.0k tokens)
That is it.
  > answer(4711, { cite: matches })
(no output: print something, or end with an expression)
notes.txt:2 code is 4711
`);
});

test("show tells an ask as a tree, and the line that it prints forks the session after a turn's cell", async () => {
  const { ask, belay } = await scene(script([...LOOK_AND_ANSWER(), cell("answer(matches.length)")]));
  await ask("--session", "s", "-q");
  const page = await belay("show", "s");
  const rows = page.stdout.split("\n").filter((line) => /^ +\d+ {2}/.test(line));
  const tree = ["1 load", "2 ask", "3 turn 1", "4 cell", "5 turn 2", "6 cell", "1 ok", "7 turn 3", "8 cell"];
  expect(rows.map((line) => line.trim().split(/ {2,}/, 2).join(" "))).toEqual(tree);
  const look = await belay("show", "s", "--exec", "4");
  const [, fork = ""] = /\ngo on from here: belay fork (s@\w+)\n$/.exec(look.stdout) ?? [];
  expect(await belay("fork", fork, "--name", "again")).toMatchObject({ code: 0 });
  const { session } = JSON.parse((await belay("show", "again", "--json")).stdout);
  expect(session).toMatchObject({
    status: "unfinished",
    execs: [
      { kind: "load", parent: null },
      { kind: "ask", status: "unfinished", ask: { question: "Which code?", answer: null } },
      { kind: "turn", parent: 2, turn: { number: 1, text: "I look for it first." }, calls: [{ name: "root" }] },
      { kind: "cell", parent: 3, coverage: { ranges: { found: [[8, 20]], shown: [] } } },
    ],
  });
  expect(await belay("resume", "again", "-q")).toMatchObject({ code: 0, stdout: "1\n" });
});
