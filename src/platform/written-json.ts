import type { Json } from "../../runtime/index.ts";

/**
 * A JSON value whose numbers come out as they went in. A number that JavaScript would print otherwise, such as 1.0 or an id of 64
 * bits, is kept as its text.
 */
export type WrittenJson = Json | WrittenNumber | readonly WrittenJson[] | WrittenFields;

/** A number as it was written. `JSON.stringify` gives its text again. No other thread can be sent one: send JSON. */
export interface WrittenNumber {
  readonly rawJSON: string;
}

type WrittenFields = { readonly [name: string]: WrittenJson };

// Node has had these since version 21, and TypeScript's library has not.
declare global {
  interface JSON {
    rawJSON(text: string): WrittenNumber;
    isRawJSON(value: unknown): value is WrittenNumber;
    parse(text: string, reviver: Reviver): WrittenJson;
  }
}

type Reviver = (key: string, value: WrittenJson, context: { readonly source?: string }) => WrittenJson;

/** The value of a JSON text from a user's file. @throws SyntaxError; RangeError if it is nested some thousand levels deep */
export function readJson(text: string): WrittenJson {
  return mayPrintOtherwise(text) ? JSON.parse(text, written) : JSON.parse(text);
}

/** A whole number, such as one of a database. */
export function wholeNumber(value: bigint): number | WrittenNumber {
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : JSON.rawJSON(String(value));
}

/** True for a list, whose items are JSON. */
export function isList(value: WrittenJson): value is readonly WrittenJson[] {
  return Array.isArray(value);
}

/** True for an object, whose fields are JSON. */
export function hasFields(value: WrittenJson): value is WrittenFields {
  return typeof value === "object" && value !== null && !isList(value) && !JSON.isRawJSON(value);
}

/** The field of an object; undefined if there is none. */
export function fieldOf(value: WrittenJson, name: string): WrittenJson | undefined {
  return hasFields(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** True for a number, as it was written or as JavaScript has it. */
export function isNumber(value: unknown): value is number | WrittenNumber {
  return typeof value === "number" || JSON.isRawJSON(value);
}

function written(_key: string, value: WrittenJson, { source }: { readonly source?: string }): WrittenJson {
  return typeof value === "number" && source !== undefined && source !== String(value) ? JSON.rawJSON(source) : value;
}

/**
 * False if every number of a JSON text is printed as it is written. A reviver is called for each value, so parsing 100,000 lines of
 * 270 bytes takes six times as long with it. This look takes a quarter of the time without.
 */
export const mayPrintOtherwise = (text: string) => PRINTED_OTHERWISE.test(text);

/** An exponent, -0, a last zero of a fraction, 16 digits, or a small fraction, at the end of a number. */
const PRINTED_OTHERWISE = /(?:\d[eE][+-]?\d+|-0|\.\d*0|(?<![\d.])\d[\d.]{15,}|0\.0{6}\d*)(?=[\s,\]}]|$)/;

/** The deepest nesting of a job's input, and of a model's structured answer. */
export const DEEPEST = 200;

/** The number of properties in a value; null if it is nested deeper than 200 levels. */
export function propertiesIn(value: WrittenJson): number | null {
  let level = [value];
  let count = 0;
  for (let depth = 0; ; depth++) {
    const objects = level.filter((one) => isList(one) || hasFields(one));
    if (objects.length === 0) return count;
    if (depth === DEEPEST) return null;
    level = objects.flatMap((one) => Object.values(one));
    for (const one of objects) count += isList(one) ? 0 : Object.keys(one).length;
  }
}

/**
 * The number of properties that a JSON text writes. Its value has fewer if an object has two of one
 * name: JSON.parse keeps the last.
 */
export function propertiesWritten(json: string): number {
  let isInString = false;
  let count = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit === QUOTE) isInString = !isInString;
    else if (unit === BACKSLASH) at += 1;
    else if (unit === COLON && !isInString) count += 1;
  }
  return count;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
