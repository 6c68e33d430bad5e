import type { Json } from "../../../runtime/index.ts";
import { isRecord } from "../../platform/json.ts";
import type { JsonObject } from "./compare.ts";

/** Rules of an API for the schemas that it keeps answers to. */
export interface NativeRules {
  /** Every property has to be required, so one that may be absent may be null instead. */
  readonly requiresAll: boolean;
  /** Every object has to say that it has no other properties. */
  readonly isClosed: boolean;
  /** The answer may be a text, a figure or one of some values, outside of an object. */
  readonly takesPlain: boolean;
}

/** Providers refuse schemas that are deeper, longer, or have more properties that may be absent. */
const MAX_DEPTH = 5;
const MAX_OPTIONAL = 24;
const MAX_CHARS = 16_384;

/** Keywords without a counterpart at every provider. Only the prompt states such a schema. */
const UNTRANSLATED = ["$ref", "allOf", "oneOf", "prefixItems"];

/** A schema while it is translated. */
interface Run {
  readonly rules: NativeRules;
  /** Properties so far that may be absent. */
  optional: number;
}

/**
 * The schema in keywords that all providers know, or null if it has none. It leaves limits of
 * lengths and figures out, so the answer is checked all the same.
 */
export function nativeSchema(schema: Json, rules: NativeRules): JsonObject | null {
  if (!isRecord(schema) || JSON.stringify(schema).length > MAX_CHARS) return null;
  if (schema.type !== "object" && (schema.type === "array" || !rules.takesPlain)) return null;
  const run: Run = { rules, optional: 0 };
  const translated = translate(schema, 0, run);
  return run.optional > MAX_OPTIONAL ? null : translated;
}

function translate(schema: Json | undefined, depth: number, run: Run): JsonObject | null {
  if (!isRecord(schema) || depth > MAX_DEPTH) return null;
  if (UNTRANSLATED.some((keyword) => keyword in schema)) return null;
  const { type, description, anyOf, items } = schema;
  const noted = description === undefined ? {} : { description };
  if (anyOf !== undefined) {
    const branches = Array.isArray(anyOf) ? anyOf.map((branch) => translate(branch, depth + 1, run)) : [null];
    return branches.every((branch) => branch !== null) ? { ...noted, anyOf: branches } : null;
  }
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (Array.isArray(values)) {
    const isText = values.every((value) => typeof value === "string");
    return { ...noted, ...(isText ? { type: "string" } : type === undefined ? {} : { type }), enum: values };
  }
  if (type === "object") {
    const object = translateObject(schema, depth, run);
    return object && { ...noted, ...object };
  }
  if (type === "array") {
    const inner = translate(items, depth + 1, run);
    return inner && { ...noted, type, items: inner };
  }
  const isPlain = type !== undefined && !(Array.isArray(type) && (type.includes("object") || type.includes("array")));
  return isPlain ? { ...noted, type } : null;
}

function translateObject(schema: JsonObject, depth: number, run: Run): JsonObject | null {
  const { properties, required = [], additionalProperties = false } = schema;
  if (!isRecord(properties) || !Array.isArray(required) || additionalProperties !== false) return null;
  const names = Object.keys(properties);
  if (!required.every((name) => names.includes(String(name)))) return null;
  const translated: { [name: string]: JsonObject } = {};
  for (const name of names) {
    const property = translate(properties[name], depth + 1, run);
    if (property === null) return null;
    const isOptional = !required.includes(name);
    if (isOptional) run.optional += 1;
    translated[name] = isOptional && run.rules.requiresAll ? nullable(property) : property;
  }
  return {
    type: "object",
    properties: translated,
    required: run.rules.requiresAll ? names : required,
    ...(run.rules.isClosed ? { additionalProperties: false } : {}),
  };
}

function nullable(schema: JsonObject): JsonObject {
  const { type } = schema;
  return Array.isArray(type) && type.includes("null") ? schema : { anyOf: [schema, { type: "null" }] };
}
