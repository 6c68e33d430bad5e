// Scores of suites that others publish, as their own programs give them, so that figures can be
// compared. null: the answer is not of the form that was asked for, which counts as 0.

/** A known answer: a text, a number, or a list of texts in any order. */
export type Expected = string | number | readonly string[];

/**
 * OOLONG's score of a synthetic question: what follows the last colon is the answer. A number has
 * part of a point by its distance, a date is compared as a date, and a text must be the same.
 */
export function oolongScore(answer: string, expected: Expected): number | null {
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
export function oolongRealScore(answer: string, expected: Expected): number | null {
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
