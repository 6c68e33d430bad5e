import { isPlain, type Literal, type Required } from "./hir.ts";

/** The place of the first literal at or after a byte; the end of the haystack if there is none. */
export type NextLiteral = (from: number) => number;

/** Node finds the beginning of a longer literal in a fifth of the time. */
const QUICK_BYTES = 7;
const WINDOW_BYTES = 64 * 1024;
/** More than `QUICK_BYTES` characters have. */
const OVERLAP_BYTES = 64;

/** @param between is called now and then, and may throw to end the search */
export function openLiterals(haystack: Buffer, required: Required | undefined, between: () => void): NextLiteral {
  const { literals = [] } = required ?? {};
  const finders = literals.every(isPlain)
    ? literals.map((literal) => plainFinder(haystack, literal))
    : [casesFinder(haystack, literals, between)];
  const places = finders.map(() => -1);
  return (from) => {
    for (const [n, find] of finders.entries()) if ((places[n] ?? 0) < from) places[n] = find(from);
    return Math.min(haystack.length, ...places);
  };
}

function plainFinder(haystack: Buffer, literal: Literal): NextLiteral {
  const bytes = Buffer.from(literal.join("")).subarray(0, QUICK_BYTES);
  return (from) => {
    const at = haystack.indexOf(bytes, from);
    return at === -1 ? haystack.length : at;
  };
}

/** Native RegExp reads 1 GB in a second, and takes bytes as the characters of Latin-1. */
function casesFinder(haystack: Buffer, literals: readonly Literal[], between: () => void): NextLiteral {
  const regex = new RegExp(literals.map(spelled).join("|"), "g");
  let start = 0;
  let window = "";
  return (from) => {
    for (let at = from; ; at = start + window.length - OVERLAP_BYTES) {
      if (at + OVERLAP_BYTES >= start + window.length) {
        between();
        start = at;
        window = haystack.toString("latin1", start, start + WINDOW_BYTES);
      }
      regex.lastIndex = at - start;
      const found = regex.exec(window);
      if (found !== null) return start + found.index;
      if (start + window.length === haystack.length) return haystack.length;
    }
  };
}

function spelled(literal: Literal): string {
  const bytes = (character: string) =>
    Array.from(Buffer.from(character), (byte) => `\\x${byte.toString(16).padStart(2, "0")}`);
  const places = literal
    .slice(0, QUICK_BYTES)
    .map((cases) => Array.from(cases, (character) => bytes(character).join("")));
  return places.map((cases) => `(?:${cases.join("|")})`).join("");
}
