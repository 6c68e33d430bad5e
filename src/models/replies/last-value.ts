import type { ReadJson } from "./mended-json.ts";
import { isShown } from "./shown.ts";
import type { Place } from "./value-places.ts";

/** A value in a text that fits the schema. */
export interface FoundValue extends ReadJson, Place {
  /** The value as JSON, the same for equal values. */
  readonly key: string;
}

/**
 * The value that counts among those of an answer: the last one, if each other one is a draft before
 * it, or only spoken of. null: it is unknown which counts. A value that the model was shown never
 * counts against another one, since it may be quoted.
 * @param found in the order of their ends
 */
export function lastOf(found: readonly FoundValue[], text: string, shown: readonly string[]): FoundValue | null {
  const given = found.filter(({ end }) => !hasWords(restOfLine(text, end)));
  const last = given.at(-1) ?? found.at(-1);
  if (!last) return null;
  const others = found.filter(({ key }) => key !== last.key);
  if (others.length === 0) return last;
  if (given.length === 0 || isShown(last.value, shown)) return null;
  const isAside = others.every((other) => isDraft(other, last, text) || isSpokenOf(other, last, text));
  return isAside ? { ...last, mended: [...last.mended, "a draft beside it"] } : null;
}

/**
 * True if words say that one value replaces the other: a line of them, or one that names
 * the last one as such.
 */
function isDraft(other: Place, last: Place, text: string): boolean {
  const between = text.slice(other.end, last.start);
  if (INVENTED.test(between)) return false;
  const lines = wordsOf(between).split("\n");
  const lead = lines.at(-1) ?? "";
  const hasLine = lines.slice(1, -1).some(hasWords);
  if (lines.length < 2 || !(hasLine || FINAL.test(lead))) return false;
  return !isAlternative(leadOf(other, text), leadOf(last, text));
}

/**
 * The beginning of a turn that the model has invented: behind its answer it continues with what
 * others may say.
 */
const INVENTED =
  /^\W{0,9}(?:user|human|instruction)\b\W{0,4}:|<\|(?:im_start|start_header_id|user|eot_id)\|>|<start_of_turn>|\[INST\]/im;

/** Names a value as the one that counts. */
const FINAL =
  /\b(?:final|answer|result|output|correct|revis|updat|actual|instead|rather|better|fixed|wait|sorry|no\b)|endg[üu]ltig|korr|corr[ie]|最终|最終|答案|更正|修正|итог|ответ|исправ/i;

function isSpokenOf(other: Place, last: Place, text: string): boolean {
  const between = wordsOf(text.slice(last.end, other.start));
  return between.includes("\n") && hasWords(between);
}

/**
 * True if the words before two values stand in one list, or differ only by a number: neither
 * replaces the other.
 */
function isAlternative(first: string, last: string): boolean {
  const isListed = LISTED.test(first) && LISTED.test(last) && !FINAL.test(last);
  return isListed || OTHERWISE.test(last) || (first !== "" && withoutNumbers(first) === withoutNumbers(last));
}

const LISTED = /^\s*(?:[-*+•]\s|\||\(?(?:\d{1,3}|[A-Za-z])[.)]\s)/;
const OTHERWISE = /^\W*(?:(?:or|alternatively|option|had|if|for (?:example|instance))\b|e\.g\.)/i;

function withoutNumbers(lead: string): string {
  return lead.toLowerCase().replace(/\b(?:\d{1,9}|[a-z]|one|two|three|first|second|third)\b|[^\p{L}]/gu, "");
}

/**
 * The words that lead to a value: those before it on its line, or the next line above that has
 * some.
 */
function leadOf({ start }: Place, text: string): string {
  const before = wordsOf(text.slice(Math.max(0, start - MOST_LEAD), start)).split("\n");
  return before.findLast(hasWords) ?? "";
}

const MOST_LEAD = 400;

function restOfLine(text: string, from: number): string {
  const end = text.indexOf("\n", from);
  return wordsOf(text.slice(from, end < 0 ? undefined : end));
}

/** A text without tags and fences, whose letters are no words. */
const wordsOf = (text: string) => text.replace(/<\/?[\w-]{1,40}>|(?:```|~~~)\w{0,20}/g, "");
const hasWords = (text: string) => /\p{L}/u.test(text);
