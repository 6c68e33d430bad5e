import { isHeld } from "./cell-json.ts";
import { isList, type WrittenJson } from "./written-json.ts";

/** The deepest nesting of a job's input. */
const DEEPEST = 200;

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
