import { expect, test } from "vitest";
import { tallyOf } from "../../../../src/pi/runs/board.ts";
import { outcomeOf } from "../../../../src/pi/runs/runs.ts";
import { tools } from "../../../../src/tools/pi-tools.ts";

function shownOf(envelope: {
  readonly [field: string]: string | string[] | { readonly [limit: string]: number } | null;
}) {
  const [tool] = tools.filter(({ name }) => name === "rlm_exec");
  if (!tool) throw new Error("rlm_exec is missing");
  const facts = { session: "s", exec_id: "e", calls: tallyOf([]), elapsed_ms: 1, recovered: false };
  const { text, details } = outcomeOf(tool, { success: true, ...envelope }, facts);
  expect(details.envelope).toEqual(JSON.parse(text));
  return details.envelope;
}

test("warnings are sentences behind their codes, with what the model can do in Pi", () => {
  const warnings = [
    "find_results_capped",
    "output_truncated: 293 KB > 100 KB",
    "result_too_large: 2.9 MB > 1 MB",
    "unawaited_sub_calls: 3",
    "helper_set_aside: bad: Error: no",
    "query_words: other words were looked for",
    "from_a_later_build: x",
  ];
  expect(shownOf({ warnings, limits_applied: { max_find_results: 10_000 } }).warnings).toEqual([
    "find_results_capped: find stopped at 10,000 matches; raise max_find_results in limits_override",
    "output_truncated: the cell printed 293 KB, and 100 KB of it is shown; raise max_output_bytes in limits_override, or print less",
    "result_too_large: the result has 2.9 MB, and the limit is 1 MB, so it is left out; keep it in a variable and return parts of it",
    "unawaited_sub_calls: 3 sub-calls ended with the cell before an answer came; await every call",
    "helper_set_aside: a helper failed and is left out until it is added again, or removed with rlm_helpers_remove: bad: Error: no",
    "query_words: other words were looked for",
    "from_a_later_build: x",
  ]);
  expect(shownOf({ warnings: ["find_results_capped"], limits_applied: null }).warnings).toEqual([
    "find_results_capped: find stopped at its limit; raise max_find_results in limits_override",
  ]);
});

test("a suggestion is in the words of Pi, and an envelope without warnings gets none", () => {
  const shown = shownOf({ suggestion: "Read less, or raise `limits.max_execution_ms`." });
  expect(shown).toEqual({ success: true, suggestion: "Read less, or raise max_execution_ms in limits_override." });
});
