import { Type } from "typebox";
import type { Json } from "../../runtime/index.ts";

/** A parameter that takes any JSON value. */
export const JSON_VALUE = Type.Unknown({ description: "any JSON value; a string stays a string" });

/** A value that came as JSON. */
export function jsonOf(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null));
}
