import type { Json } from "../../../runtime/index.ts";

/** Texts that stand for what was to be written there. */
const STAND_INS: readonly RegExp[] = [
  /^(?:x{2,9}|\?{2,9}|_{2,40}|-{3,40}|\.{3,9}|…{1,9}|tbd|tba|todo|fixme|placeholder|lorem ipsum\b.{0,200})$/is,
  /^(?:your \w{1,20}(?: here)?|(?:insert|enter|fill in|add|put) (?:\w{1,20} ){0,3}here|(?:value|text|answer|name) here)$/i,
  /^(?:YYYY-MM-DD|MM\/DD\/YYYY|DD\/MM\/YYYY|DD\.MM\.YYYY|HH:MM(?::SS)?)$/,
  /^(?:<\p{L}[\p{L}\p{N} _|-]{0,60}>|\[\p{L}[\p{L} _-]{0,60}\]|\{\{? ?[A-Za-z_][\w.]{0,60} ?\}?\}|\$\{[^{}\n]{1,80}\})$/u,
];

/** Names of types, which are all that a value says that repeats its schema. */
const TYPES = /^(?:string|str|text|number|int(?:eger)?|bool(?:ean)?)$/i;

/**
 * The text in a value that stands for what was to be written there, such as `TBD` or `<name>`.
 * What the model was shown may be meant.
 * null: there is none.
 */
export function standInOf(value: Json, shown: readonly string[]): string | null {
  const texts = textsIn(value).map((text) => text.trim());
  const known = (text: string) => shown.some((one) => one.includes(/\w/.test(text) ? text : `"${text}"`));
  const found = texts.find((text) => STAND_INS.some((pattern) => pattern.test(text)) && !known(text));
  if (found !== undefined) return found;
  const [first] = texts;
  const areTypes = typeof value === "object" && texts.every((text) => TYPES.test(text));
  return first !== undefined && areTypes && !shown.some((one) => one.includes(` ${first} `)) ? first : null;
}

/** The texts of a value, its own and those within it. */
export function textsIn(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
