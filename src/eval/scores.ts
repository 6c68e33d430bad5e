/** A known answer: a text, a number, or a list of texts in any order. */
export type Expected = string | number | readonly string[];

export const SCORE_NAMES = ["contains", "exact", "count", "recall", "f1", "oolong", "oolong-real", "choice"] as const;
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
    case "oolong":
      return oolongScore(answer, expected);
    case "oolong-real":
      return oolongRealScore(answer, expected);
    case "choice":
      return choiceScore(answer, expected);
  }
}

/** The score of one of four choices, by its letter. */
function choiceScore(answer: string, expected: Expected): number | null {
  const plain = answer.replaceAll("*", "").trim();
  const [, letter] = /answer is:?\s*\(?([A-D])\b/i.exec(plain) ?? /^\(?([A-D])(?:\)|[.:]|$)/.exec(plain) ?? [];
  return letter === undefined ? null : letter.toUpperCase() === expected ? 1 : 0;
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
  const items = new Set(parts.filter((part) => part !== "").map(unordered));
  if ([...items].some((part) => /\s/.test(part))) return null;
  const right = expected.filter((one) => items.has(one)).length;
  return items.size + expected.length === 0 ? 1 : (2 * right) / (items.size + expected.length);
}

/** `a-b` of `B-a`: a pair has no order. */
const unordered = (text: string) => text.toLowerCase().split("-").sort().join("-");

// Scores of suites that others publish, as their own programs give them, so that figures can be compared.

/**
 * OOLONG's score of a synthetic question: what follows the last colon is the answer. A number has
 * part of a point by its distance, a date is compared as a date, and a text must be the same.
 */
function oolongScore(answer: string, expected: Expected): number | null {
  const found = oolongAnswer(answer.trim());
  const right = String(expected);
  if (found === right) return 1;
  if (COMPARISONS.includes(found)) return right.includes(found) ? 1 : 0;
  if (typeof expected === "number") return WHOLE.test(found) ? 0.75 ** Math.abs(expected - Number(found)) : null;
  return ISO_DAY.test(right) && dayOf(found) === right ? 1 : 0;
}

const COMPARISONS = ["more common", "less common", "same frequency"];
/** Characters of an answer that is taken whole. */
const SHORT = 20;
const WHOLE = /^[+-]?\d{1,15}$/;
const ISO_DAY = /^\d{4}-\d\d-\d\d$/;

function oolongAnswer(answer: string): string {
  if (!answer.includes(":")) return answer.length < SHORT ? answer : (answer.split(/\s+/).at(-1) ?? "");
  const last = answer.slice(answer.lastIndexOf(":") + 1).trim();
  const plain = last.replaceAll(/[*[\]]/g, "");
  if (plain.length < SHORT) return plain;
  return COMPARISONS.find((words) => plain.includes(words)) ?? plain;
}

/** `2023-05-01` of `May 1, 2023`, `05/01/2023` and the like; empty if it is no date. */
function dayOf(text: string): string {
  if (ISO_DAY.test(text)) return text;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

const IN_TEXT = /\\boxed\{\\text\{([^}]{0,1000})\}\}/;
const BOXED = /\\boxed\{{1,9}([^}]{0,1000})\}/;

/**
 * OOLONG's score of a question about real texts: a number by its distance, the share of a list
 * that is there, or the same text in any case. An answer need not be boxed.
 */
function oolongRealScore(answer: string, expected: Expected): number | null {
  const [, words] = IN_TEXT.exec(answer) ?? BOXED.exec(answer) ?? [];
  const found = (words ?? answer).trim();
  if (typeof expected === "number") return WHOLE.test(found) ? 0.75 ** Math.abs(expected - Number(found)) : null;
  if (typeof expected === "string") return found.toLowerCase() === expected.trim().toLowerCase() ? 1 : 0;
  const items = new Set(listIn(found));
  if (items.size < 2) return null;
  const right = new Set(expected);
  return [...right].filter((one) => items.has(one)).length / expected.length;
}

/** The parts of a text between its commas. */
export const listIn = (text: string): string[] =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
