import * as v from "valibot";
import { expect, test } from "vitest";
import { AgentsSchema } from "../../../src/platform/agent-commands.ts";

const isTaken = (limit: string) => v.safeParse(AgentsSchema, { a: { command: ["a"], limit } }).success;

test.each([
  "(session|usage) limit",
  String.raw`\(?=`,
  "[(?=]",
  String.raw`\\1`,
  "(?<name>a)",
  String.raw`\d{1,3} left`,
])("a limit that is matched in linear time: %s", (limit) => expect(isTaken(limit)).toBe(true));

test.each([
  "a(?=b)",
  "a(?!b)",
  "(?<=a)b",
  "(?<!a)b",
  String.raw`(a)\1`,
  String.raw`(?<n>a)\k<n>`,
  "(",
  "a".repeat(501),
])("a limit that is refused when the configuration is read: %s", (limit) => expect(isTaken(limit)).toBe(false));
