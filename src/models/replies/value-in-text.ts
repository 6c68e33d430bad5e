import type { Json } from "../../../runtime/index.ts";
import { canonicalJson } from "../../platform/cell-json.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import { fitted } from "../schema/fitted.ts";
import { violations } from "../schema/schema.ts";
import { isShown } from "../sent-messages.ts";
import { mendedJson, type ReadJson, repairRoom, validJson } from "./mended-json.ts";
import { type Place, placesIn } from "./value-places.ts";

export type ReadValue =
  | {
      readonly ok: true;
      readonly value: Json;
      /** Kinds of what was put right in its text. Absent: nothing was. */
      readonly mended?: readonly string[];
    }
  | {
      readonly ok: false;
      readonly problems: readonly string[];
      /** The answer has a figure that JavaScript cannot hold: asking again would not help. */
      readonly isFinal?: true;
    };

/**
 * The value in an answer that fits the schema: the whole text, or the last one among its fenced
 * blocks and balanced brackets. What stands before it are drafts, if words say so; if not, it is
 * unknown which value counts. A text that is nearly JSON is mended. `problems` are those of the
 * last part that is JSON at all.
 * @param shown texts that the model was shown: a value in them does not count against another one.
 * null: the text is the JSON of a program's value, which is taken as it is
 */
export function readValue(given: string, schema: Json, shown: readonly string[] | null): ReadValue {
  if (shown === null) return readProgramValue(given, schema);
  const text = given.trim().replace(TAGGED, "$2").trim();
  const judge = openJudge(schema);
  const whole = judge(text);
  if (whole.read) return isEcho(whole.read.value, schema) ? { ok: false, problems: [ECHO] } : answerOf(whole.read);
  const { places, isCut } = placesIn(text, openingOf(schema));
  if (isCut) return { ok: false, problems: ["the answer ends within a value"] };
  const judged = places.map((place) => ({ place, ...judge(text.slice(place.start, place.end).trim()) }));
  const last = judged.findLast(({ read, isTry }) => read || isTry);
  if (!last?.read) {
    const { problems = whole.problems } = last ?? judged.findLast((one) => one.problems) ?? {};
    return { ok: false, problems: problems ?? ["the answer is not JSON"] };
  }
  const found = judged.flatMap(({ place, read }): FoundValue[] =>
    read && !isEcho(read.value, schema)
      ? [{ ...read, ...place, key: keyOf(read), isDenied: isDenied(place, text) }]
      : [],
  );
  if (found.length === 0) return { ok: false, problems: [ECHO] };
  if (found.every((one) => one.isDenied)) return { ok: false, problems: [DENIED] };
  const counts = lastOf(found, text, shown);
  if (counts && RETRACTED.test(wordsOf(text.slice(counts.end)))) return { ok: false, problems: [DENIED] };
  return counts ? answerOf(counts) : { ok: false, problems: [DIFFER] };
}

/** An answer between tags, such as `<answer>`. */
const TAGGED = /^<([\w-]{1,40})>(.*)<\/\1>$/s;

function readProgramValue(json: string, schema: Json): ReadValue {
  const value = parseJson(json) ?? null;
  const problems = violations(schema, value);
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

const DIFFER = "two values in the answer fit, and they differ: give the one that counts, and nothing else";

const DENIED = "the words beside the value deny it: give the one that counts, and nothing else";

/** True if the words right before a value, or right behind it, say that it is not the one. */
function isDenied({ start, end }: Place, text: string): boolean {
  const lead =
    text
      .slice(Math.max(0, start - MOST_LEAD), start)
      .split("\n")
      .at(-1) ?? "";
  return DENIED_BEFORE.test(lead) || DENIED_BEHIND.test(restOfLine(text, end));
}

const DENIED_BEFORE = /(?:\b(?:not|never)|n['’]t)(?: (?:be|say|call it|answer))?\s{0,9}["'`*]{0,3}$/i;
/**
 * The value is called wrong, or not right. That it is not something else denies nothing: "it is
 * not a complaint".
 */
const DENIED_BEHIND =
  /^["'`*,;–—-]{0,3}\s{0,9}(?:(?:it|that|this) )?(?:is|was|would be)(?: (?:a |the )?(?:wrong|incorrect|false)|(?: not|n['’]t| never) (?:right|correct|true|it|the (?:right |correct )?(?:answer|one|value|label|result)))\b/i;

/** Words behind a value that take it back. */
const RETRACTED = new RegExp(
  `(?:^|[\\n.!?])\\W{0,9}(?:(?:wait|hmm|oops|no|actually|sorry|apologies)\\b[\\s,:;.!…—-]{1,5}){0,3}(?:${[
    "(?:please )?(?:scrap|strike|disregard|ignore) (?:that|this|it|the above)\\b",
    "(?:that|this|it|the (?:above|answer|json)(?: above| answer)?) (?:is|was|['’]s)(?: (?:wrong|incorrect|mistaken|a mistake|an error)| not (?:right|correct)|n['’]t (?:right|correct))",
    "i (?:made|see|have made) (?:a|an|my) (?:\\w{1,9} )?(?:mistake|error)",
    "on (?:second thought|(?:closer|further )?reflection)\\b[^\\n]{0,80}\\b(?:should|instead|rather)\\b",
    "(?:correction|corrected|korrektur|berichtigung|corrección|correction|更正|修正|исправление)\\s?[:：]",
    "(?:das|dies|es) (?:ist|war) falsch|c['’]est faux|esto? (?:es|está) (?:mal|incorrecto)|это неверно",
  ].join("|")})`,
  "iu",
);

/**
 * True if a value repeats the schema that it is to fit, as one without required properties allows.
 */
function isEcho(value: Json, schema: Json): boolean {
  if (!isRecord(value) || !isRecord(schema)) return false;
  const own = isRecord(schema.properties) ? schema.properties : {};
  const isOfSchema = (name: string) => isRecord(value[name]) && name in schema && !(name in own);
  return canonicalJson(value) === canonicalJson(schema) || isOfSchema("properties") || isOfSchema("$defs");
}

const ECHO = "the answer is a schema: give a value that is valid against it";

const keyOf = ({ value }: ReadJson) => canonicalJson(value) ?? JSON.stringify(value);

/** Brackets that a value of the schema may begin with. */
function openingOf(schema: Json): string {
  const types = isRecord(schema) ? [schema.type ?? []].flat() : [];
  if (types.length === 0) return "{[";
  return `${types.includes("object") ? "{" : ""}${types.includes("array") ? "[" : ""}`;
}

/** The judgement on a part of the text. */
interface Judged {
  /** The value, if one fits. */
  readonly read?: ReadJson;
  /** Why its value does not fit; absent: it is not JSON. */
  readonly problems?: readonly string[];
  /**
   * It does not fit, and is meant as the answer all the same: it has all that the schema requires.
   */
  readonly isTry?: boolean;
}

/**
 * Opens the judgement on parts of an answer: valid JSON first, then mended JSON, then a bare word.
 */
function openJudge(schema: Json): (part: string) => Judged {
  const room = repairRoom();
  const readers = [validJson, (part: string) => mendedJson(part, room), (part: string) => bareValue(part, schema)];
  return (part) => {
    let judged: Judged = {};
    for (const read of readers) {
      for (const one of readingsOf(read(part))) {
        const next = judgedValue(one, schema);
        if (next.read) return next;
        if (!judged.problems) judged = next;
      }
    }
    return judged;
  };
}

/** The value of a text, and that of JSON in it: some models send the JSON of the JSON. */
function readingsOf(read: ReadJson | undefined): readonly ReadJson[] {
  if (!read) return [];
  const inner = typeof read.value === "string" ? validJson(read.value) : undefined;
  if (typeof inner?.value !== "object") return [read];
  return [read, { ...inner, mended: [...read.mended, ...inner.mended, "encoded twice"] }];
}

function judgedValue(read: ReadJson, schema: Json): Judged {
  const { flaw, value, lost } = read;
  if (flaw !== undefined) return { problems: [flaw], isTry: true };
  const problems = violations(schema, value);
  // A figure beyond all is of no type.
  if (problems.length === 0 || (lost !== undefined && !Number.isFinite(Number(lost)))) return { read };
  const { value: other, mended } = fitted(value, schema);
  if (violations(schema, other).length === 0) return { read: { value: other, mended: [...read.mended, ...mended] } };
  return { problems, isTry: isTry(value, schema) };
}

function isTry(value: Json, schema: Json): boolean {
  const required = isRecord(schema) && Array.isArray(schema.required) ? schema.required : [];
  return isRecord(value) && required.length > 0 && required.every((name) => Object.hasOwn(value, String(name)));
}

/** No word of an enum is longer. */
const MOST_BARE = 1000;
const BEFORE = /^[\s*_`"'“”‘’]{1,9}/;
const AFTER = /[\s*_`"'“”‘’.!]{1,9}$/;

/**
 * The value of a text without quotes, or in the marks of Markdown: a word that the schema names, a
 * figure, true or false.
 */
function bareValue(text: string, schema: Json): ReadJson | undefined {
  if (text.length > MOST_BARE || !isRecord(schema)) return undefined;
  const bare = text.replace(BEFORE, "").replace(AFTER, "");
  const named = [schema.enum ?? [], schema.const ?? []].flat();
  const member = named.find((one) => String(one) === text || String(one) === bare);
  if (member !== undefined) return { value: member, mended: ["punctuation"] };
  if (named.length > 0) return { value: text, mended: [] };
  const figure = bare === text ? undefined : parseJson(bare);
  return typeof figure === "number" || typeof figure === "boolean"
    ? { value: figure, mended: ["punctuation"] }
    : undefined;
}

function answerOf({ value, mended, lost }: ReadJson): ReadValue {
  if (lost !== undefined) {
    const problem = `${lost.slice(0, 40)} has more digits than a number of JavaScript keeps`;
    return { ok: false, problems: [problem], isFinal: true };
  }
  return mended.length === 0 ? { ok: true, value } : { ok: true, value, mended: [...new Set(mended)] };
}

/** A value in a text that fits the schema. */
interface FoundValue extends ReadJson, Place {
  /** The value as JSON, the same for equal values. */
  readonly key: string;
  /** The words beside it say that it is not the one. */
  readonly isDenied: boolean;
}

/**
 * The value that counts among those of an answer: the last one, if each other one is a draft before
 * it, denied, or only spoken of. null: it is unknown which counts. A value that the model was shown never
 * counts against another one, since it may be quoted.
 * @param found in the order of their ends
 */
function lastOf(found: readonly FoundValue[], text: string, shown: readonly string[]): FoundValue | null {
  const stated = found.filter((one) => !one.isDenied);
  const given = stated.filter(({ end }) => !hasWords(restOfLine(text, end)));
  const last = given.at(-1) ?? stated.at(-1);
  if (!last) return null;
  const others = found.filter(({ key }) => key !== last.key);
  if (others.length === 0) return last;
  if (given.length === 0 || isShown(last.value, shown)) return null;
  const isAside = others.every(
    (other) => other.isDenied || isDraft(other, last, text) || isSpokenOf(other, last, text),
  );
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
