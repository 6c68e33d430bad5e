import { parseJson } from "../platform/json.ts";

/**
 * Arguments as the schema has them. Some clients send an object, a list, a number or a boolean as text: such a text is
 * read as JSON. A value without a type in the schema stays as it came.
 */
export function readArguments(schema: unknown, value: unknown): unknown {
  const { type, properties, items, required = [] }: SchemaParts = Object(schema);
  const read = typeof value === "string" && READ.includes(type) ? parsed(value, type) : value;
  // A list without a schema of its items may be nested without end.
  if (Array.isArray(read)) return items ? read.map((item) => readArguments(items, item)) : read;
  if (typeof read !== "object" || read === null || !properties) return read;
  const isNamed = (key: string, inner: unknown) =>
    required.includes(key) || !isAbsent(Reflect.get(properties, key), inner);
  const named = Object.entries(read).filter(([key, inner]) => isNamed(key, inner));
  return Object.fromEntries(named.map(([key, inner]) => [key, readArguments(Reflect.get(properties, key), inner)]));
}

/** True if an optional parameter that has a type was given as null or as an empty text: clients fill in what they leave out. */
function isAbsent(schema: unknown, value: unknown): boolean {
  const { type }: SchemaParts = Object(schema);
  return (value === null || value === "") && type !== undefined;
}

const READ: readonly unknown[] = ["object", "array", "number", "integer", "boolean"];

interface SchemaParts {
  readonly type?: unknown;
  readonly properties?: object;
  readonly items?: unknown;
  readonly required?: readonly string[];
}

/** The value that a text stands for, if it is of this type; else the text. */
function parsed(text: string, type: unknown): unknown {
  const value = parseJson(text);
  return kindOf(value) === (type === "integer" ? "number" : type) ? value : text;
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}
