import fc from "fast-check";
import { expect, test } from "vitest";
import { clampLimits, DEFAULT_EXEC_LIMITS, type ExecLimits, MAX_EXEC_LIMITS } from "../../runtime/limits.ts";

test("without an override the session's limits hold", () => {
  expect(clampLimits(DEFAULT_EXEC_LIMITS)).toEqual(DEFAULT_EXEC_LIMITS);
  expect(clampLimits(DEFAULT_EXEC_LIMITS, {})).toEqual(DEFAULT_EXEC_LIMITS);
});

test("an override goes down as far as one and up as far as policy allows", () => {
  const asked = { max_output_bytes: 1, max_execution_ms: 0, max_find_results: -7, max_result_bytes: 0 };
  const least = { max_output_bytes: 100, max_execution_ms: 1, max_find_results: 1, max_result_bytes: 4 };
  expect(clampLimits(DEFAULT_EXEC_LIMITS, asked)).toEqual(least);
  const most = { max_output_bytes: 1e12, max_execution_ms: 1e12, max_find_results: 1e12, max_result_bytes: 1e12 };
  expect(clampLimits(DEFAULT_EXEC_LIMITS, most)).toEqual(MAX_EXEC_LIMITS);
});

test("a session that was given more may keep it", () => {
  const session: ExecLimits = { ...DEFAULT_EXEC_LIMITS, max_execution_ms: 500_000 };
  expect(clampLimits(session, { max_execution_ms: 400_000 }).max_execution_ms).toBe(400_000);
  expect(clampLimits(session, { max_execution_ms: 900_000 }).max_execution_ms).toBe(500_000);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, undefined])("%s: nothing", (value) => {
  const override = value === undefined ? {} : { max_execution_ms: value };
  expect(clampLimits(DEFAULT_EXEC_LIMITS, override)).toEqual(DEFAULT_EXEC_LIMITS);
});

test("whatever is asked, limits are whole numbers between one and the policy's", () => {
  fc.assert(
    fc.property(fc.double(), fc.double(), fc.double(), (max_output_bytes, max_execution_ms, max_find_results) => {
      const clamped = clampLimits(DEFAULT_EXEC_LIMITS, { max_output_bytes, max_execution_ms, max_find_results });
      for (const name of ["max_output_bytes", "max_execution_ms", "max_find_results"] as const) {
        expect(Number.isInteger(clamped[name])).toBe(true);
        expect(clamped[name]).toBeGreaterThanOrEqual(1);
        expect(clamped[name]).toBeLessThanOrEqual(MAX_EXEC_LIMITS[name]);
      }
    }),
  );
});
