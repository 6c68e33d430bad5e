import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import type { ShowFlags } from "../../../src/cli/commands/show.ts";
import { showSessions } from "../../../src/cli/store/sessions.ts";
import { showSession, treeOf } from "../../../src/cli/store/show.ts";
import { detailOf, showCall, showExec } from "../../../src/cli/store/show-exec.ts";
import type { CallDescription, CheckpointDescription, SessionDescription } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";
import { recorded } from "./recorded.ts";

const checkpoint = (id: string, parent: string | null): CheckpointDescription => ({
  ...{ id, parent, exec_id: "e", kind: "end", at: 0, pages: 3, bytes: 2048, head: id === "e" },
});

test("checkpoints are a list, and what was left behind stands under its parent", () => {
  const ids = ["a", "b", "c", "d", "e"];
  const parents = [null, "a", "b", "a", "d"];
  const all = ids.map((id, at) => checkpoint(id, parents[at] ?? null));
  expect(treeOf(all).map((row) => `${" ".repeat(row.depth)}${row.checkpoint.id}`)).toEqual(["a", " b", " c", "d", "e"]);
  // What its parent's session had before is not among them.
  expect(treeOf([checkpoint("y", "x"), checkpoint("z", "y")]).map(({ depth }) => depth)).toEqual([0, 0]);
  const long = Array.from({ length: 20_000 }, (_, at) => checkpoint(`${at}`, at === 0 ? null : `${at - 1}`));
  expect(treeOf(long).map(({ checkpoint: { id } }) => id)).toEqual(long.map(({ id }) => id));
});

const HOUR = 3_600_000;
const PAGE = { now: 3 * HOUR, all: false, flags: [] };
const ASKED = "What is\n this?";
const CALL: CallDescription = {
  ...{ call_id: "1", number: 1, name: "llm_query", prompt: ASKED, args: [ASKED, { tools: [] }] },
  ...{ model: "a/b", status: "ok", error_code: null, answer: "A thing.", asked_at: HOUR, time_ms: 1500 },
  ...{ tokens: 100, cost_usd: 0.001, cached: false, refused: false, attempts: 0, resent: 0, delivery: null },
  ...{
    batch: null,
    label: null,
    phase: null,
    agent: null,
    started: false,
    by_hand: false,
    sent_at: HOUR,
    ended_at: HOUR + 1500,
    retries: [],
    turns: null,
    child: null,
    misfit: null,
    sampling: null,
    ignored: [],
    mended: [],
    worktrees: [],
    effects: null,
  },
  usage: { input: 90, output: 10, cache_read: 0, cache_write: 0, cost_usd: 0.001 },
};
const LONG = "why ".repeat(40);
const SESSION: SessionDescription = {
  ...{ id: "01X", name: "big", label: null, origin: "command", status: "unfinished" },
  ...{ created_at: 0, changed_at: 2 * HOUR, head: "e", settings: null },
  ...{ sub_calls: 2, tokens: 12_345, cost_usd: 0.0421, bytes: 3 * 2 ** 20, holder: null, forked_from: null },
  context: { hash: "0123456789abcdef", sources: ["/x/docs", "stdin"], chars: 1234 },
  last: { exec_id: "e", kind: "cell", input: "go()" },
  execs: [
    {
      ...{ exec_id: "e", number: 1, kind: "cell", input: "go()", source: "go()\n", file: "go.js" },
      ...{ status: "unfinished", error_code: null, began_at: HOUR, time_ms: null, resumed: 2 },
      ...{ tokens: 100, cost_usd: 0.001, rest: [], again: null, stdout: "so far\n", stderr: "", warnings: [] },
      ...{ result_json: null, error: null, ended_at: null, parent: null, ask: null, turn: null },
      ...{ resumes: [], checkpoint_id: null, coverage: null },
      calls: [
        { ...CALL, attempts: 1, usage: { ...CALL.usage, cache_read: 9000, saved_usd: 0.024 } },
        { ...CALL, number: 2, cached: true, tokens: 0, cost_usd: 0, time_ms: 2 },
        { ...CALL, number: 3, status: "failed", error_code: "rate_limited", tokens: 0, cost_usd: 0, attempts: 2 },
        { ...CALL, number: 4, prompt: LONG, args: [LONG], answer: null, model: "", status: "pending", time_ms: null },
      ],
    },
  ],
  checkpoints: [checkpoint("d", null), checkpoint("e", "d")],
};

test("tokens that the server did not tell are marked as an estimate", () => {
  const { output, written } = recorded();
  const execs = SESSION.execs.map((exec) => ({
    ...exec,
    calls: [{ ...CALL, usage: { ...CALL.usage, estimated: 100 } }],
  }));
  showSession({ ...SESSION, execs }, PAGE, output);
  expect(written.join("")).toMatch(/^took .* · 100 estimated, since none were told/m);
  expect(written.join("")).toMatch(/ 1 .* ~100 tokens/);
});

test("dollars that an agent did not tell are marked, and so is a price that it did not tell", () => {
  const { output, written } = recorded();
  const calls = [
    { ...CALL, agent: "a", usage: { ...CALL.usage, estimated_usd: CALL.cost_usd } },
    { ...CALL, agent: "a", number: 2, cost_usd: 0 },
  ];
  showSession({ ...SESSION, execs: SESSION.execs.map((exec) => ({ ...exec, calls })) }, PAGE, output);
  expect(written.join("")).toMatch(/^took .* · \$[\d.]+ assumed, since none was told/m);
  expect(written.join("")).toMatch(/ 1 .* ~\$[\d.]+/);
  expect(written.join("")).toMatch(/ 2 .* price not told/);
});

test("a call whose reply was mended says so in the list", () => {
  const { output, written } = recorded();
  const execs = SESSION.execs.map((exec) => ({ ...exec, calls: [{ ...CALL, mended: ["punctuation"] }] }));
  showSession({ ...SESSION, execs }, PAGE, output);
  expect(written.join("")).toMatch(/ 1 .* \(mended\) What is this\?/);
});

test("a session is shown with its calls, and with the line that resumes it", () => {
  const { output, written } = recorded();
  showSession(SESSION, PAGE, output);
  expect(written.join("")).toBe(`big  unfinished
id        01X
begun     3 h ago, changed 1 h ago
context   /x/docs, stdin (1,234 characters, 0123456789ab)
took      2 sub-calls · 12k tokens · $0.042 · 9.0k from the provider's cache ($0.024 saved) · 3.0 MB kept

execs
  1  cell  unfinished  2 h ago  -  4 calls  100 tokens $0.0010  (resumed 2x) go()
      1  ok            a/b  1.5 s  100 tokens $0.0010  (sent 2x) What is this?
      2  cached        a/b   2 ms            0 tokens  What is this?
      3  rate_limited  a/b  1.5 s            0 tokens  (sent 3x) What is this?
      4  unanswered    -        -  100 tokens $0.0010  why why why why why why why why why why why why why why why …

checkpoints (* the current one; \`belay fork SESSION@CHECKPOINT\` starts from another)
  d  end  exec 1  3 h ago  3 pages  2.0 KB
* e  end  exec 1  3 h ago  3 pages  2.0 KB

unfinished: belay resume big
`);
});

test("an exec and a call are shown whole", () => {
  const { output, written } = recorded();
  const [exec] = SESSION.execs;
  if (!exec) throw new Error("there is no exec");
  showExec(exec, SESSION, PAGE, output);
  const calls = [1, 2, 3, 4].map((number) => `  ${number}  .*\n`).join("");
  expect(written.join("")).toMatch(
    new RegExp(
      `^exec 1 of big \\(cell\\) {2}unfinished\nbegun {5}2 h ago, resumed 2 times\ntook {6}not over · 4 calls · 100 tokens · \\$0.0010 · 9.0k from the provider.s cache \\(\\$0.024 saved\\)\n\nasked \\(go\\.js\\)\ngo\\(\\)\n\nprinted\nso far\n\ncalls\n${calls}one of them whole: belay show big --exec 1 --call N\n\nunfinished: belay resume big\n$`,
    ),
  );
  written.length = 0;
  const error = "Error: no\n    at go.js:1:1";
  const failed = { ...exec, status: "failed", error_code: "js_error", error, time_ms: 5 } as const;
  showExec({ ...failed, warnings: ["capped"], calls: [], tokens: 0, cost_usd: 0 }, SESSION, PAGE, output);
  expect(written.join("")).toMatch(
    / {2}js_error\n.*\ntook {6}5 ms\n(?:.*\n)*\nwarnings\ncapped\n\nerror\nError: no\n {4}at go\.js:1:1\n$/,
  );
  written.length = 0;
  for (const call of exec.calls.slice(2)) showCall({ exec, call: { ...call, resent: 1 } }, SESSION, PAGE, output);
  expect(written.join("")).toBe(`call 3 of exec 1 of big  rate_limited
asked by  llm_query, of a/b
took      1.5 s · 0 tokens · sent 3 times · sent again by a resume

asked
What is
 this?

options
{ "tools": [] }

error
A thing.
call 4 of exec 1 of big  unanswered
asked by  llm_query
took      no answer is recorded · $0.0010 · sent again by a resume

asked
${LONG}
`);
});

test("a turn of an ask, which has no prompt of its own, is not said to be asked null", () => {
  const { written, output } = recorded();
  const [exec] = SESSION.execs;
  const [call] = exec?.calls ?? [];
  if (!exec || !call) throw new Error("the session has no call");
  showCall({ exec, call: { ...call, name: "root", args: [] } }, SESSION, PAGE, output);
  expect(written.join("")).not.toContain("asked\nnull");
  expect(written.join("")).not.toContain("null");
});

const detail = (flags: ShowFlags) => detailOf(flags, SESSION, PAGE);

test("an exec or call is named by its number, and one that is not there is an error with a cure", () => {
  const [exec] = SESSION.execs;
  expect(detail({})).toBeNull();
  for (const flags of [{ last: true }, { exec: 1 }]) expect(detail(flags)).toEqual({ exec });
  for (const flags of [{ call: 2 }, { call: 2, exec: 1 }, { call: 2, last: true }]) {
    expect(detail(flags)).toEqual({ exec, call: exec?.calls[1] });
  }
  const code = "invalid_argument";
  const suggestion = "`belay show big` lists what there is.";
  const refused = (flags: ShowFlags) => expect(() => detail(flags));
  refused({ exec: 2 }).toThrow(
    expect.objectContaining({ code, message: "big has no exec 2: it has 1 exec", suggestion }),
  );
  refused({ call: 5 }).toThrow("exec 1 of big has no call 5: it has 4 calls");
});

test("twenty sessions are shown, and how many more there are", () => {
  const { output, written } = recorded();
  const idOf = (at: number) => `01AAAAAAAAAA0000${at + 10}`;
  const all = Array.from({ length: 23 }, (_, at) => ({ ...SESSION, execs: 1, name: null, id: idOf(at) }));
  showSessions(all, PAGE, output);
  const lines = written.join("").split("\n");
  expect(lines.slice(1, 3).map((line) => line.slice(0, 10))).toEqual(["AA000010  ", "AA000011  "]);
  expect(lines.slice(21)).toEqual(["3 sessions more: --all", "unfinished: belay resume AA000010", ""]);
});

test("the list names the first source, and the session that can be resumed", () => {
  const { output, written } = recorded();
  showSessions([{ ...SESSION, execs: 12 }], PAGE, output);
  expect(written.join("")).toBe(`session  status      changed  context  execs  calls  tokens    cost    size  last
big      unfinished      1 h  docs +1     12      2     12k  $0.042  3.0 MB  go()
unfinished: belay resume big
`);
});

test("names of sessions and of stores are words of a shell in each line to type, whoever chose them", () => {
  const folder = folderWith({});
  const flags = ["--store", `${folder}/my $(touch PWNED) store`];
  const page = { ...PAGE, flags };
  const [exec] = SESSION.execs;
  if (!exec) throw new Error("there is no exec");
  const cases = [
    { name: "audit;touch PWNED;#", called: "audit;touch PWNED;#" },
    { name: "$(touch PWNED)", called: "$(touch PWNED)" },
    { name: "it's `touch PWNED`\n", called: "it's `touch PWNED`\n" },
    { name: "my session", called: "my session" },
    // They would be read as a flag, a checkpoint and a job.
    { name: "--discard", called: "01X" },
    { name: "a@b", called: "01X" },
    { name: "a/b", called: "01X" },
  ];
  for (const { name, called } of cases) {
    const { output, written } = recorded();
    const session = { ...SESSION, name, execs: Array(120).fill({ ...exec, calls: Array(30).fill(exec.calls[0]) }) };
    const skipped = { count: 1, unread: 1, capped: false, files: [{ path: "a.pdf", reason: "has no text" }] };
    showSession({ ...session, skipped }, page, output);
    showExec({ ...exec, checkpoint_id: "$(touch PWNED)" }, session, page, output);
    showSessions([{ ...session, execs: 120 }], page, output);
    expect(() => detailOf({ exec: 999 }, session, page)).toThrow(
      expect.objectContaining({ suggestion: expect.stringContaining("belay show") }),
    );
    const lines = written
      .join("")
      .split("\n")
      .flatMap((line) => /(?<!`)belay (?:show|resume|fork) .*(?<![)])/.exec(line) ?? []);
    expect(new Set(lines.map((line) => line.split(" ")[1]))).toEqual(new Set(["show", "resume", "fork"]));
    for (const words of wordsInBash(lines, folder)) {
      expect(
        words.some((word) => word === called || word.startsWith(`${called}@`)),
        words.join(" | "),
      ).toBe(true);
      expect(words.slice(-2)).toEqual(flags);
    }
  }
  expect(existsSync(`${folder}/PWNED`)).toBe(false);
});

/** The words that each line gives `belay` in bash. */
function wordsInBash(lines: readonly string[], cwd: string): string[][] {
  const script = `belay() { printf '%s\\0' "$@" '|'; }\n${lines.join("\n")}`;
  const { stdout } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8", cwd });
  return stdout
    .split("\0|\0")
    .filter((line) => line !== "")
    .map((line) => line.split("\0"));
}
