import { argumentError, type Json } from "../../../runtime/index.ts";
import { compileFind, find, textFromString } from "../../context/index.ts";
import { isRecord } from "../../platform/json.ts";
import { compare, pointed } from "./compare.ts";

/** A schema goes into the prompt, and checking a value takes time in proportion to both. */
const MAX_SCHEMA_CHARS = 64 * 1024;
const MAX_DEPTH = 64;

/**
 * Throws a TypeError for the guest if an answer schema is not an object. It also throws if a
 * keyword is not one that answers are checked for, or has a wrong value. The supported keywords of
 * JSON Schema 2020-12 are those of `KEYWORDS`; `format` and other annotations are passed to the
 * model and not checked.
 */
export function checkSchema(schema: Json): void {
  if (!isRecord(schema)) throw refusal("is not an object", "Pass a JSON Schema such as { type: 'object', … }.");
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) {
    throw refusal(`has more than ${MAX_SCHEMA_CHARS} characters`, "Ask for a simpler value.");
  }
  const places = new Set<Json>();
  const references: string[] = [];
  visit(schema, "", 0, places, references);
  for (const reference of references) {
    const target = pointed(schema, reference);
    if (target !== undefined && places.has(target)) continue;
    throw refusal(`has a $ref that does not lead to a schema in it: ${reference}`, "Refer to #/$defs/NAME.");
  }
}

function visit(schema: Json, path: string, depth: number, places: Set<Json>, references: string[]): void {
  if (typeof schema === "boolean") return;
  if (!isRecord(schema)) throw refusal(`${placeOf(path)} is not a schema`, "Pass an object, or true or false.");
  if (depth > MAX_DEPTH) throw refusal(`is nested more than ${MAX_DEPTH} deep`, "Ask for a flatter value.");
  places.add(schema);
  for (const [keyword, value] of Object.entries(schema)) {
    const at = `${path}/${keyword}`;
    const rule = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
    if (rule === undefined) {
      if (ANNOTATIONS.has(keyword)) continue;
      throw refusal(`has an unsupported keyword at ${at}`, `Supported: ${Object.keys(KEYWORDS).join(", ")}.`);
    }
    if (!rule.accepts(value)) throw refusal(`is wrong at ${at}`, `Pass ${rule.expected}.`);
    if (keyword === "$ref" && typeof value === "string") references.push(value);
    if (keyword === "pattern" && typeof value === "string") checkPattern(value, at);
    for (const [name, inner] of innerSchemas(rule.holds, value)) {
      visit(inner, `${at}${name}`, depth + 1, places, references);
    }
  }
}

function innerSchemas(holds: "schema" | "list" | "map" | undefined, value: Json): [string, Json][] {
  if (holds === "schema") return [["", value]];
  if (holds === "list" && Array.isArray(value)) return value.map((inner, index) => [`/${index}`, inner]);
  if (holds === "map" && isRecord(value)) return Object.entries(value).map(([name, inner]) => [`/${name}`, inner]);
  return [];
}

function checkPattern(pattern: string, at: string): void {
  try {
    compileFind(pattern, "");
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^find: /, "") : String(error);
    throw refusal(`has a pattern at ${at} that does not compile: ${reason}`, "Use the syntax of Rust's regex crate.");
  }
}

function placeOf(path: string): string {
  return path === "" ? "" : `at ${path}`;
}

function refusal(problem: string, suggestion: string): Error {
  return argumentError("TypeError", `schema ${problem}`, suggestion);
}

/** The form of a keyword's value, and the places of further schemas in it. */
interface KeywordRule {
  readonly expected: string;
  accepts(value: Json): boolean;
  readonly holds?: "schema" | "list" | "map";
}

const TYPES: readonly Json[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

const type: KeywordRule = {
  expected: `one of ${TYPES.join(", ")}, or a list of them`,
  accepts: (value) => (Array.isArray(value) ? isFilled(value) && value.every(isType) : isType(value)),
};
const schema: KeywordRule = {
  expected: "a schema (lists of schemas go into prefixItems)",
  accepts: isSchema,
  holds: "schema",
};
const map: KeywordRule = { expected: "an object of schemas", accepts: isRecord, holds: "map" };
const list: KeywordRule = { expected: "a list of at least one schema", accepts: isFilled, holds: "list" };
const names: KeywordRule = {
  expected: "a list of strings",
  accepts: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
};
const values: KeywordRule = { expected: "a list of at least one value", accepts: isFilled };
const any: KeywordRule = { expected: "a value", accepts: () => true };
const text: KeywordRule = { expected: "a string", accepts: (value) => typeof value === "string" };
const flag: KeywordRule = { expected: "true or false", accepts: (value) => typeof value === "boolean" };
const bound: KeywordRule = { expected: "a number", accepts: (value) => typeof value === "number" };
const step: KeywordRule = {
  expected: "a number above zero",
  accepts: (value) => typeof value === "number" && value > 0,
};
const count: KeywordRule = {
  expected: "a whole number from 0",
  accepts: (value) => Number.isInteger(value) && Number(value) >= 0,
};

/** The keywords of JSON Schema 2020-12 that answers are checked for. */
const KEYWORDS: Readonly<Record<string, KeywordRule>> = {
  type,
  enum: values,
  const: any,
  properties: map,
  required: names,
  additionalProperties: schema,
  minProperties: count,
  maxProperties: count,
  items: schema,
  prefixItems: list,
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  minimum: bound,
  maximum: bound,
  exclusiveMinimum: bound,
  exclusiveMaximum: bound,
  multipleOf: step,
  minLength: count,
  maxLength: count,
  pattern: text,
  anyOf: list,
  oneOf: list,
  allOf: list,
  $ref: text,
  $defs: map,
  definitions: map,
};

/** Keywords that say something to the model and nothing about whether a value is valid. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$schema",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "format",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

function isType(value: Json): boolean {
  return TYPES.includes(value);
}

function isFilled(value: Json): value is Json[] {
  return Array.isArray(value) && value.length > 0;
}

function isSchema(value: Json): boolean {
  return typeof value === "boolean" || isRecord(value);
}

/**
 * The places where a value does not conform to a schema, in words. `$ref` is looked up in `root`.
 */
export function violations(schema: Json, value: Json, root = schema): string[] {
  return compare(schema, value, root, matches);
}

function matches(pattern: string, text: string): boolean {
  return find(textFromString(text), compileFind(pattern, ""), 1).matches.length > 0;
}
