import type { Json } from "../../../runtime/index.ts";
import { isJsonObject } from "./pointer.ts";

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
const map: KeywordRule = { expected: "an object of schemas", accepts: isJsonObject, holds: "map" };
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
export const KEYWORDS: Readonly<Record<string, KeywordRule>> = {
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
export const ANNOTATIONS: ReadonlySet<string> = new Set([
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
  return typeof value === "boolean" || isJsonObject(value);
}
