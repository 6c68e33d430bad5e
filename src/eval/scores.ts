/** A known answer: a text, a number, or a list of texts in any order. */
export type Expected = string | number | readonly string[];

export const SCORE_NAMES = ["contains", "exact", "count", "recall", "f1"] as const;
export type ScoreName = (typeof SCORE_NAMES)[number];

/**
 * The score of an answer, 0 to 1. null: it is not of the form that was asked for, which counts as
 * 0.
 */
export function scoreOf(name: ScoreName, answer: string, expected: Expected): number | null {
  switch (name) {
    case "contains":
      return hasWords(answer, String(expected)) ? 1 : 0;
    case "exact":
      return plain(answer) === plain(String(expected)) ? 1 : 0;
    case "count":
      return countScore(answer, Number(expected));
    case "recall":
      return shareOf(listOf(expected), (one) => hasWords(answer, one));
    case "f1":
      return f1(answer, listOf(expected).map(unordered));
  }
}

const listOf = (expected: Expected): readonly string[] =>
  typeof expected === "object" ? expected : [String(expected)];

/** Lower case, without quotes, emphasis, and points or blanks at the ends. */
const plain = (text: string) => trimmed(text.toLowerCase().replaceAll(/["'`*_]/g, ""));

/** The text without points and blanks at its ends. */
function trimmed(text: string): string {
  let end = text.length;
  while (end > 0 && /[\s.]/.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end).replace(/^[\s.]+/, "");
}

/** Letters and digits of scripts that put blanks between words. */
const SPACED = "\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{N}";

/** True if a text has these words, and not as a part of longer ones. */
function hasWords(text: string, words: string): boolean {
  const escaped = words.toLowerCase().replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`(?<![${SPACED}])${escaped}(?![${SPACED}])`, "u").test(text.toLowerCase());
}

/** OOLONG's 0.75^|y − ŷ| of the only number in the answer. */
function countScore(answer: string, expected: number): number | null {
  const [number, other] = answer.match(/-?\d[\d,]*(?:\.\d+)?/g) ?? [];
  if (number === undefined || other !== undefined) return null;
  return 0.75 ** Math.abs(expected - Number(number.replaceAll(",", "")));
}

const shareOf = (all: readonly string[], isThere: (one: string) => boolean) =>
  all.length === 0 ? 1 : all.filter(isThere).length / all.length;

/** F1 of the lists; the answer is a list if no part of it has blanks within. */
function f1(answer: string, expected: readonly string[]): number | null {
  const parts = answer
    .replaceAll(/[[\]"'`*]/g, "")
    .split(/[,;\n]/)
    .map((part) => trimmed(part.replace(/^\s*-\s/, "")));
  const given = new Set(parts.filter((part) => part !== "").map(unordered));
  if ([...given].some((part) => /\s/.test(part))) return null;
  const right = expected.filter((one) => given.has(one)).length;
  return given.size + expected.length === 0 ? 1 : (2 * right) / (given.size + expected.length);
}

/** `a-b` of `B-a`: a pair has no order. */
const unordered = (text: string) => text.toLowerCase().split("-").sort().join("-");
