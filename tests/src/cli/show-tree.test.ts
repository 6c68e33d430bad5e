import { expect, test } from "vitest";
import type { Output } from "../../../src/cli/render/terminal.ts";
import { showSession } from "../../../src/cli/store/show.ts";
import { showCall, showExec } from "../../../src/cli/store/show-exec.ts";
import { describeExecs } from "../../../src/history/index.ts";
import type { ExecDescription } from "../../../src/index.ts";
import { asked, POINT, sessionOf } from "../../support/ask/described.ts";
import { openJournal, startAsk, turn } from "../../support/ask/journal.ts";
import { recorded } from "./recorded.ts";

const NOW = 3_600_000;
const PAGE = { now: NOW, all: false, flags: [] };

function shown(write: (output: Output) => void, columns?: number): string {
  const { output, text } = recorded({ isTerminal: columns !== undefined, columns: columns ?? 100 });
  write(output);
  return text();
}

test("an ask is a tree: turns, their cells, their calls, and the children that answer calls", () => {
  expect(shown((output) => showSession(asked(), PAGE, output))).toBe(`s  idle
id        01X
begun     1 h ago, changed 1 h ago
context   none
took      4 sub-calls · 1.4k tokens · $0.090 · 0 B kept

execs
  1  load      ok                59 min ago  40 ms                               /x/docs
  2  cell      ok                59 min ago  40 ms                               stats()
  3  ask       ok                59 min ago   13 s  2 calls  1.4k tokens $0.090  What is it?
  4    turn 1  ok                59 min ago  1.2 s            120 tokens $0.010  I look first. Then I ask.
  5      cell  ok                59 min ago  9.0 s  2 calls  1.0k tokens $0.060  (resumed 1x) for (const part of parts) await llm_query(part)
          1  ok  a/b  2.0 s  120 tokens $0.010  (sent 2x) Is it this?
          2  ok  a/b  1.0 s  900 tokens $0.050  (sent 2x) Which of these?
             child AAAAAAAA  ok  2 turns · 2 sub-calls · 240 tokens · $0.020 · 2.4 s
               3  turn 1  ok  59 min ago  1.2 s    120 tokens $0.010
               4    cell  ok  59 min ago  40 ms                       print(P.length)
               5  turn 2  ok  59 min ago  1.2 s    120 tokens $0.010  The second.
  6    turn 2  truncated_answer  59 min ago  1.2 s            120 tokens $0.010
  7    turn 2  ok                59 min ago  1.2 s            120 tokens $0.010
  8      cell  ok                59 min ago  40 ms                               answer('the second')

checkpoints (* the current one; \`belay fork SESSION@CHECKPOINT\` starts from another)
  INT-LOAD  end  exec 1  1 h ago  3 pages  2.0 KB
`);
});

test("an ask that is open or was cancelled says so, and how it goes on", () => {
  const open = shown((output) => showSession(asked("open"), PAGE, output));
  expect(open).toMatch(/\n {2}3 {2}ask +unfinished .* - .*What is it\?\n/);
  expect(open).toMatch(/\n {10}2 {2}unanswered/);
  expect(open).toMatch(/\nunfinished: belay resume s\n$/);
  const cancelled = shown((output) => showSession(asked("cancelled"), PAGE, output));
  expect(cancelled).toMatch(/\n {2}3 {2}ask +cancelled /);
  expect(cancelled).not.toContain("unfinished");
});

test("on a narrow terminal no line of the tree is wider than it", () => {
  for (const columns of [60, 80]) {
    const lines = shown((output) => showSession(asked(), PAGE, output), columns).split("\n");
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    expect(lines.join(" ")).toContain("`belay fork SESSION@CHECKPOINT` starts from another)");
  }
});

test("of a long session the newest execs, calls and checkpoints are listed, and a line says how the others are shown", () => {
  const journal = openJournal(0);
  startAsk(journal, "ask", "What?");
  for (let number = 1; number <= 150; number++) turn(journal, "ask", number, `turn text ${number}`);
  const checkpoints = Array.from({ length: 50 }, (_, at) => ({
    ...{ ...POINT, id: `POINT-${at}`, exec_id: "ask-t1" },
    parent: at === 0 ? null : `POINT-${at - 1}`,
  }));
  const session = sessionOf(describeExecs(journal.records), { checkpoints });
  const page = shown((output) => showSession(session, PAGE, output));
  expect(page).toContain("\n… 50 earlier execs: belay show s --all\n");
  expect(page).toContain("\n… 10 earlier checkpoints: belay show s --all\n");
  // The ask stays above its newest turns.
  expect(page).toMatch(/--all\n +1 {2}ask .*\n +52 {4}turn 51 /);
  expect(page.split("\n").filter((line) => line.includes("turn text"))).toHaveLength(100);
  const all = shown((output) => showSession(session, { ...PAGE, all: true }, output));
  expect(all).not.toContain("--all");
  expect(all.split("\n").filter((line) => line.includes("turn text"))).toHaveLength(150);
  expect(all).toContain("POINT-0 ");
});

test("an ask, a turn and a cell are shown whole, with the line that goes on from the state after them", () => {
  const [, , ask, first, look] = asked().execs;
  const whole = (exec: ExecDescription | undefined) => shown((output) => exec && showExec(exec, asked(), PAGE, output));
  expect(whole(ask)).toBe(`exec 3 of s (ask)  ok
begun     59 min ago
took      13 s · 1.4k tokens · $0.090

asked
What is it?

settings
{ "model": "a/root", "sub_model": "a/b", "protocol": "auto", "max_turns": 20 }

answer (by answer)
the second

cites
[{ "valid": true, "doc": "a" }]
`);
  expect(whole(first)).toBe(`exec 4 of s (turn)  ok
begun     59 min ago
took      1.2 s · 120 tokens · $0.010

added to the conversation
What is it?

said
I look first.
Then I ask.
`);
  expect(whole(look)).toMatch(
    /\ncalls\n {2}1 .*\n {2}2 .*\n {5}child AAAAAAAA .*\n(?:.*\n)*\ngo on from here: belay fork s@int-look\n$/,
  );
});

test("a call is shown with what it waited, the turns of its sub-agent, or the child that answers it", () => {
  const exec = asked().execs[4];
  const [plain, child] = exec?.calls ?? [];
  if (!exec || !plain || !child) throw new Error("the journal has other calls");
  const page = (call: typeof plain) => shown((output) => showCall({ exec, call }, asked(), PAGE, output));
  expect(page(plain)).toContain(`took      2.0 s · 120 tokens · $0.010 · sent 2 times · waited 1.5 s to be sent

asked
Is it this?

turns
  1  0.7 s  100 tokens $0.010  grep

answer
no
`);
  const byBatch = { ...plain, delivery: { by: "batch", batch: "batch_1", waited_ms: 900 } } as const;
  expect(page(byBatch)).toContain("· sent 2 times · by provider batch batch_1\n");
  expect(page(child)).toContain(`
answered by a child
child AAAAAAAA  ok  2 turns · 2 sub-calls · 240 tokens · $0.020 · 2.4 s
  3  turn 1  ok`);
});
