import { expect, test } from "vitest";
import { DEFAULT_EXEC_LIMITS } from "../../../runtime/index.ts";
import { hasLoss, warningText } from "../../../src/cli/render/warnings.ts";

const LOSSES = {
  find_results_capped: "find stopped at 10,000 matches; --max-find-results N",
  "output_truncated: 293 KB > 100 KB": "the cell printed 293 KB, and 100 KB of it is shown; --max-output-bytes N",
  "result_too_large: 2.9 MB > 1 MB":
    "the result has 2.9 MB, and the limit is 1 MB, so it is left out; --output FILE writes it, --max-result-bytes N shows it",
  "result_too_large: more than 200,000 values":
    "the result has more than 200,000 values, so it is left out; --output FILE writes it, --max-result-bytes N shows it",
  "result_too_large: 101 MB > 100 MB": "the result has 101 MB, and 100 MB is the most that can be written; return less",
  "limit_met: sub_calls":
    "the sub-calls of its budget did not suffice, so not all was asked; --max-sub-calls N raises it",
  "limit_met: tokens of the session; CURE":
    "the tokens that the session has in all did not suffice, so not all was asked; CURE",
  'list_docs_capped: 1000 of 1001 documents were listed; go on with list_docs("", { from: 1000, limit: 1000 })':
    '1000 of 1001 documents were listed; go on with list_docs("", { from: 1000, limit: 1000 })',
  "result_not_serializable: result.fn (a function)":
    "JSON cannot hold result.fn (a function): it is null in the result",
  "sections_clamped: 4 of 10 sections were read": "4 of 10 sections were read; --max-sub-calls N",
  "sections_failed: 2": "2 sections could not be read: the sub-call failed",
};

test.each(Object.entries(LOSSES))("%s says what is missing, and the flag for it", (warning, sentence) => {
  expect(warningText(warning, DEFAULT_EXEC_LIMITS)).toBe(sentence);
  expect(hasLoss([warning], false)).toBe(true);
});

test("other warnings are sentences too, and one that is not known is shown as it is", () => {
  const sentence = "3 sub-calls ended with the cell before an answer came; await every call";
  expect(warningText("unawaited_sub_calls: 3", DEFAULT_EXEC_LIMITS)).toBe(sentence);
  expect(warningText("from_a_later_build: x", DEFAULT_EXEC_LIMITS)).toBe("from_a_later_build: x");
  expect(warningText("helper_set_aside: bad: Error: no", DEFAULT_EXEC_LIMITS)).toContain("helpers.remove(NAME)");
  expect(warningText("toString: x", DEFAULT_EXEC_LIMITS)).toBe("toString: x");
  expect(hasLoss(["unawaited_sub_calls: 3", "from_a_later_build: x"], false)).toBe(false);
});

test("a result that is in a file is not missing", () => {
  expect(hasLoss(["result_too_large: 2 MB > 1 MB"], true)).toBe(false);
  expect(hasLoss(["result_too_large: 2 MB > 1 MB", "find_results_capped"], true)).toBe(true);
});
