import { visibleWidth } from "@mariozechner/pi-tui";
import { expect, test } from "vitest";
import type { RunningState } from "../../../../src/pi/runs/board.ts";
import type { ShownResult } from "../../../../src/pi/view/answer.ts";
import { type KnownCalls, type RowState, rowRenderers } from "../../../../src/pi/view/rows.ts";
import type { Paint } from "../../../../src/pi/view/texts.ts";

/** Colours as words, so that a test can see them. */
const PAINT: Paint = {
  fg: (colour, text) => (colour === "error" ? `<error>${text}</error>` : text),
  bold: (text) => text,
};
const now = () => 12_000;
const NOTHING_KNOWN: KnownCalls = { now, running: () => null, result: () => null };
const highlight = (code: string) => code.split("\n").map((line) => `js ${line}`);

const RUNNING: RunningState = {
  ...{ tool: "rlm_exec", tool_call_id: "call", exec_id: null, phase: "running", started_at: 0, turn: null },
  child: null,
  calls: {
    done: 3,
    running: 5,
    waiting: 0,
    left: 42,
    tokens: 48_123,
    cost_usd: 0.021,
    held_tokens: 9000,
    held_cost_usd: 0.013,
  },
  ...{ load: null, notice: null },
};

interface Drawn {
  readonly tool?: string;
  readonly args?: unknown;
  readonly result?: ShownResult;
  readonly expanded?: boolean;
  readonly isPartial?: boolean;
  readonly isError?: boolean;
  readonly known?: KnownCalls;
  readonly width?: number;
}

/** The lines that Pi would show: it calls both renderers, then draws what they gave. */
function drawn({ tool = "rlm_exec", args = {}, result, width = 120, ...given }: Drawn): string[] {
  const { expanded = false, isPartial = false, isError = false, known = NOTHING_KNOWN } = given;
  const { renderCall, renderResult } = rowRenderers(tool, highlight, known);
  const state: RowState = {};
  const context = { args, state, toolCallId: "call", cwd: "/project", expanded, isError };
  const call = renderCall(args, PAINT, context);
  const end = result && renderResult(result, { expanded, isPartial }, PAINT, context);
  return [...call.render(width), ...(end?.render(width) ?? [])].map((line) => line.trimEnd());
}

/** A result as Pi keeps it. */
function kept(envelope: object, beside: object = {}): ShownResult {
  return { content: [{ type: "text", text: JSON.stringify(envelope) }], details: { envelope, ...beside } };
}

test("a text answer is shown by its first line, and whole if rows are expanded", () => {
  const fact = "rlm-obj-231a6022c817 · history/0001-user · characters 0 to 5 of 5";
  const result: ShownResult = {
    content: [{ type: "text", text: `${fact}\n{"a":\n1}` }],
    details: { tool: "rlm_peek", envelope: { success: true, text: fact }, elapsed_ms: 12 },
  };
  const line = `rlm_peek · ${fact} · 12 ms`;
  expect(drawn({ tool: "rlm_peek", result })).toEqual([line]);
  expect(drawn({ tool: "rlm_peek", result, expanded: true })).toEqual([line, "result", `  ${fact}`, '  {"a":', "  1}"]);
});

const CALLS = {
  ...{ count: 3, failed: 1, tokens: 1234, cost_usd: 0.0042 },
  items: [
    { call_id: "1", prompt: "What is\nthis?", success: true, tokens: 1200, cost_usd: 0.004, cached: false },
    { call_id: "2", prompt: "And that?", success: false, tokens: 34, cost_usd: 0.0002, cached: false },
    { call_id: "3", prompt: "Again?", success: true, tokens: 0, cost_usd: 0, cached: true },
  ],
};
const CELL = {
  ...{ success: true, stdout: "42 found\n", stderr: "" },
  ...{ result_json: { capped: false, matches: Array(42).fill("a match in the text") }, result_meta: null },
  ...{ warnings: ["output_truncated"], execution_time_ms: 1234 },
  budget: { remaining_tokens: 498_766, remaining_sub_calls: 47, remaining_time_ms: 298_000 },
};
const FAILED = {
  ...CELL,
  ...{ success: false, error_code: "js_error", error_message: "ReferenceError: nope is not defined" },
  traceback: "ReferenceError: nope is not defined\n    at <cell 2>:2:1",
  ...{ suggestion: "Check the spelling of nope.", result_json: null },
};
const CODE = "const { matches } = find('x');\nresult = { matches };\n";

test("a call is one line: what was asked and what came of it", () => {
  expect(drawn({ args: { code: CODE }, result: kept(CELL, { calls: CALLS }) })).toEqual([
    "rlm_exec · 2 lines · 42 matches · 3 sub-calls · 1 failed · 1.2 s · $0.0042",
  ]);
});

test.each([
  [
    "rlm_load",
    { path: "/project/docs" },
    { stats: { document_count: 30, length_chars: 55_620 } },
    "docs · 30 documents · 56k characters",
  ],
  [
    "rlm_load",
    { path: "/projects" },
    { stats: { document_count: 1, length_chars: 5 } },
    "/projects · 1 document · 5 characters",
  ],
  ["rlm_query", { prompt: "Why?" }, { answer: "So.", sections_analyzed: 9, sections: [] }, "“Why?” · 9 sections"],
  [
    "rlm_ask",
    { question: "Why?" },
    { answer: "So.", turns: 3, cells: 1, usage: { input: 9, output: 9, cost_usd: 0.03 }, execution_time_ms: 2000 },
    "“Why?” · So. · 3 turns · 1 cell · 2.0 s · $0.030",
  ],
  ["rlm_helpers_add", { name: "count", code: "a" }, { name: "count" }, "count · 1 line"],
  ["rlm_helpers_list", {}, { helpers: [{}, {}] }, "2 helpers"],
  ["rlm_helpers_remove", { name: "count" }, { name: "count", removed: false }, "count · there was none"],
  ["rlm_memory_get", { key: "a" }, { key: "a", value: { b: 1 } }, 'a · {"b":1}'],
  ["rlm_memory_get", { key: "a" }, { key: "a", value: null }, "a · null"],
  ["rlm_memory_batch", { ops: [{}, {}] }, { results: [] }, "2 operations"],
  ["rlm_memory_list", {}, { keys: ["a"] }, "1 key"],
  ["rlm_exec", { code: "1" }, { result_json: [1, 2] }, "1 line · 2 items"],
  ["rlm_exec", { code: "1" }, { result_json: { boxes: ["a"] } }, "1 line · 1 box"],
  ["rlm_exec", { code: "1" }, { result_json: { address: ["a", "b"] } }, "1 line · 2 address"],
  ["rlm_exec", { code: "1" }, { result_json: "text\nof two lines" }, "1 line · text of two lines"],
  ["rlm_exec", { code: "1" }, { result_json: false }, "1 line · false"],
  ["rlm_exec", { code: "1" }, { result_json: null }, "1 line"],
])("the line of %s with %j", (tool, args, fields, rest) => {
  expect(drawn({ tool, args, result: kept({ success: true, ...fields }) })).toEqual([`${tool} · ${rest}`]);
});

test("a failure shows its code and message in red, and what to do about it", () => {
  expect(drawn({ args: { code: CODE }, result: kept(FAILED), isError: true })).toEqual([
    "rlm_exec · 2 lines · <error>js_error: ReferenceError: nope is not defined</error> · 1.2 s",
    "  Check the spelling of nope.",
  ]);
});

test("a call that another process finished says so", () => {
  expect(drawn({ args: { code: "1" }, result: kept(CELL, { recovered: true }) })).toEqual([
    "rlm_exec · 1 line · 42 matches · 1.2 s · resumed",
  ]);
});

test("expanded, an ask shows its question, its answer and the places of it", () => {
  const citation = { valid: true, doc: "a/b.md", line: 3, quote: "because\nof this" };
  const page = { valid: true, doc: "c.pdf", line: 90, place: "p.12", quote: "so" };
  const answer = { success: true, answer: "So.", turns: 1, cells: 0, citations: [citation, page, { valid: false }] };
  expect(drawn({ tool: "rlm_ask", args: { question: "Why?" }, result: kept(answer), expanded: true }).slice(1)).toEqual(
    ["  Why?", "result", "  So.", "places", "  a/b.md:3 because of this", "  c.pdf p.12 so", "  not a place of P"],
  );
});

test("an ask names files that it could not rest on, and another version's answer has none", () => {
  const skipped = { count: 2, unread: 1, files: [{ path: "a\u202e.pdf", reason: "is encrypted" }], capped: true };
  const row = (fields: object) =>
    drawn({
      tool: "rlm_ask",
      args: { question: "Why?" },
      result: kept({ success: true, answer: "So.", turns: 1, cells: 0, ...fields }),
      expanded: true,
    });
  expect(row({ skipped })[0]).toContain(" · 1 file not read · ");
  expect(row({ skipped }).slice(-2)).toEqual(["not read", "  1 file could not be read: a\\u202e.pdf (is encrypted)."]);
  for (const other of [null, 1, { unread: "2" }, { ...skipped, unread: 0 }]) {
    expect(row({ skipped: other })).not.toContain("not read");
  }
});

test("expanded, all of it is there", () => {
  const lines = drawn({ args: { code: CODE }, result: kept(CELL, { calls: CALLS }), expanded: true });
  expect(lines.slice(1)).toEqual([
    "  js const { matches } = find('x');",
    "  js result = { matches };",
    "output",
    "  42 found",
    "result",
    "  {",
    '    "capped": false,',
    '    "matches": [',
    ...Array.from({ length: 42 }, (_, n) => `      "a match in the text"${n < 41 ? "," : ""}`),
    "    ]",
    "  }",
    "warnings",
    "  output_truncated",
    "3 sub-calls · 1.2k tokens · $0.0042",
    "  ✓ What is this? 1.2k tokens · $0.0040",
    "  <error>✗</error> And that? 34 tokens · $0.0002",
    "  ✓ Again? cached",
    "budget left  47 sub-calls · 499k tokens · 4 min 58 s",
  ]);
});

test("expanded, a failure shows where it happened", () => {
  const lines = drawn({ args: { code: CODE }, result: kept(FAILED), isError: true, expanded: true });
  expect(lines).toContain("traceback");
  expect(lines).toContain("  <error>    at <cell 2>:2:1</error>");
});

test("a long block is cut, and says by how much", () => {
  const stdout = Array.from({ length: 1000 }, (_, n) => `line ${n}`).join("\n");
  const lines = drawn({ args: { code: "1" }, result: kept({ success: true, stdout }), expanded: true });
  expect(lines).toHaveLength(404);
  expect(lines.at(-1)).toBe("  … 600 more lines");
});

test("while it runs, the line tells how far it is", () => {
  const partial = { content: [], details: { tool: "rlm_exec", running: RUNNING } };
  expect(drawn({ args: { code: CODE }, result: partial, isPartial: true })).toEqual([
    "rlm_exec · 2 lines · running 12 s · 3 done · 5 running · 42 left · 48k tokens (~9.0k held) · $0.021 (up to $0.034)",
  ]);
  // A cell that computes has its time alone, which goes on without a word from it.
  const computing = { ...partial, details: { tool: "rlm_exec", running: { ...RUNNING, calls: null } } };
  expect(drawn({ args: { code: CODE }, result: computing, isPartial: true })).toEqual([
    "rlm_exec · 2 lines · running 12 s",
  ]);
  const load = { ...RUNNING, phase: "loading", calls: null, load: { files: 1234, bytes: 47_395_635 } } as const;
  const loading = { content: [], details: { tool: "rlm_load", running: load } };
  expect(drawn({ tool: "rlm_load", args: { path: "/project" }, result: loading, isPartial: true })).toEqual([
    "rlm_load · /project · loading 12 s · 1,234 files · 45.2 MB",
  ]);
});

test("what a guest printed cannot steer the terminal", () => {
  const stdout = "a\u001b[2Jb\rc\td\u0007";
  const lines = drawn({ args: { code: "'\u001b]0;x'" }, result: kept({ success: true, stdout }), expanded: true });
  expect(lines).toContain("  a\\x1b[2Jb\\rc  d\\x07");
  expect(lines.join("\n")).not.toContain("\u001b]");
});

test("no line is wider than the terminal", () => {
  const stdout = `${"wörd ".repeat(100)}${"x".repeat(300)}漢字`;
  const lines = drawn({
    ...{ args: { code: "y".repeat(200) }, result: kept({ ...CELL, stdout }), expanded: true, width: 30 },
  });
  expect(Math.max(...lines.map(visibleWidth))).toBe(30);
});

test("arguments that are still being written, or that are wrong, are no trouble", () => {
  expect(drawn({ args: undefined })).toEqual(["rlm_exec"]);
  expect(drawn({ args: { code: "const a" } })).toEqual(["rlm_exec · 1 line"]);
  expect(drawn({ args: { code: 7, path: null } })).toEqual(["rlm_exec"]);
});

test("Pi's own words for a call that it refused are shown as they are", () => {
  const text = 'Validation failed for tool "rlm_exec"';
  const refused = { result: { content: [{ type: "text", text }], details: {} }, isError: true };
  expect(drawn(refused)).toEqual(["rlm_exec", `<error>${text}</error>`]);
  expect(drawn({ ...refused, expanded: true })).toEqual(["rlm_exec", `  ${text}`]);
});

test("a result without details is read from its text; details of another shape are passed over", () => {
  const { content } = kept(CELL);
  const line = "rlm_exec · 1 line · 42 matches · 1.2 s";
  for (const details of [undefined, null, 7, { envelope: "x", calls: [], elapsed_ms: "1" }]) {
    expect(drawn({ args: { code: "1" }, result: { content, details } })).toEqual([line]);
  }
});

test("a call that Pi shows without a result is drawn from what is known of it", () => {
  const known = { now, running: () => ({ ...RUNNING, phase: "recovering" }) as const, result: () => null };
  expect(drawn({ args: { code: CODE }, known })[0]).toContain("rlm_exec · 2 lines · recovering 12 s · 3 done");
  const found = kept(CELL, { recovered: true });
  const ended = { now, running: () => null, result: () => found };
  expect(drawn({ args: { code: CODE }, known: ended })).toEqual(["rlm_exec · 2 lines · 42 matches · 1.2 s · resumed"]);
  expect(drawn({ args: { code: CODE }, known: ended, expanded: true })).toContain("  42 found");
});

test("texts that models read: a row says which, or how many, and what came of it", () => {
  const one = { object: "rlm-obj-1", answer: "heron", confidence: "high", evidence: ["so"] };
  const query = { tool: "rlm_query", args: { prompt: "Which?", target: "rlm-obj-231a" } };
  expect(drawn({ ...query, result: kept({ success: true, ...one }) })).toEqual([
    "rlm_query · rlm-obj-231a · “Which?” · heron",
  ]);
  const rows = drawn({ ...query, expanded: true, result: kept({ success: true, ...one }) });
  expect(rows.slice(3)).toEqual(["  answer: heron", "  confidence: high", '  evidence: ["so"]']);
  const results = [one, { object: "rlm-obj-2", error: { code: "timeout" } }];
  const batch = { tool: "rlm_batch", args: { instructions: "Which?", targets: ["a", "b"] } };
  expect(drawn({ ...batch, result: kept({ success: true, results, answered: 1, failed: 1 }) })).toEqual([
    "rlm_batch · 2 objects · “Which?” · 1 answer",
  ]);
});
