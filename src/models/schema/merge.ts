import type { Json } from "../../../runtime/index.ts";
import { isJsonObject, type JsonObject } from "./pointer.ts";

/** A schema that asks for what both ask for, as one list of keywords if possible; `false` if either is. */
export function mergedSchema(one: Json, other: Json): Json {
  if (one === false || other === false) return false;
  if (!isJsonObject(one)) return other;
  if (!isJsonObject(other)) return one;
  const merged: { [keyword: string]: Json } = { ...one };
  for (const [keyword, value] of Object.entries(other)) {
    const before = merged[keyword];
    merged[keyword] = before === undefined ? value : both(keyword, before, value);
  }
  return merged;
}

function both(keyword: string, one: Json, other: Json): Json {
  if (keyword === "properties" && isJsonObject(one) && isJsonObject(other)) return properties(one, other);
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
