import type { Json } from "../../runtime/index.ts";
import { cutText, jsonText } from "./visible.ts";
import {
  DEEPEST,
  hasFields,
  isList,
  mayPrintOtherwise,
  propertiesIn,
  propertiesWritten,
  readJson,
  type WrittenJson,
} from "./written-json.ts";

/** JSON as cells get it. */
export interface CellJson {
  /** The text, in which a number that JavaScript would round is a string of its digits. */
  readonly json: string;
  /** Names of the fields that have such numbers, such as `user.id`; "" for the value itself. Behind the first five their number. */
  readonly asText: readonly string[];
}

/** @throws as `readJson` */
export function cellJson(json: string): CellJson {
  if (!mayPrintOtherwise(json)) return { json, asText: [] };
  const value = readJson(json);
  const fields = new Set<string>();
  const text = JSON.stringify(heldAlone(value, "", fields));
  return { json: text, asText: firstOf([...fields]) };
}

/**
 * The same of JSON that a person has given. @throws SyntaxError also for an object with two properties of one name, of which
 * JavaScript would keep the last
 */
export function givenJson(json: string): CellJson {
  const properties = propertiesIn(readJson(json));
  if (properties === null) throw new SyntaxError(`it is nested deeper than ${DEEPEST} levels`);
  if (propertiesWritten(json) !== properties) throw new SyntaxError("an object has two properties of one name");
  return cellJson(json);
}

/** The value of JSON that a person has given. @throws SyntaxError as `givenJson`, and for a number that JavaScript would round */
export function exactJson(text: string): Json {
  const { json, asText } = givenJson(text);
  const [field] = asText;
  if (field === undefined) return JSON.parse(json);
  throw new SyntaxError(`JavaScript would round the number${field === "" ? "" : ` ${field}`}`);
}

/** More names would hide other warnings. */
const MOST_FIELDS = 5;

function firstOf(fields: readonly string[]): readonly string[] {
  const more = fields.length - MOST_FIELDS;
  return more > 0 ? [...fields.slice(0, MOST_FIELDS), `${more} more fields`] : fields;
}

/** The value with strings in place of numbers that are not held. @param fields gets the names of their fields */
function heldAlone(value: WrittenJson, path: string, fields: Set<string>): WrittenJson {
  if (JSON.isRawJSON(value)) {
    if (isHeld(value.rawJSON)) return value;
    fields.add(path);
    return value.rawJSON;
  }
  if (isList(value)) return value.map((item) => heldAlone(item, path, fields));
  if (!hasFields(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, item]) => [name, heldAlone(item, fieldPath(path, name), fields)]));
}

const PATH_UNITS = 100;

/** Names come from files of whatever origin: they are cut, and quoted if they are not plain words. */
function fieldPath(path: string, name: string): string {
  const begun = name.slice(0, PATH_UNITS + 1).toWellFormed();
  const part = /^[\p{L}\p{N}_$-]+$/u.test(begun) ? begun : jsonText(begun);
  const whole = path === "" ? part : `${path}.${part}`;
  return cutText(whole, PATH_UNITS);
}

/** The numbers of a value that JavaScript rounds, as they were written. */
export function unheld(value: WrittenJson): readonly string[] {
  if (JSON.isRawJSON(value)) return isHeld(value.rawJSON) ? [] : [value.rawJSON];
  const parts = isList(value) ? value : hasFields(value) ? Object.values(value) : [];
  return parts.flatMap(unheld);
}

/**
 * True if JavaScript's number is the one that was written: it prints the same digits, or has them at that precision, as
 * 0.10000000000000001 does. A whole number must print them, since it may be an id.
 */
export function isHeld(written: string): boolean {
  const value = Number(written);
  if (!Number.isFinite(value)) return false;
  const asked = decimalOf(written);
  if (isSame(decimalOf(String(value)), asked)) return true;
  const { length } = asked.digits;
  return !Number.isInteger(value) && length <= MOST_DIGITS && isSame(decimalOf(value.toPrecision(length)), asked);
}

/** The most that `toPrecision` gives. */
const MOST_DIGITS = 100;

/** Digits without zeros at either end, and the power of ten by which they count. */
interface Decimal {
  readonly digits: string;
  readonly power: number;
}

function isSame(a: Decimal, b: Decimal): boolean {
  return a.digits === b.digits && (a.power === b.power || a.digits === "");
}

function decimalOf(text: string): Decimal {
  const [, whole = "", fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const all = `${whole}${fraction}`;
  let end = all.length;
  // A regular expression would try each zero as the first of the last ones.
  while (all[end - 1] === "0") end -= 1;
  const digits = all.slice(0, end).replace(/^0+/, "");
  return { digits, power: Number(exponent) - fraction.length + (all.length - end) };
}

/**
 * JSON with the keys of objects in the order of their code units, so that equal values have equal texts: 1.0 is equal to 1, and a
 * number that JavaScript cannot hold to nothing but its own text. null if the value is nested deeper than 200 levels.
 */
export function canonicalJson(value: WrittenJson, depth = 0): string | null {
  if (JSON.isRawJSON(value)) return isHeld(value.rawJSON) ? JSON.stringify(Number(value.rawJSON)) : value.rawJSON;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (depth === DEEPEST) return null;
  if (isList(value)) {
    const items = value.map((item) => canonicalJson(item, depth + 1));
    return items.includes(null) ? null : `[${items.join(",")}]`;
  }
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => {
      const text = canonicalJson(item, depth + 1);
      return text === null ? null : `${JSON.stringify(key)}:${text}`;
    });
  return fields.includes(null) ? null : `{${fields.join(",")}}`;
}
