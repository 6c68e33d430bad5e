import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";

const [ours = "", otherwise = ""] = readFileSync(join(ROOT, "docs/glossary.md"), "utf8").split(
  "\n## Words that others use otherwise\n",
);

const words = (text: string) => Array.from(text.matchAll(/^\| \*\*(.+?)\*\* \|/gm), ([, word = ""]) => word);

test.each([
  ["the words of ours", ours],
  ["the words that others use otherwise", otherwise],
])("%s are told once each", (_, text) => {
  const told = words(text);
  expect(told.length).toBeGreaterThan(10);
  expect(told.filter((word, index) => told.indexOf(word) !== index)).toEqual([]);
});

test("a word that others use otherwise has a row of ours too, and one meaning elsewhere", () => {
  expect(words(otherwise).filter((word) => !ours.includes(`**${word}**`))).toEqual([]);
  const rows = otherwise.split("\n").filter((line) => line.startsWith("| **"));
  expect(rows.filter((row) => row.split(" | ").length !== 2)).toEqual([]);
});
