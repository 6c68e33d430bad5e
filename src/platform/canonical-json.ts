import type { Json } from "../../runtime/index.ts";

/** The deepest nesting of a job's input. */
const DEEPEST = 200;

/**
 * JSON with the keys of objects in the order of their code units, so that equal values have equal texts; null if the value is
 * nested deeper than 200 levels, or has a number that JSON cannot hold (1e999 is read as infinity).
 */
export function canonicalJson(value: Json): string | null {
  return render(value, 0);
}

function render(value: Json, depth: number): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : null;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (depth === DEEPEST) return null;
  if (isList(value)) {
    const items = value.map((item) => render(item, depth + 1));
    return items.includes(null) ? null : `[${items.join(",")}]`;
  }
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => field(key, item, depth));
  return fields.includes(null) ? null : `{${fields.join(",")}}`;
}

const isList = (value: object): value is readonly Json[] => Array.isArray(value);

function field(key: string, value: Json, depth: number): string | null {
  const text = render(value, depth + 1);
  return text === null ? null : `${JSON.stringify(key)}:${text}`;
}
