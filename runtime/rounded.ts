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

/** The same of a JSON text, without the place, and not 2^53 itself, which models and cells write; null if there is none. */
export function roundedInJson(json: string): number | null {
  if (!LONG.test(json)) return null;
  for (const piece of outsideStrings(json)) {
    const found = piece
      .match(WHOLE)
      ?.map(Number)
      .find((value) => isRounded(value) && Math.abs(value) !== 2 ** 53);
    if (found !== undefined) return found;
  }
  return null;
}

const LONG = /\d{16}/;
const WHOLE = /(?<![\d.])-?\d{16,21}(?![\d.eE])/g;

/** The parts of a JSON text that are in no string. No regular expression reads strings of 100 MB. */
function* outsideStrings(json: string): Generator<string> {
  for (let at = 0; ; ) {
    const quote = json.indexOf('"', at);
    if (quote < 0) {
      yield json.slice(at);
      return;
    }
    yield json.slice(at, quote);
    let end = json.indexOf('"', quote + 1);
    while (end > 0 && isEscaped(json, end)) end = json.indexOf('"', end + 1);
    if (end < 0) return;
    at = end + 1;
  }
}

function isEscaped(json: string, quote: number): boolean {
  let before = quote;
  while (json.charCodeAt(before - 1) === BACKSLASH) before -= 1;
  return (quote - before) % 2 === 1;
}

const BACKSLASH = 92;

function isRounded(value: number): boolean {
  if (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21) return false;
  const [digits = ""] = value.toExponential().split("e");
  return digits.replaceAll(/[-.]/g, "").length >= 16;
}

/** Whole numbers beyond 2^53 in a text, as JavaScript writes them. */
export function figuresIn(text: string): readonly string[] {
  if (!LONG.test(text)) return [];
  const figures = Array.from(text.matchAll(FIGURE), ([digits]) => digits);
  return [...new Set(figures)].filter((digits) => {
    const value = Number(digits);
    return !Number.isSafeInteger(value) && String(value) === digits;
  });
}

const FIGURE = /(?<![\w.-])\d{16,21}(?!\w|\.\d)/g;

/**
 * The digits in a source that JavaScript rounds to this figure; null: there are none, or the
 * figure itself is there.
 */
export function roundedFrom(figure: string, source: Uint8Array): string | null {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.length);
  let found: string | null = null;
  for (const beginning of beginningsOf(figure)) {
    let at = bytes.indexOf(beginning);
    for (let places = 0; at >= 0 && places < MOST_PLACES; places++) {
      const digits = at > 0 && isDigit(bytes[at - 1]) ? "" : digitsAt(bytes, at);
      if (digits === figure) return null;
      if (digits.length === figure.length && Number(digits) === Number(figure)) found ??= digits;
      at = bytes.indexOf(beginning, at + beginning.length);
    }
  }
  return found;
}

/** Places of a beginning at which digits are compared. */
const MOST_PLACES = 1000;
const BEGINNING_UNITS = 12;

/** The first digits of all whole numbers that JavaScript rounds to a figure. */
function beginningsOf(figure: string): ReadonlySet<string> {
  const value = BigInt(figure);
  const half = 1n << BigInt(value.toString(2).length - 53);
  return new Set([value, value - half, value + half].map((one) => String(one).slice(0, BEGINNING_UNITS)));
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 48 && byte <= 57;

function digitsAt(bytes: Buffer, start: number): string {
  let end = start;
  while (end - start < 22 && isDigit(bytes[end])) end += 1;
  return bytes.toString("latin1", start, end);
}
