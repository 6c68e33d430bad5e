import { expect, test } from "vitest";
import { textFromString } from "../../../../src/context/text/text.ts";
import { openLines } from "../../../../src/session/machine/passages.ts";

const LINES = [
  "The rent is 900 EUR.",
  "It is due on the first.",
  "",
  "No.",
  "The rent is 900 EUR.",
  '"Signed" by A. Miller',
];
const TEXT = LINES.join("\n");

/** The lines of the text that are found in what a model reads. */
function found(read: string): string[] {
  const ranges = [...openLines(textFromString(TEXT)).in(read)];
  return ranges.map(([start, end]) => TEXT.slice(start, end).trimEnd());
}

test.each([
  ["as they are", TEXT],
  ["as JSON", JSON.stringify({ text: TEXT })],
  ["as a list", JSON.stringify(LINES)],
  ["with numbers", LINES.map((line, at) => `${at + 1}: ${line}`).join("\n")],
  ["with paths", LINES.map((line, at) => `a/b.txt:${at}: ${line}`).join("\n")],
  ["as objects", LINES.map((line) => JSON.stringify({ line })).join("\n")],
])("all lines are found %s", (_how, read) => {
  const whole = found(read).join("\n");
  for (const line of LINES) expect(whole).toContain(line);
});

test("a line is found by itself if P has it once, and another one only beside such a line", () => {
  expect(found("It is due on the first.")).toEqual(["It is due on the first."]);
  expect(found("The rent is 900 EUR.")).toEqual([]);
  expect(found("No.")).toEqual([]);
  expect(found("It is due on the first.\nNo.")).toEqual(["It is due on the first."]);
  expect(found("The rent is 900 EUR.\nIt is due on the first.")).toEqual([LINES.slice(0, 2).join("\n")]);
});

test("a part of a line and a changed line are not found", () => {
  expect(found("It is due on the second.")).toEqual([]);
  expect(found("is due on the first.")).toEqual([]);
});

test("texts over the limit are left alone", () => {
  const long = textFromString(`${"x".repeat(2 ** 20)}\n${TEXT}`);
  expect([...openLines(long).in(TEXT)]).toEqual([]);
  expect(found(`${TEXT}${"x".repeat(2 ** 20)}`)).toEqual([]);
});
