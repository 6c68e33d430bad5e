import { argumentError, type Json, LIMITS, type RlmError } from "../runtime/index.ts";
import type { ChildContext, ContextServices, Range } from "./services.ts";

/** The mark of a place of the history: its offsets mean something else in P. */
export const OF_HISTORY = "history";

/**
 * Reads the option `context` as a cell gives it: a text, a place of P or of the history, or a list
 * of places. A place is `[start, end]` or has both, as documents and hits of searches do. An empty
 * place is left out.
 *
 * @throws RlmError an error for the guest that names the argument
 */
export function readContext(name: string, given: Json): ChildContext {
  if (typeof given === "string") return readText(name, given);
  const isList = Array.isArray(given) && !isPair(given);
  const places = isList ? given : [given];
  if (places.length > LIMITS.contextPlaces) {
    throw wrong("RangeError", name, `has ${places.length} places (limit 10,000)`);
  }
  const ranges = merged(places.map((place, i) => rangeOf(name, isList ? `context[${i}]` : "context", place)));
  const ofHistory = places.filter(isOfHistory).length;
  if (ofHistory > 0 && ofHistory < places.length) {
    const cure = "Make a call for each: the model explores one text.";
    throw argumentError("TypeError", `${name}: context has places of P and of the history`, cure);
  }
  if (ranges.length === 0) throw wrong("TypeError", name, `names no text of ${ofHistory > 0 ? "the history" : "P"}`);
  return ofHistory > 0 ? { ranges, of: OF_HISTORY } : { ranges };
}

/**
 * @param source P, or the history if the places are of it
 * @throws RlmError if it does not hold what the call is to be given
 */
export function checkContext(name: string, given: ChildContext, source: ContextServices): void {
  if ("text" in given) return;
  const { length, documents } = source;
  const of = "of" in given ? "the history" : "P";
  const ranges = "whole" in given ? [[0, length] as const] : given.ranges;
  const last = ranges.at(-1);
  if (last && last[1] > length) {
    throw wrong("RangeError", name, `has the place [${last.join(", ")}], but ${of} has ${length} characters`);
  }
  let next = 0;
  const holdsText = documents.some(({ start, end }) => {
    while (next < ranges.length && (ranges[next]?.[1] ?? 0) <= start) next++;
    return start < end && (ranges[next]?.[0] ?? length) < end;
  });
  if (!holdsText) throw wrong("RangeError", name, `lies between the documents of ${of}, where there is no text`);
}

function readText(name: string, text: string): ChildContext {
  if (text.trim() === "") throw wrong("TypeError", name, "is empty");
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.promptBytes) return { text };
  const size = `${(bytes / 2 ** 20).toFixed(1)} MB`;
  const cure = "Name places of P in its stead, which may have any size; [0, P.length] is all of it.";
  throw argumentError("RangeError", `${name}: context has ${size} as a text (limit 1 MB)`, cure);
}

function rangeOf(name: string, argument: string, place: Json): Range {
  const range = isPair(place) ? place : typeof place === "object" && place !== null ? boundsOf(place) : null;
  if (!range) throw wrong("TypeError", name, "must be [start, end], or have start and end", argument);
  const [start, end] = range;
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return [start, end];
  const why = `is [${start}, ${end}]: start and end must be integers, from 0, start before end`;
  throw wrong("RangeError", name, why, argument);
}

/** A pair of numbers, behind which one of the history says so. */
const isPair = (value: Json): value is [number, number] =>
  Array.isArray(value) &&
  (value.length === 2 || (value.length === 3 && value[2] === OF_HISTORY)) &&
  value.slice(0, 2).every((one) => typeof one === "number");

function isOfHistory(place: Json): boolean {
  if (Array.isArray(place)) return place[2] === OF_HISTORY;
  return typeof place === "object" && place !== null && Reflect.get(place, "of") === OF_HISTORY;
}

function boundsOf(place: object): Range | null {
  const start: unknown = Reflect.get(place, "start");
  const end: unknown = Reflect.get(place, "end");
  return typeof start === "number" && typeof end === "number" ? [start, end] : null;
}

/** In their order in P. Those that overlap or touch are one, and empty ones are none. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const sorted = ranges.filter(([start, end]) => start < end).sort(([a], [b]) => a - b);
  const apart: Range[] = [];
  for (const [start, end] of sorted) {
    const before = apart.at(-1);
    if (before && start <= before[1]) apart[apart.length - 1] = [before[0], Math.max(before[1], end)];
    else apart.push([start, end]);
  }
  return apart;
}

const wrong = (kind: "TypeError" | "RangeError", name: string, why: string, argument = "context"): RlmError =>
  argumentError(kind, `${name}: ${argument} ${why}`, CURE);

const CURE =
  "Pass a text of at most 1 MB, [start, end], a document, a search hit, or a list of places: find(…).matches, list_docs().";
