import { hash } from "node:crypto";
import { redacted, redactedIn } from "../../platform/redact.ts";

// Spans are the JSON of OTLP: ids are hex, nanoseconds and whole numbers are text.

/** The ids by which a span is known. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
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

/**
 * A value of an attribute. A text has its first 1,000 characters; an object is the value in OTLP.
 */
export type Value = string | number | boolean | object | null;

/**
 * Attributes without those that have no value: null, false, empty texts, and
 * numbers that JSON cannot hold.
 */
export function attributes(values: Readonly<Record<string, Value>>) {
  return Object.entries(values).flatMap(([key, value]) => {
    const told = value === false || value === "" ? null : inOtlp(value);
    return told ? [{ key, value: told }] : [];
  });
}

function inOtlp(value: Value): object | null {
  if (typeof value === "string") return { stringValue: value.slice(0, 1000).toWellFormed() };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value !== "number") return value;
  return Number.isSafeInteger(value) ? { intValue: String(value) } : fraction(value);
}

/** A number that is a fraction also where it is whole, such as dollars. */
export const fraction = (value: number) => (Number.isFinite(value) ? { doubleValue: value } : null);

/** A request of OTLP as a line of JSON. */
export interface SpanLine {
  readonly text: string;
  /** Spans in it. */
  readonly spans: number;
}

/**
 * Requests of OTLP as lines of JSON, as few as there can be, of 4 MB at most each.
 * @param version of Belay
 */
export function* linesOf(spans: Iterable<object>, version: string): Generator<SpanLine> {
  const resource = { attributes: attributes({ "service.name": "belay", "service.version": version }) };
  const scope = JSON.stringify({ name: "belay", version });
  const before = `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${scope},"spans":[`;
  const lineOf = () => ({ text: `${before}${held.join(",")}]}]}]}`, spans: held.length });
  let held: string[] = [];
  let bytes = 0;
  for (const span of spans) {
    const text = JSON.stringify(span);
    const more = Buffer.byteLength(text) + 1;
    if (held.length > 0 && bytes + more > MOST_LINE_BYTES - before.length - 100) {
      yield lineOf();
      held = [];
      bytes = 0;
    }
    held.push(text);
    bytes += more;
  }
  if (held.length > 0) yield lineOf();
}

const MOST_LINE_BYTES = 4_000_000;
const MOST_MESSAGE_BYTES = 16 * 1024;

/**
 * A message as the conventions write it, without keys: at most 16 KB of
 * its text. null: there is none.
 */
export function message(role: "user" | "assistant", given: unknown) {
  if (given === null || given === "") return null;
  const whole = typeof given === "string" ? redacted(given) : JSON.stringify(redactedIn(given));
  const bytes = Buffer.from(whole.slice(0, MOST_MESSAGE_BYTES)).subarray(0, MOST_MESSAGE_BYTES);
  // A stream may continue, so a character that is cut in half is left out.
  const content = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
  const end = role === "assistant" ? { finish_reason: "stop" } : {};
  return { stringValue: JSON.stringify([{ role, parts: [{ type: "text", content }], ...end }]) };
}
