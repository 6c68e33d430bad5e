import { isDeepStrictEqual } from "node:util";
import type { Json } from "../../../runtime/index.ts";
import { isRecord } from "../../platform/json.ts";

/**
 * Schemas come from the guest and values from the model, so the time is bounded. A step is a node
 * of the schema beside a node of the value. JSON Schema libraries that compile to JavaScript must
 * not be given a schema of the guest.
 */
const MAX_STEPS = 500_000;
const MAX_DEPTH = 400;
const LISTED = 10;

/** Tells whether a text matches the pattern of a schema. */
type Matches = (pattern: string, text: string) => boolean;

interface Run {
  readonly root: Json;
  readonly matches: Matches;
  steps: number;
}

/**
 * Says in words where a value does not conform to a schema: at most ten places, none if it
 * conforms. Unknown keywords are ignored, and `$ref` is looked up in `root`.
 */
export function compare(schema: Json, value: Json, root: Json, matches: Matches): string[] {
  try {
    return nodeViolations({ root, matches, steps: MAX_STEPS }, schema, value, "", 0).take(LISTED).toArray();
  } catch (error) {
    if (!(error instanceof TooComplex)) throw error;
    return ["the value and its schema are too large or too deeply nested to be compared"];
  }
}

class TooComplex extends Error {}

function spend(run: Run, steps: number): void {
  run.steps -= steps;
  if (run.steps < 0) throw new TooComplex();
}

function* nodeViolations(
  run: Run,
  schema: Json | undefined,
  value: Json,
  at: string,
  depth: number,
): Generator<string> {
  spend(run, 1);
  if (depth > MAX_DEPTH) throw new TooComplex();
  if (schema === false) yield `${place(at)} is not allowed`;
  if (!isRecord(schema)) return;
  const inner = (next: Json | undefined, part = value, path = at) => nodeViolations(run, next, part, path, depth + 1);
  if (typeof schema.$ref === "string") yield* inner(pointed(run.root, schema.$ref) ?? false);
  yield* ofKind(run, schema, value, at);
  if (typeof value === "number") yield* ofNumber(schema, value, at);
  if (typeof value === "string") yield* ofString(run, schema, value, at);
  if (Array.isArray(value)) yield* ofArray(schema, value, at, inner);
  if (isRecord(value)) yield* ofObject(run, schema, value, at, inner);
  yield* ofBranches(schema, at, inner);
}

type Inner = (schema: Json | undefined, value?: Json, at?: string) => Generator<string>;

function* ofKind(run: Run, schema: JsonObject, value: Json, at: string): Generator<string> {
  const { type, enum: values } = schema;
  const types = Array.isArray(type) ? type : [type];
  if (type !== undefined && !types.some((name) => isOfType(value, name))) {
    yield `${place(at)} is ${kindOf(value)}, must be ${types.join(" or ")}`;
  }
  if (Array.isArray(values)) {
    spend(run, values.length);
    if (!values.some((one) => isDeepStrictEqual(one, value))) yield `${place(at)} must be one of ${short(values)}`;
  }
  if (schema.const !== undefined && !isDeepStrictEqual(schema.const, value)) {
    yield `${place(at)} must be ${short(schema.const)}`;
  }
}

function* ofNumber(schema: JsonObject, value: number, at: string): Generator<string> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) yield `${place(at)} is below ${minimum}`;
  if (typeof maximum === "number" && value > maximum) yield `${place(at)} is above ${maximum}`;
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    yield `${place(at)} must be above ${exclusiveMinimum}`;
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    yield `${place(at)} must be below ${exclusiveMaximum}`;
  if (typeof multipleOf === "number" && !isMultiple(value, multipleOf))
    yield `${place(at)} is not a multiple of ${multipleOf}`;
}

function* ofString(run: Run, schema: JsonObject, value: string, at: string): Generator<string> {
  const { minLength, maxLength, pattern } = schema;
  if (minLength === undefined && maxLength === undefined && pattern === undefined) return;
  spend(run, value.length / 16);
  const length = [...value].length;
  if (typeof minLength === "number" && length < minLength) yield `${place(at)} has fewer than ${minLength} characters`;
  if (typeof maxLength === "number" && length > maxLength) yield `${place(at)} has more than ${maxLength} characters`;
  if (typeof pattern === "string" && !run.matches(pattern, value)) {
    yield `${place(at)} does not match ${short(pattern)}`;
  }
}

function* ofArray(schema: JsonObject, value: readonly Json[], at: string, inner: Inner): Generator<string> {
  const { minItems, maxItems, uniqueItems, items } = schema;
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  if (typeof minItems === "number" && value.length < minItems) yield `${place(at)} has fewer than ${minItems} items`;
  if (typeof maxItems === "number" && value.length > maxItems) yield `${place(at)} has more than ${maxItems} items`;
  if (uniqueItems === true && new Set(value.map(canonical)).size < value.length) yield `${place(at)} repeats an item`;
  for (const [index, item] of value.entries()) yield* inner(prefix[index] ?? items, item, `${at}/${index}`);
}

function* ofObject(run: Run, schema: JsonObject, value: JsonObject, at: string, inner: Inner): Generator<string> {
  const { minProperties, maxProperties, required, additionalProperties } = schema;
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const names = Object.keys(value);
  if (typeof minProperties === "number" && names.length < minProperties)
    yield `${place(at)} has fewer than ${minProperties} properties`;
  if (typeof maxProperties === "number" && names.length > maxProperties)
    yield `${place(at)} has more than ${maxProperties} properties`;
  const missing = Array.isArray(required) ? required.filter((name) => !Object.hasOwn(value, String(name))) : [];
  spend(run, Array.isArray(required) ? required.length : 0);
  if (missing.length > 0) yield `${place(at)} lacks ${missing.map((name) => short(name)).join(", ")}`;
  for (const name of names) {
    const declared = Object.hasOwn(properties, name);
    yield* inner(declared ? properties[name] : additionalProperties, value[name], `${at}/${name}`);
  }
}

function* ofBranches(schema: JsonObject, at: string, inner: Inner): Generator<string> {
  const { allOf, anyOf, oneOf } = schema;
  if (Array.isArray(allOf)) for (const branch of allOf) yield* inner(branch);
  const fits = (branch: Json) => inner(branch).next().done === true;
  if (Array.isArray(anyOf) && !anyOf.some(fits)) {
    const first = anyOf.length === 1 ? inner(anyOf[0]).next().value : undefined;
    yield first ?? `${place(at)} fits none of the ${anyOf.length} alternatives (anyOf)`;
  }
  if (Array.isArray(oneOf)) {
    const fitting = oneOf.filter(fits).length;
    if (fitting !== 1) yield `${place(at)} fits ${fitting} of the ${oneOf.length} alternatives, must fit one (oneOf)`;
  }
}

function isOfType(value: Json, type: Json | undefined): boolean {
  return type === kindOf(value) || (type === "number" && typeof value === "number");
}

function kindOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Quotients that are whole except for rounding: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, step: number): boolean {
  const quotient = value / step;
  return (
    Number.isFinite(quotient) && Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient))
  );
}

/** Equal for equal values, whatever the order of their properties. */
function canonical(value: Json): string {
  return JSON.stringify(value, (_, part: Json) =>
    isRecord(part) ? Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)) : part,
  );
}

function place(at: string): string {
  return at === "" ? "the value" : at;
}

function short(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

export interface JsonObject {
  readonly [name: string]: Json;
}

/** The target of a local reference (`#`, `#/$defs/NAME`, RFC 6901); undefined if it has none. */
export function pointed(root: Json, reference: string): Json | undefined {
  if (!/^#(?:\/|$)/.test(reference)) return undefined;
  let at: Json | undefined = root;
  for (const token of reference.split("/").slice(1)) {
    const name = decoded(token).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(name)];
    else at = isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
