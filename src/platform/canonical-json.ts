import type { Json } from "../../runtime/index.ts";

/** The deepest nesting of a job's input. */
const DEEPEST = 200;

/**
 * JSON with the keys of objects in the order of their code units, so that equal values have equal texts; null if the value is
 * nested deeper than 200 levels, or has a number that JSON cannot hold (1e999 is read as infinity).
 */
export function canonicalJson(value: Json, depth = 0): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : null;
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

const isList = (value: object): value is readonly Json[] => Array.isArray(value);
