import { type Json, RlmError } from "../index.ts";

/** The error for a result that a format cannot hold. */
export function misfit(format: string, why: string): RlmError {
  return new RlmError("invalid_argument", `the result does not fit ${format}: ${why}`, {
    suggestion: "Use --format json, or change what the cell returns.",
  });
}

/** `an array`, `null`: what a value is, for messages. */
export function kindOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
