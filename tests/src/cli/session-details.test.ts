import { expect, test } from "vitest";
import { showSession, treeOf } from "../../../src/cli/session-details.ts";
import { showSessions } from "../../../src/cli/session-list.ts";
import type { Output } from "../../../src/cli/terminal.ts";
import type { CheckpointDescription, SessionDescription } from "../../../src/index.ts";

const checkpoint = (id: string, parent: string | null): CheckpointDescription => ({
  ...{ id, parent, exec_id: "e", kind: "end", at: 0, pages: 3, bytes: 2048, head: id === "e" },
});

test("checkpoints are a list, and what was left behind stands under its parent", () => {
  const all = [
    checkpoint("a", null),
    checkpoint("b", "a"),
    checkpoint("c", "b"),
    checkpoint("d", "a"),
    checkpoint("e", "d"),
  ];
  expect(treeOf(all).map((row) => `${" ".repeat(row.depth)}${row.checkpoint.id}`)).toEqual(["a", " b", " c", "d", "e"]);
  // What its parent's session had before is not among them.
  expect(treeOf([checkpoint("y", "x"), checkpoint("z", "y")]).map(({ depth }) => depth)).toEqual([0, 0]);
  const long = Array.from({ length: 20_000 }, (_, at) => checkpoint(`${at}`, at === 0 ? null : `${at - 1}`));
  expect(treeOf(long).map(({ checkpoint: { id } }) => id)).toEqual(long.map(({ id }) => id));
});

function record(): { output: Output; written: string[] } {
  const written: string[] = [];
  const write = (text: string) => void written.push(text);
  return {
    written,
    output: { isTerminal: false, columns: 80, colours: false, paint: (text) => text, write, writeRaw: write },
  };
}

const HOUR = 3_600_000;
const CALL = { call_id: "1", name: "llm_query", model: "a/b", error_code: null, cached: false, refused: false };
const SESSION: SessionDescription = {
  ...{ id: "01X", name: "big", origin: "command", status: "unfinished", created_at: 0, changed_at: 2 * HOUR },
  ...{ sub_calls: 2, tokens: 12_345, cost_usd: 0.0421, bytes: 3 * 2 ** 20, holder: null, forked_from: null },
  context: { hash: "0123456789abcdef", sources: ["/x/docs", "stdin"], chars: 1234 },
  last: { exec_id: "e", kind: "cell", input: "go()" },
  execs: [
    {
      ...{ exec_id: "e", kind: "cell", input: "go()", status: "unfinished", error_code: null, began_at: HOUR },
      ...{ time_ms: null, resumed: 2, tokens: 100, cost_usd: 0.001, rest: [] },
      calls: [
        { ...CALL, status: "ok", tokens: 100, cost_usd: 0.001, attempts: 1 },
        { ...CALL, status: "ok", cached: true, tokens: 0, cost_usd: 0, attempts: 0 },
        { ...CALL, status: "failed", error_code: "rate_limited", tokens: 0, cost_usd: 0, attempts: 2 },
        { ...CALL, model: "", status: "pending", tokens: 0, cost_usd: 0, attempts: 0 },
      ],
    },
  ],
  checkpoints: [checkpoint("d", null), checkpoint("e", "d")],
};

test("a session is shown with its calls, and with the line that resumes it", () => {
  const { output, written } = record();
  showSession(SESSION, 3 * HOUR, output);
  expect(written.join("")).toBe(`big  unfinished
id        01X
begun     3 h ago, changed 1 h ago
context   /x/docs, stdin (1,234 characters, 0123456789ab)
took      2 sub-calls · 12k tokens · $0.042 · 3.0 MB on disk

execs
  cell  unfinished  2 h ago  -  4 calls  100 tokens $0.0010  (resumed 2x) go()
      llm_query  a/b  ok            100 tokens  $0.0010  sent 2x
      llm_query  a/b  cached          0 tokens
      llm_query  a/b  rate_limited    0 tokens           sent 3x
      llm_query  -    pending         0 tokens

checkpoints (* here it stands; \`belay fork SESSION@CHECKPOINT\` goes on from another)
  d  end  3 h ago  3 pages  2.0 KB
* e  end  3 h ago  3 pages  2.0 KB

unfinished: belay resume big
`);
});

test("the list names the first source, and the session that can be resumed", () => {
  const { output, written } = record();
  showSessions([{ ...SESSION, execs: 12 }], 3 * HOUR, output);
  expect(written.join("")).toBe(`session  status      changed  context  execs  calls  tokens    cost    size  last
big      unfinished      1 h  docs +1     12      2     12k  $0.042  3.0 MB  go()
unfinished: belay resume big
`);
});
