import type { Json } from "../../runtime/index.ts";

/** A JSON object, or any other object that is not an array. */
export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a JSON text, or undefined if it is not valid JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Plain data as JSON has it: fields without a value are left out. */
export function jsonOf(data: object): { readonly [key: string]: Json };
export function jsonOf(data: unknown): Json;
export function jsonOf(data: unknown): Json {
  return JSON.parse(JSON.stringify(data ?? null));
}

/** The fields that have a value. */
export function withoutUndefined<T extends object>(fields: T): { [key in keyof T]?: Exclude<T[key], undefined> };
export function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
