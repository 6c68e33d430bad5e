import { expect, test } from "vitest";
import { warningForModel } from "../../../../src/session/ask/observe.ts";

test.each([
  ["state_restored: checkpoint 01M8, after 0 of 3 sub-calls", "variables are as they were before this cell"],
  ["state_restored: checkpoint 01M8, after 2 of 3 sub-calls", "as they were when 2 of 3 sub-calls of this cell were"],
  ["state_restored: a fresh guest, after 0 of 0 sub-calls", "variables are as they were before this cell"],
  ["output_truncated: 2 MB > 100 KB", "output_truncated: the cell printed 2 MB, and 100 KB of it is shown; print less"],
  ["unawaited_sub_calls: 1", "1 sub-call ended with the cell before an answer came; await every call"],
  ["of_a_later_build: x", "of_a_later_build: x"],
])("the warning %j is a sentence for the model", (warning, sentence) => {
  expect(warningForModel(warning)).toContain(sentence);
});
