import fc from "fast-check";
import { expect, test } from "vitest";
import { appendOutput, cutUtf8, noOutput } from "../../runtime/output.ts";
import { anyCharacter } from "../support/any-character.ts";

test("text within the limit is kept whole, in its stream", () => {
  const output = noOutput();
  appendOutput(output, "stdout", "a\n", 100);
  appendOutput(output, "stderr", "é\n", 100);
  appendOutput(output, "stdout", "b\n", 100);
  expect(output).toMatchObject({ stdout: "a\nb\n", stderr: "é\n", truncated: false });
});

test("what goes over the limit is cut at a character, and the rest is dropped", () => {
  const output = noOutput();
  appendOutput(output, "stdout", "😀".repeat(40), 100);
  expect(output.stdout).toBe(`${"😀".repeat(22)}\n[truncated]`);
  appendOutput(output, "stderr", "later", 100);
  expect(output).toMatchObject({ stderr: "", truncated: true });
});

test("lone surrogates become code points", () => {
  const output = noOutput();
  appendOutput(output, "stdout", "a\ud800b", 100);
  expect(output.stdout).toBe("a\\ud800b");
});

test("both streams together never exceed the limit, and are cut only when they would", () => {
  const pieces = fc.array(
    fc.tuple(fc.constantFrom("stdout" as const, "stderr" as const), fc.string({ unit: anyCharacter })),
  );
  fc.assert(
    fc.property(pieces, fc.integer({ min: 100, max: 160 }), (given, max) => {
      const output = noOutput();
      for (const [stream, text] of given) appendOutput(output, stream, text, max);
      const kept = Buffer.byteLength(output.stdout) + Buffer.byteLength(output.stderr);
      const asked = given.reduce((sum, [, text]) => sum + Buffer.byteLength(text.toWellFormed()), 0);
      expect(kept).toBeLessThanOrEqual(max);
      expect(output.truncated).toBe(asked > max);
      expect(output.stdout.isWellFormed() && output.stderr.isWellFormed()).toBe(true);
      if (!output.truncated) expect(kept).toBe(asked);
    }),
  );
});

test("cutUtf8 gives the longest prefix of whole characters", () => {
  expect(cutUtf8("aé😀", 7)).toBe("aé😀");
  expect(cutUtf8("aé😀", 6)).toBe("aé");
  expect(cutUtf8("aé😀", 2)).toBe("a");
  expect(cutUtf8("aé😀", 0)).toBe("");
  expect(cutUtf8("aé😀", -5)).toBe("");
});
