import type { Json } from "../../runtime/index.ts";

/** A parameter that takes any JSON value. */
export const JSON_VALUE = { description: "any JSON value; a string stays a string" } as const;

/** A value that came as JSON. */
export function jsonOf(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null));
}
