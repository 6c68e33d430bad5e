import type { Json } from "../../../runtime/index.ts";
import { isRecord } from "../../platform/json.ts";
import { type JsonObject, pointed } from "./compare.ts";
import { violations } from "./schema.ts";

const MAX_DEPTH = 24;
/** Candidates tried for one place of the schema. */
const MAX_TRIES = 60;
const MAX_SCHEMAS = 5000;

const TEXT = "placeholder";
/** `format` is not checked, but a cell may well parse what it names. */
const FORMATTED: Readonly<Record<string, string>> = {
  "date-time": "2000-01-01T00:00:00Z",
  date: "2000-01-01",
  time: "00:00:00Z",
  email: "placeholder@example.com",
  uri: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};
/** For a `pattern`, which no value is made from: one of these may match. */
const SAMPLES = [
  "0",
  "00",
  "000",
  "0000",
  "a",
  "A",
  "aa",
  "AA",
  "a0",
  "#000000",
  "0.0.0",
  "00:00",
  ...Object.values(FORMATTED),
];

/** Schemas that may be looked at for each item that lists are to have. */
const SCHEMAS_PER_ITEM = 50;

/**
 * A small value that conforms to the schema, as the answer of a dry run: required properties only,
 * lists as short as allowed. `{}` if none is found (contradictory schemas, most patterns).
 *
 * @param assumed items that lists have, as far as the schema allows them; lists are then not left out
 */
export function placeholderFor(schema: Json, assumed = 0): Json {
  const value = pick({ root: schema, left: MAX_SCHEMAS + SCHEMAS_PER_ITEM * assumed, assumed }, schema, 0);
  return value === undefined ? {} : value;
}

interface Search {
  readonly root: Json;
  /** Schemas that may still be looked at: a recursive one has no end. */
  left: number;
  /** Items that lists have, as far as they may. */
  readonly assumed: number;
}

function pick(search: Search, schema: Json, depth: number, taken: readonly Json[] = []): Json | undefined {
  const others = new Set(taken.map((value) => JSON.stringify(value)));
  return candidates(search, schema, depth)
    .take(MAX_TRIES)
    .find((value) => !others.has(JSON.stringify(value)) && violations(schema, value, search.root).length === 0);
}

function* candidates(search: Search, schema: Json, depth: number): Generator<Json> {
  search.left -= 1;
  if (depth > MAX_DEPTH || search.left < 0) return;
  if (!isRecord(schema)) {
    if (schema === true) yield TEXT;
    return;
  }
  const { $ref, allOf, anyOf, oneOf, enum: values, examples, ...rest } = schema;
  if (schema.const !== undefined) yield schema.const;
  if (Array.isArray(values)) yield* values;
  if (schema.default !== undefined) yield schema.default;
  if (Array.isArray(examples)) yield* examples;
  const parts = [
    ...(typeof $ref === "string" ? [pointed(search.root, $ref) ?? false] : []),
    ...(Array.isArray(allOf) ? allOf : []),
  ];
  if (parts.length > 0) {
    const others = { ...rest, ...(anyOf === undefined ? {} : { anyOf }), ...(oneOf === undefined ? {} : { oneOf }) };
    yield* candidates(search, parts.reduce(mergedSchema, others), depth + 1);
    return;
  }
  const branches = [...(Array.isArray(anyOf) ? anyOf : []), ...(Array.isArray(oneOf) ? oneOf : [])];
  if (branches.length > 0) {
    for (const branch of branches) yield* candidates(search, mergedSchema(rest, branch), depth + 1);
    return;
  }
  for (const type of typesOf(schema)) yield* ofType(search, schema, type, depth);
}

function* ofType(search: Search, schema: JsonObject, type: Json, depth: number): Generator<Json> {
  if (type === "null") yield null;
  if (type === "boolean") yield* [false, true];
  if (type === "string") yield* strings(schema);
  if (type === "number" || type === "integer") yield* numbers(schema);
  if (type === "array") yield* arrays(search, schema, depth);
  if (type === "object") yield* objects(search, schema, depth);
}

function typesOf(schema: JsonObject): readonly Json[] {
  const { type } = schema;
  if (Array.isArray(type)) return type;
  if (type !== undefined) return [type];
  if ("properties" in schema || "required" in schema || "minProperties" in schema) return ["object"];
  if ("items" in schema || "prefixItems" in schema || "minItems" in schema) return ["array"];
  if ("minimum" in schema || "maximum" in schema || "multipleOf" in schema) return ["number"];
  return ["string", "object", "array", "number", "boolean", "null"];
}

function* strings({ minLength, maxLength, format, pattern }: JsonObject): Generator<string> {
  if (typeof format === "string" && Object.hasOwn(FORMATTED, format)) yield FORMATTED[format] ?? TEXT;
  const text = TEXT.padEnd(Math.min(Number(minLength ?? 0), 100_000), "…");
  yield typeof maxLength === "number" ? text.slice(0, maxLength) : text;
  if (typeof pattern === "string") yield* SAMPLES;
  for (let number = 2; number < MAX_TRIES; number++) yield `${text}${number}`;
  for (let code = 97; code < 123; code++) yield String.fromCharCode(code).repeat(Math.min(Number(maxLength ?? 1), 11));
}

function* numbers(schema: JsonObject): Generator<number> {
  const low = limitOf(schema, Math.max, "minimum", "exclusiveMinimum");
  const high = limitOf(schema, Math.min, "maximum", "exclusiveMaximum");
  const step = typeof schema.multipleOf === "number" ? schema.multipleOf : 1;
  const first = low === undefined ? high : low;
  yield 0;
  if (first === undefined) {
    for (let number = 1; number < MAX_TRIES; number++) yield number * step;
    return;
  }
  const base = low === undefined ? Math.floor(first / step) - 20 : Math.ceil(first / step);
  for (let number = 0; number <= 20; number++) yield (base + number) * step;
  yield first;
  if (low !== undefined && high !== undefined) yield (low + high) / 2;
}

function limitOf(schema: JsonObject, choose: (...limits: number[]) => number, ...names: string[]): number | undefined {
  const limits = names.map((name) => schema[name]).filter((limit) => typeof limit === "number");
  return limits.length === 0 ? undefined : choose(...limits);
}

function* arrays(search: Search, schema: JsonObject, depth: number): Generator<Json> {
  const least = Math.min(Number(schema.minItems ?? 0), 1000);
  const assumed = Math.min(search.assumed, Number(schema.maxItems ?? search.assumed));
  if (assumed > least) {
    const items = itemsOf(search, schema, { depth, length: assumed });
    if (items.length > least) yield items;
  }
  const items = itemsOf(search, schema, { depth, length: least });
  if (items.length === least) yield items;
}

/** Items of a list: fewer than asked for if there are no others. */
function itemsOf(
  search: Search,
  schema: JsonObject,
  { depth, length }: { readonly depth: number; readonly length: number },
): Json[] {
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const items: Json[] = [];
  while (items.length < length) {
    const itemSchema = prefix[items.length] ?? schema.items ?? true;
    const item = pick(search, itemSchema, depth + 1, schema.uniqueItems === true ? items : []);
    if (item === undefined) break;
    items.push(item);
  }
  return items;
}

/** True if the schema asks for a list, and for nothing else. */
const isOfList = (schema: Json | undefined) => isRecord(schema) && typesOf(schema).join() === "array";

function* objects(search: Search, schema: JsonObject, depth: number): Generator<Json> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const count = Math.min(Number(schema.minProperties ?? 0), 1000);
  const lists = search.assumed > 0 ? Object.keys(properties).filter((name) => isOfList(properties[name])) : [];
  const names = new Set([...required, ...lists]);
  for (const name of Object.keys(properties)) if (names.size < count) names.add(name);
  for (let number = 1; names.size < count; number++) names.add(`property${number}`);
  const entries: [string, Json][] = [];
  for (const name of names) {
    const declared = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    const value = pick(search, declared ?? true, depth + 1);
    if (value === undefined) return;
    entries.push([name, value]);
  }
  yield Object.fromEntries(entries);
}

/**
 * A schema that asks for what both ask for, as one list of keywords if possible; `false` if either
 * is.
 */
function mergedSchema(one: Json, other: Json): Json {
  if (one === false || other === false) return false;
  if (!isRecord(one)) return other;
  if (!isRecord(other)) return one;
  const merged: { [keyword: string]: Json } = { ...one };
  for (const [keyword, value] of Object.entries(other)) {
    const before = merged[keyword];
    merged[keyword] = before === undefined ? value : both(keyword, before, value);
  }
  return merged;
}

function both(keyword: string, one: Json, other: Json): Json {
  if (keyword === "properties" && isRecord(one) && isRecord(other)) return properties(one, other);
  if (keyword === "type") return types(one, other);
  if (keyword === "required") return [...new Set([...listOf(one), ...listOf(other)])];
  if (typeof one === "number" && typeof other === "number") {
    if (/^(?:min|exclusiveMin)/.test(keyword)) return Math.max(one, other);
    if (/^(?:max|exclusiveMax)/.test(keyword)) return Math.min(one, other);
  }
  if (keyword === "uniqueItems") return one === true || other === true;
  if (keyword === "items" || keyword === "additionalProperties") return mergedSchema(one, other);
  if (keyword === "allOf") return [...listOf(one), ...listOf(other)];
  return other;
}

function properties(one: JsonObject, other: JsonObject): Json {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, mergedSchema(one[name] ?? true, other[name] ?? true)]));
}

function types(one: Json, other: Json): Json {
  const others = listOf(other);
  const common = listOf(one).flatMap((type) => {
    if (others.includes(type)) return [type];
    if (type === "integer" && others.includes("number")) return [type];
    return type === "number" && others.includes("integer") ? ["integer"] : [];
  });
  return common.length === 0 ? other : common;
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value];
}
