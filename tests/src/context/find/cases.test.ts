import fc from "fast-check";
import { expect, test } from "vitest";
import { count, find } from "../../../../src/context/find/find.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";
import { textFromString } from "../../../../src/context/text/text.ts";
import { onePass } from "../../../support/patterns.ts";

// Literals in several cases, which are found by three bytes of them, against one pass of Rust's regex.

/** Characters with cases of one length and of several, and two without. */
const letter = fc.constantFrom(..."kKKsSſéÉßẞσςΣoO4款".split(""));
const word = fc.array(letter, { minLength: 1, maxLength: 6 }).map((letters) => letters.join(""));
/** Less and more than what is searched at once. */
const filler = fc.constantFrom("", "x", " skos ".repeat(3), "-".repeat(65_530), "o4ko".repeat(5000));

function expectOnePass(pattern: string, plain: string): void {
  const text = textFromString(plain);
  const expected = onePass(pattern, "i", text);
  const compiled = compileFind(pattern, "i");
  expect(find(text, compiled, 10_000).matches).toEqual(expected.slice(0, 10_000));
  expect(count(text, compiled)).toBe(expected.length);
}

test("words in any cases are those of one pass", () => {
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 4 }),
      fc.array(fc.oneof(word, filler), { maxLength: 8 }),
      (words, parts) => expectOnePass(words.join("|"), [...parts, ...words].join("")),
    ),
    { numRuns: 60 },
  );
});

test.each([
  ["hack|todo|fixme", `${"hac ".repeat(40_000)}HACK FixMe ToDo`],
  ["ſession", `${" ".repeat(65_533)}SEſſion session`],
  ["kσkßk|k", `${"-".repeat(65_530)}kσkßkk`],
  ["kσkßk|k", `${"-".repeat(65_529)}KσKßkk`],
  ["kit|itk", "KKIT itk iTK".repeat(3)],
])("%j is found on a border, and among many beginnings", expectOnePass);
