import type { Json } from "./protocol.ts";

/** A whole number that JavaScript has probably rounded, and where it stands. */
interface Rounded {
  /** Such as `user.id`, cut at 100 characters; "" for the value itself. */
  readonly path: string;
  readonly value: number;
}

/**
 * The first number of a value that looks like an id of 64 bits after it was rounded: a whole number
 * beyond 2^53 with 16 digits or more before its zeros. null if there is none.
 */
export function roundedIn(value: Json, path = ""): Rounded | null {
  if (typeof value === "number") return isRounded(value) ? { path, value } : null;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const inner = path === "" ? key : `${path}.${key}`;
    const nested = roundedIn(item, inner.slice(0, PATH_UNITS).toWellFormed());
    if (nested) return nested;
  }
  return null;
}

const PATH_UNITS = 100;

function isRounded(value: number): boolean {
  if (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21) return false;
  const [digits = ""] = value.toExponential().split("e");
  return digits.replaceAll(/[-.]/g, "").length >= 16;
}
