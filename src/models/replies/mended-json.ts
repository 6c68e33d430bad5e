import { jsonrepair } from "jsonrepair";
import type { Json } from "../../../runtime/index.ts";
import { unheld } from "../../platform/cell-json.ts";
import { parseJson } from "../../platform/json.ts";
import { mayPrintOtherwise, propertiesIn, propertiesWritten, readJson } from "../../platform/written-json.ts";
import { withCleanStrings } from "./tool-use.ts";

/** The value of a text that is JSON, or nearly. */
export interface ReadJson {
  readonly value: Json;
  /** Kinds of what was put right. */
  readonly mended: readonly string[];
  /** The reason why the value does not count, as a clause. Absent: it does. */
  readonly flaw?: string;
  /**
   * A whole number, or one beyond all, that JavaScript cannot hold, as it was written. The value
   * has another one.
   */
  readonly lost?: string;
}

/** The value of valid JSON. */
export function validJson(text: string): ReadJson | undefined {
  const value = parseJson(text);
  if (value === undefined) return undefined;
  const properties = propertiesIn(value);
  if (properties === null) return { value, mended: [], flaw: "the value is nested more than 200 deep" };
  if (propertiesWritten(text) > properties) {
    return { value, mended: [], flaw: "an object has two properties of one name" };
  }
  const changed = mayPrintOtherwise(text) ? unheld(readJson(text)) : [];
  const lost = changed.find((figure) => Number.isInteger(Number(figure)) || !Number.isFinite(Number(figure)));
  const mended = changed.length > 0 ? ["rounded figures"] : [];
  return lost === undefined ? { value, mended } : { value, mended, lost };
}

/** Units that may still be given to the repair, which takes the square of some texts. */
interface RepairRoom {
  units: number;
}

/** The room of one reply. The repair of a longer text could take seconds. */
export const repairRoom = (): RepairRoom => ({ units: 32_768 });

/**
 * The value of a text that is nearly JSON, if its meaning is plain. Only punctuation is mended: the
 * words, figures and brackets are those of the text, in their order. So nothing is invented for a
 * text that ends too early.
 */
export function mendedJson(text: string, room: RepairRoom): ReadJson | undefined {
  // JSON whose quotes are escaped is what stands in a string.
  if (ESCAPED.test(text)) return validJson(`"${text}"`);
  const clean = withCleanStrings(text)?.replace(MARKS, (mark) => NARROW[mark] ?? mark);
  if (clean === undefined) return undefined;
  const read = clean === text ? undefined : validJson(clean);
  if (read) return { ...read, mended: [...read.mended, "characters in strings"] };
  if (clean.length > room.units || !CLOSED.test(clean) || leavesOut(clean)) return undefined;
  room.units -= clean.length;
  const repaired = repairedBy(clean);
  const mended = repaired === undefined || !isSame(clean, repaired) ? undefined : validJson(repaired);
  return mended && { ...mended, mended: [...mended.mended, "punctuation"] };
}

const ESCAPED = /^[{[](?:\s|\\[nrt]){0,99}\\"/;

/** Strings, and the full-width marks of Chinese between values. */
const MARKS = /"(?:[^"\\]|\\.)*"?|(?<=["\d}\]])[：，](?=\s{0,9}["\d{[])/gs;
const NARROW: Readonly<Record<string, string>> = { "：": ":", "，": "," };

/** The repair would close what ends too early, and quote what is not JSON. */
const CLOSED = /^(?:[{[].*[}\]]|'.*'|“.*”|True|False|None)$/s;

function repairedBy(text: string): string | undefined {
  try {
    return jsonrepair(text);
  } catch {
    return undefined;
  }
}

function isSame(text: string, repaired: string): boolean {
  const after = marksAside(repaired);
  const isKept = [text, text.replace(COMMENTS, "")].some((before) => marksAside(before) === after);
  return isKept && !/"""|'''/.test(text) && !hasOtherReading(text, repaired);
}

/**
 * `//` begins a comment behind white space, a comma or a bracket: elsewhere it is a part of an
 * address.
 */
const COMMENTS = /\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|(?<=^|[\s,{[])\/\/[^\n]*/g;

/** True if a comment says that values were left out. */
const leavesOut = (text: string) => (text.match(COMMENTS) ?? []).some((comment) => LEFT_OUT.test(comment));

const LEFT_OUT =
  /\.{3}|…|\b(?:and so on|etc|omitted|remaining|truncated|the rest|\d{1,9} (?:more|other)|more (?:items|rows|entries|values|results))\b/i;

/**
 * A text without what the repair may add and leave out. An apostrophe within a word is a part of
 * it.
 */
function marksAside(text: string): string {
  return text
    .replace(/\bNone\b/g, "null")
    .replaceAll("\\", "")
    .replace(/(?<!\p{L})['’]|['’](?!\p{L})|[\s"`“”„‘,]+/gu, "")
    .toLowerCase();
}

/**
 * True if a string of the repair may be meant otherwise: it ends in a mark, and a quote is lacking;
 * it has got quotes that may be its ends; or it had no quotes, and is not made of words.
 */
function hasOtherReading(text: string, repaired: string): boolean {
  const plain = text.replaceAll("\\'", "'");
  const hasMore = quotesIn(repaired) > quotesIn(text);
  const isOdd = text.replaceAll('\\"', "").split('"').length % 2 === 0;
  return (repaired.match(STRING) ?? []).some((literal) => {
    const content = literal.slice(1, -1).replaceAll('\\"', '"');
    if (isOdd && MARK_AT_END.test(content)) return true;
    if ([literal, `'${content}'`, `\`${content}\``].some((quoted) => plain.includes(quoted))) return false;
    if (hasMore && mayEndBefore(literal)) return true;
    return !WORDS.test(content) && !plain.includes(`"${content}`);
  });
}

/**
 * True if a string may end at a quote in it: quotes within a text come in pairs, behind white space
 * and before a letter.
 */
function mayEndBefore(literal: string): boolean {
  const first = literal.indexOf('\\"');
  return (
    quotesIn(literal) % 2 === 1 || BESIDE_MARK.test(literal) || (first > 0 && /\S/.test(literal.charAt(first - 1)))
  );
}

const quotesIn = (text: string) => text.match(/\\"/g)?.length ?? 0;
const STRING = /"(?:[^"\\]|\\.)*"?/gs;
const MARK_AT_END = /^\s{0,9}[,:{}[\]]|[,:{}[\]]\s{0,9}$/;
const BESIDE_MARK = /[,:{}[\]]\s{0,9}\\"|\\"\s{0,9}[,:{}[\]]/;
const WORDS = /^(?!-?(?:NaN|Infinity)\b)[\p{L}_$][\p{L}\p{M}\p{N}_$ '-]*$/u;
