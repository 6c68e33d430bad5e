import { expect, test } from "vitest";
import { endOf, endSentence } from "../../../src/models/model-ends.ts";

const SONNET = "anthropic/claude-sonnet-4-5";
const DAY = 86_400_000;
const END = Date.UTC(2026, 10, 30);

test("a model is told from sixty days before its end on, and afterwards in other words", () => {
  expect(endSentence(SONNET, END - 60 * DAY)).toBeNull();
  const soon = endSentence(SONNET, END - 59 * DAY);
  expect(soon).toContain(`${SONNET} ends on 2026-11-30, and its provider names anthropic/claude-sonnet-5-5`);
  expect(endSentence(SONNET, END + DAY - 1)).toBe(soon);
  const after = endSentence(SONNET, END + DAY);
  expect(after).toContain(`${SONNET} ended on 2026-11-30, and its provider may refuse it: ask its successor`);
  expect(after).toContain("(https://platform.claude.com/");
});

test("dated versions end with their model, unless they have an end of their own; models of other hosts do not", () => {
  expect(endOf(`${SONNET}-20250929`)).toBe(endOf(SONNET));
  expect(endOf("openai/gpt-5-2025-08-07")?.date).toBe("2026-12-11");
  expect(endOf("openai/gpt-4o-2024-05-13")?.date).toBe("2026-10-23");
  expect(endOf("openai/gpt-4o-2024-11-20")?.date).toBe("2027-01-14");
  for (const name of ["openrouter/openai/gpt-5", "anthropic/claude-sonnet-4-6", "local/gpt-5", "openai/gpt-5.6-sol"])
    expect(endOf(name)).toBeUndefined();
});

test("no successor ends itself, and each is of the provider of its model", () => {
  const names = ["anthropic/claude-sonnet-4-5", "openai/o1", "openai/gpt-5", "openai/gpt-4o", "google/gemini-2.5-pro"];
  for (const name of names) {
    const { successor = "", source = "", date = "" } = endOf(name) ?? {};
    expect(successor.split("/")[0]).toBe(name.split("/")[0]);
    expect(endOf(successor)).toBeUndefined();
    expect(source).toMatch(/^https:\/\//);
    expect(new Date(date).toISOString()).toBe(`${date}T00:00:00.000Z`);
  }
});
