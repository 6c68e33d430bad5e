import { hash } from "node:crypto";
import { redacted, redactedIn } from "../platform/redact.ts";

/** A span in the JSON of OTLP: ids as hex, nanoseconds and whole numbers as text. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1: internal; 3: a client's request. */
  readonly kind: 1 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly events?: readonly {
    readonly timeUnixNano: string;
    readonly name: string;
    readonly attributes: readonly Attribute[];
  }[];
  readonly links?: readonly SpanPlace[];
  /** 2: it failed. */
  readonly status?: { readonly code: 2; readonly message: string };
}

export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
}

interface Attribute {
  readonly key: string;
  readonly value: object;
}

/** The trace of what a person asked for: an ask, or an exec without one. */
export const traceId = (session: string, exec_id: string) => idOf(32, "trace", session, exec_id);
export const spanId = (kind: "exec" | "call", session: string, id: string) => idOf(16, kind, session, id);

const idOf = (digits: number, ...parts: readonly string[]) => hash("sha256", parts.join("\0")).slice(0, digits);

/** Nanoseconds since the epoch. A store may hold any number, and OTLP takes 64 bits. */
export function nano(ms: number): string {
  const whole = Math.min(Math.max(0, Math.round(ms) || 0), MOST_MS);
  return whole === 0 ? "0" : `${whole}000000`;
}

const MOST_MS = 9e12;

/** Attributes without those that have no value: null, false, empty texts, and numbers that JSON cannot hold. */
export function attributes(values: Readonly<Record<string, Value>>): Attribute[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const told = value === false || value === "" || value === null ? null : inOtlp(value);
    return told ? [{ key, value: told }] : [];
  });
}

/** Dollars are a fraction also where they are a whole number. A message is whole; another text has its first 1,000 characters. */
export type Value = string | number | boolean | null | { readonly usd: number } | { readonly message: string };

function inOtlp(value: Exclude<Value, null>): object | null {
  if (typeof value === "string") return { stringValue: value.slice(0, 1000).toWellFormed() };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "object" && "message" in value) return { stringValue: value.message };
  if (Number.isSafeInteger(value)) return { intValue: String(value) };
  const fraction = typeof value === "number" ? value : value.usd;
  return Number.isFinite(fraction) ? { doubleValue: fraction } : null;
}

const MOST_BYTES = 16 * 1024;

/** A message as the conventions write it, without keys: at most 16 KB of its text. */
export function message(role: "user" | "assistant", given: unknown): { readonly message: string } {
  const whole = typeof given === "string" ? redacted(given) : JSON.stringify(redactedIn(given));
  const bytes = Buffer.from(whole.slice(0, MOST_BYTES));
  // A character that is cut in half would be shown as another one.
  const content = bytes
    .subarray(0, MOST_BYTES)
    .toString()
    .replace(/\ufffd$/, "");
  const end = role === "assistant" ? { finish_reason: "stop" } : {};
  return { message: JSON.stringify([{ role, parts: [{ type: "text", content }], ...end }]) };
}
