import { expect, test } from "vitest";
import { crossingLine, curvesOf } from "../../../src/eval/curves.ts";
import { cellsOf, lineOf, lossesOf, lossLine, markdownOf, unreadLine, unreadOf } from "../../../src/eval/report.ts";
import { type JobEnd, type Method, roomOf, rowOf } from "../../../src/eval/rows.ts";
import type { Item } from "../../../src/eval/suites.ts";
import type { AgentCommand } from "../../../src/platform/agent-commands.ts";

const FIGURES = {
  cost_usd: 0.25,
  tokens_in: 1000,
  tokens_cached: 500,
  tokens_out: 40,
  calls: 3,
  refused: 1,
  depth: 1,
  ms: 1500,
  resumes: 2,
  coverage: 0.5,
  cites: 2,
  cited: 1,
  unread: 0,
};

const item = (number: number): Item => ({
  id: `q${number}`,
  suite: "own|suite",
  size: "8k",
  question: "?",
  expected: "yes",
  score: "exact",
});
const done = (answer: string): JobEnd => ({ status: "done", error_code: null, session: "s", result: { answer } });
const row = (number: number, method: Method, end: JobEnd) => rowOf(item(number), method, end, end ? FIGURES : null);

const FAILED: JobEnd = { status: "failed", error_code: "js_timeout", session: "s", result: null };
const NO_ANSWER: JobEnd = { status: "done", error_code: null, session: "s", result: { no_answer: "no_answer" } };

const ROWS = [
  row(1, "ask", done("yes")),
  row(1, "direct", done("yes")),
  row(2, "ask", done("no")),
  row(2, "direct", done("yes")),
  row(3, "ask", NO_ANSWER),
  row(3, "direct", done("no")),
  row(4, "ask", FAILED),
  row(4, "direct", done("yes")),
  row(5, "ask", null),
];

test("means and spread are those of the jobs that have a score", () => {
  const [ask, direct] = cellsOf(ROWS);
  expect(ask).toMatchObject({
    method: "ask",
    jobs: 5,
    scored: 3,
    score: 1 / 3,
    no_answer: 1,
    misformed: 0,
    refused: 3,
    resumes: 6,
  });
  // Scores 1, 0, 0: the squares are 4/9, 1/9 and 1/9.
  expect(ask?.spread).toBeCloseTo(Math.sqrt(6 / 9 / 2), 12);
  expect(direct).toMatchObject({ scored: 4, score: 0.75, cost_usd: 0.25, tokens_in: 1000, depth: 1, coverage: 0.5 });
  expect(ask && lineOf(ask)).toEqual(
    "own|suite,8k,ask,0.33 ±0.58,3 of 5,$0.250,1.0k,500,40,3.0,1,1.5 s,50 %,3 of 6,1,0,3,6".split(","),
  );
});

test("a cell without a score has no figures", () => {
  const [cell] = cellsOf([row(4, "ask", FAILED), row(5, "ask", null)]);
  expect(cell && lineOf(cell)).toEqual(["own|suite", "8k", "ask", "-", "0 of 2", ...Array(13).fill("-")]);
});

test("a loss is told by the questions that both have answered", () => {
  const [loss, ...others] = lossesOf(ROWS);
  expect(others).toEqual([]);
  expect(loss && lossLine(loss)).toBe(
    "the ask loses to direct in own|suite at 8k: 0.33 against 0.67, worse in 1 of 3 (q2)",
  );
  expect(lossesOf(ROWS.slice(0, 2))).toEqual([]);
});

test("the report names what has no answer, and text from elsewhere is no markup", () => {
  const text = [...markdownOf(ROWS, [["model", "a_b"]], ({ item }) => `show ${item}`)].join("");
  expect(text).toContain("- model: a\\_b\n");
  expect(text).toContain("| own\\|suite | 8k | direct | 0.75 ±0.50 | 4 |");
  expect(text).toContain("- the ask loses to direct in own\\|suite at 8k: 0.33 against 0.67");
  expect(text).toContain(
    "- q3, ask: no\\_answer; `show q3`\n- q4, ask: js\\_timeout; `show q4`\n- q5, ask: not over; `show q5`\n",
  );
});

test("prompts have room below the window, and passages 16,000 tokens at the most", () => {
  expect([roomOf("direct", 200_000), roomOf("bm25", 200_000)]).toEqual([3 * 191_808, 48_000]);
  expect([roomOf("direct", 4096), roomOf("bm25", 4096)]).toEqual([6144, 6144]);
});

test("questions whose contexts have files that could not be read are named", () => {
  const lacking = rowOf(item(9), "ask", done("yes"), { ...FIGURES, unread: 2 });
  expect(unreadLine(ROWS)).toBeNull();
  expect(unreadOf([...ROWS, lacking])).toEqual([{ item: "q9", files: 2 }]);
  const line = "files of the contexts of 1 question could not be read: q9 (2 files)";
  expect(unreadLine([...ROWS, lacking])).toBe(line);
  expect([...markdownOf([lacking], [], () => "")].join("")).toContain(`## What was not read\n\n- ${line}\n`);
});

/** Rows of both methods at each size: score and dollars of the ask, then of the prompt. */
function sized(
  ...figures: readonly (readonly [size: string, ask: number, usd: number, prompt: number, usd: number])[]
) {
  return figures.flatMap(([size, ...of]) =>
    (["ask", "direct"] as const).map((method, at) => {
      const [score = 0, cost_usd = 0] = of.slice(2 * at);
      const answer = done(score === 1 ? "yes" : "no");
      return rowOf({ ...item(1), id: size, size, suite: "s" }, method, answer, { ...FIGURES, cost_usd });
    }),
  );
}

test.each([
  [
    "ahead from a size on",
    sized(["8k", 1, 2, 1, 1], ["32k", 1, 2, 0, 4], ["1M", 1, 2, 0, 4]),
    "at 32k tokens: 1.00 for $2.00 against 0.00 for $4.00",
  ],
  [
    "ahead in price alone",
    sized(["8k", 1, 2, 1, 1], ["32k", 1, 2, 1, 4]),
    "at 32k tokens: 1.00 for $2.00 against 1.00 for $4.00",
  ],
  [
    "ahead, and then not",
    sized(["8k", 1, 1, 0, 2], ["1.5M", 0, 1, 1, 2]),
    "nowhere up to 1.5M tokens: 0.00 for $1.00 against 1.00 for $2.00 there",
  ],
  [
    "equal",
    sized(["8k", 1, 1, 1, 1], ["16k", 1, 1, 1, 1]),
    "nowhere up to 16k tokens: 1.00 for $1.00 against 1.00 for $1.00 there",
  ],
  [
    "cheaper, and right nowhere",
    sized(["8k", 0, 1, 0, 2], ["16k", 0, 1, 0, 2]),
    "nowhere up to 16k tokens: 0.00 for $1.00 against 0.00 for $2.00 there",
  ],
  [
    "better, and dearer",
    sized(["8k", 1, 3, 0, 1], ["16k", 1, 3, 0, 1]),
    "nowhere up to 16k tokens: 1.00 for $3.00 against 0.00 for $1.00 there",
  ],
  [
    "always ahead",
    sized(["16k", 1, 1, 0, 1], ["8k", 1, 1, 0, 1]),
    "at 8k tokens, the smallest size that was measured: 1.00 for $1.00 against 0.00 for $1.00",
  ],
  [
    "without a price",
    sized(["8k", 1, 0, 0, 1], ["16k", 1, 1, 0, 1]),
    "at 8k tokens, the smallest size that was measured: 1.00 for 1.0k tokens against 0.00 for 1.0k tokens",
  ],
])("the ask overtakes a method where it is better for no more: %s", (_, rows, words) => {
  const lines = curvesOf(rows).flatMap(({ crossings }) => crossings.map(crossingLine));
  expect(lines).toEqual([`the ask overtakes direct in s ${words}`]);
});

test("a crossing says that a price is the most that an agent may take, if it does not tell it", () => {
  const tellsTokens = { command: ["a"], output: { input: "/in", output: "/out" }, max_usd: 4 };
  const of = (agent: AgentCommand) =>
    sized(["8k", 1, 1, 1, 4], ["16k", 1, 1, 1, 4]).map((row) =>
      row.method === "ask"
        ? row
        : rowOf(
            { ...item(1), id: row.item, size: row.size, suite: "s" },
            "coder",
            done("yes"),
            { ...FIGURES, cost_usd: row.cost_usd },
            agent,
          ),
    );
  const lines = (agent: AgentCommand) => curvesOf(of(agent)).flatMap(({ crossings }) => crossings.map(crossingLine));
  const told =
    "the ask overtakes coder in s at 8k tokens, the smallest size that was measured: 1.00 for $1.00 against 1.00 for $4.00";
  expect(lines(tellsTokens)).toEqual([`${told}; coder does not tell its price, so this is the most that it may take`]);
  // Its tokens are not told, and are not what is compared.
  expect(lines({ ...tellsTokens, output: { cost_usd: "/usd" } })).toEqual([told]);
});

test("without two sizes of one suite there is no curve", () => {
  expect(curvesOf(ROWS)).toEqual([]);
  expect(curvesOf(sized(["short", 1, 1, 0, 1], ["long", 1, 1, 0, 1]))).toEqual([]);
  expect([...markdownOf(ROWS, [], () => "")].join("")).not.toContain("overtakes");
});
