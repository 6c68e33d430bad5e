import type { Json } from "../../../runtime/index.ts";
import { canonicalJson } from "../../platform/canonical-json.ts";
import { parseJson } from "../../platform/json.ts";
import { fitted } from "../schema/fitted.ts";
import { isJsonObject } from "../schema/pointer.ts";
import { violations } from "../schema/violations.ts";
import { type FoundValue, lastOf } from "./last-value.ts";
import { mendedJson, type ReadJson, repairRoom, validJson } from "./mended-json.ts";
import { placesIn } from "./value-places.ts";

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
 * unknown which value counts. A text that is nearly JSON is mended. `problems` are those of the last
 * part that is JSON at all.
 * @param shown texts that the model was shown: a value in them does not count against another one.
 * null: the text is the JSON of a program's value, which is taken as it is
 */
export function readValue(given: string, schema: Json, shown: readonly string[] | null): ReadValue {
  if (shown === null) return readProgramValue(given, schema);
  const text = given.trim().replace(TAGGED, "$2").trim();
  const judge = openJudge(schema);
  const whole = judge(text);
  if (whole.read) return answerOf(whole.read);
  const { places, isCut } = placesIn(text, openingOf(schema));
  if (isCut) return { ok: false, problems: ["the answer ends within a value"] };
  const judged = places.map((place) => ({ place, ...judge(text.slice(place.start, place.end).trim()) }));
  const last = judged.findLast(({ read, isTry }) => read || isTry);
  if (!last?.read) {
    const { problems = whole.problems } = last ?? judged.findLast((one) => one.problems) ?? {};
    return { ok: false, problems: problems ?? ["the answer is not JSON"] };
  }
  const found = judged.flatMap(({ place, read }): FoundValue[] =>
    read ? [{ ...read, ...place, key: keyOf(read) }] : [],
  );
  const counts = lastOf(found, text, shown);
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

const keyOf = ({ value }: ReadJson) => canonicalJson(value) ?? JSON.stringify(value);

/** Brackets that a value of the schema may begin with. */
function openingOf(schema: Json): string {
  const types = isJsonObject(schema) ? [schema.type ?? []].flat() : [];
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
  const required = isJsonObject(schema) && Array.isArray(schema.required) ? schema.required : [];
  return isJsonObject(value) && required.length > 0 && required.every((name) => Object.hasOwn(value, String(name)));
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
  if (text.length > MOST_BARE || !isJsonObject(schema)) return undefined;
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
