import fc from "fast-check";
import { expect, test } from "vitest";
import { fitted, type ToolEnvelope } from "../../../src/tools/index.ts";
import { anyCharacter } from "../../support/any-character.ts";

const LIMIT = 51_200;
const bytes = (value: ToolEnvelope) => Buffer.byteLength(JSON.stringify(value));

test("an envelope that fits stays as it is", () => {
  const envelope = { success: true, stdout: "é".repeat(20_000), result_json: { n: 1 } };
  expect(fitted(envelope, "rest")).toBe(envelope);
});

test("what is too long is cut, small fields stay whole, and a warning says how to get the rest", () => {
  const result_json = Array.from({ length: 60_000 }, (_, n) => n);
  const cut = { warnings: ["output_truncated: x"], result_meta: { page: 2 } };
  const envelope = { success: true, stdout: "o".repeat(200_000), result_json, ...cut };
  const shown = fitted(envelope, "Print slices.");
  expect(bytes(shown)).toBeLessThanOrEqual(LIMIT);
  expect(bytes(shown)).toBeGreaterThan(LIMIT * 0.9);
  expect(shown).toMatchObject({ success: true, result_meta: { page: 2 } });
  expect(shown.result_json).toMatch(/^\[0,1,2,3,4/);
  const stdout = typeof shown.stdout === "string" ? shown.stdout.length : 0;
  expect(shown.warnings).toEqual([
    "output_truncated: x",
    expect.stringMatching(
      new RegExp(
        `^answer_cut: stdout shows ${stdout} of 200000 characters, result_json shows \\d+ of 348891 characters\\. Print slices\\.$`,
      ),
    ),
  ]);
});

test("whatever is in it, a cut envelope fits, is JSON, and keeps its success and its short texts", () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 400 });
  const field = fc.oneof(text, fc.array(text, { maxLength: 4 }), fc.integer());
  const envelope = fc.record({ success: fc.boolean(), error_code: fc.constant("code"), a: field, b: field, c: field });
  fc.assert(
    fc.property(envelope, (given) => {
      const whole: ToolEnvelope = JSON.parse(JSON.stringify(given));
      const shown = fitted(whole, "rest", 1_500);
      if (bytes(whole) <= 1_500) return shown === whole;
      expect(bytes(shown)).toBeLessThanOrEqual(1_500);
      expect(shown).toMatchObject({ success: whole.success, error_code: "js_error" });
      for (const [key, value] of Object.entries(shown)) {
        if (key !== "warnings" && typeof value === "string")
          expect(value.isWellFormed() || !isWellFormed(whole[key])).toBe(true);
      }
      return true;
    }),
    { numRuns: 60 },
  );
});

const isWellFormed = (value: unknown) => typeof value !== "string" || value.isWellFormed();
