import { expect, test } from "vitest";
import { argumentCheck, integer, optional, string } from "../../builtins/define.ts";
import { builtins } from "../../builtins/index.ts";
import type { Json } from "../../runtime/index.ts";

const check = argumentCheck("cut", { text: string, at: integer, end: optional(integer) });

function messageOf(args: readonly Json[]): string {
  try {
    check(args);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "accepted";
}

test("positional arguments become named ones; an optional one may be missing or null", () => {
  expect(check(["a", 1, 2])).toEqual({ text: "a", at: 1, end: 2 });
  expect(check(["a", 1])).toEqual({ text: "a", at: 1 });
  expect(check(["a", 1, null])).toEqual({ text: "a", at: 1 });
});

test.each([
  [[], "cut: text is missing"],
  [["a"], "cut: at is missing"],
  [["a", null], /^cut: at .*got null$/],
  [["a", 1.5], /^cut: at .*got 1.5$/],
  [["a", 1, "2"], /^cut: end .*got "2"$/],
  [[["a"], 1], /^cut: text .*got \["a"\]$/],
  [["a", 1, 2, 3], "cut takes 3 arguments (text, at, end)"],
  [[["x".repeat(500)], 1], /^cut: text .{1,120}…$/],
] as const)("%j is refused by name", (args, message) => {
  expect(messageOf(args)).toMatch(message);
});

test("every builtin has a name of its own, a summary that is a sentence, and an example", () => {
  const names = builtins.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, summary, example, signature } of builtins) {
    expect(summary, name).toMatch(/^[A-Z].*\.$/s);
    expect(example.length, name).toBeGreaterThan(0);
    expect(signature, name).toContain(name);
  }
});
