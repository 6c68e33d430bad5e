import { expect, test } from "vitest";
import { resultEnd } from "../../runtime/ends.ts";
import { imageFormat, imageProblem } from "../../runtime/images/image-compat.ts";
import { DEFAULT_EXEC_LIMITS } from "../../runtime/limits.ts";
import { idleState } from "../../runtime/running.ts";

/** What the prelude of the first bridge reports: the result itself, and no parts. */
const earlier = (result: string | null, size: number) =>
  JSON.stringify({ result, meta: null, size, counted: true, lost: [] });

const raised = { ...idleState(), limits: { ...DEFAULT_EXEC_LIMITS, max_result_bytes: 3 * 2 ** 20 } };

test("a guest of the first bridge is opened, and its result is read", async () => {
  const gate = imageFormat();
  expect(imageProblem({ gate: { ...gate, bridge: 1 } })).toBeNull();
  const warnings: string[] = [];
  const running = { parts: [], wantsWhole: true, state: raised };
  const small = resultEnd(earlier('"small"', 7), running, (text) => warnings.push(text));
  expect(small).toEqual({ end: { kind: "ok", result: '"small"', meta: null }, whole: '"small"' });
  expect(warnings).toEqual([]);
  const large = resultEnd(earlier(null, 2 * 2 ** 20), { ...running, wantsWhole: false }, (text) => warnings.push(text));
  expect(large).toEqual({ end: { kind: "ok", result: "null", meta: null }, whole: null });
  expect(warnings).toEqual(["result_too_large: 2 MB > 1 MB in a session of an earlier build"]);
});
