import type { Expression } from "./hir.ts";

const LOOKS: Readonly<Record<string, string>> = {
  Start: "\\A",
  End: "\\z",
  StartLF: "(?m:^)",
  EndLF: "(?m:$)",
  StartCRLF: "(?mR:^)",
  EndCRLF: "(?mR:$)",
  WordAscii: "(?-u:\\b)",
  WordAsciiNegate: "(?-u:\\B)",
  WordUnicode: "\\b",
  WordUnicodeNegate: "\\B",
  WordStartAscii: "(?-u:\\b{start})",
  WordEndAscii: "(?-u:\\b{end})",
  WordStartUnicode: "\\b{start}",
  WordEndUnicode: "\\b{end}",
  WordStartHalfAscii: "(?-u:\\b{start-half})",
  WordEndHalfAscii: "(?-u:\\b{end-half})",
  WordStartHalfUnicode: "\\b{start-half}",
  WordEndHalfUnicode: "\\b{end-half}",
};

const NOTHING = "[a&&b]";

/** Spellings of characters and assertions; sequence, choice and repetition are the same in every spelling. */
interface Atoms {
  set(ranges: string): string;
  look(source: string): string;
}

/** The expression as a Rust pattern with the same matches. */
export function printExpression(expression: Expression): string {
  return print(expression, { set: (ranges) => `[${ranges}]`, look: (source) => source });
}

/**
 * The expression as a Rust pattern for a text that continues where the haystack stops: the stop is a run of a character
 * that the text lacks, and there the pattern takes that character for every character and every assertion. Up to the
 * stop the same paths are tried in the same order as in the original. So a match that ends before the stop is the
 * original's match whatever follows, and a match that could still change ends at the stop or in the run.
 *
 * (`(?:X|\z)` needs no run but makes X possibly empty; Rust compiles `X*` differently then, and where loops of empty
 * matches are nested it prefers another match.)
 */
export function printCut(expression: Expression, stop: string): string {
  const end = escaped(stop.codePointAt(0) ?? 0);
  return print(expression, {
    set: (ranges) => `[${ranges}${end}]`,
    look: (source) => (source === LOOKS.Start ? source : `(?:${source}|${end})`),
  });
}

function print(expression: Expression, atoms: Atoms): string {
  switch (expression.kind) {
    case "empty":
      return "";
    case "literal":
      return Array.from(expression.text, (character) => atoms.set(escaped(character.codePointAt(0) ?? 0))).join("");
    case "class":
      return expression.ranges.length === 0 ? NOTHING : atoms.set(printRanges(expression.ranges));
    case "look":
      return atoms.look(printLook(expression.look));
    case "repeat": {
      const max = Number.isFinite(expression.max) ? expression.max : "";
      return `(?:${print(expression.sub, atoms)}){${expression.min},${max}}${expression.lazy ? "?" : ""}`;
    }
    case "concat":
      return expression.parts.map((part) => print(part, atoms)).join("");
    case "either":
      return `(?:${expression.parts.map((part) => print(part, atoms)).join("|")})`;
  }
}

function printRanges(ranges: readonly (readonly [number, number])[]): string {
  return ranges.map(([first, last]) => `${escaped(first)}-${escaped(last)}`).join("");
}

function printLook(look: string): string {
  const source = LOOKS[look];
  if (source === undefined) throw new Error(`unknown assertion ${look} in the pattern engine's syntax tree`);
  return source;
}

function escaped(codePoint: number): string {
  return `\\x{${codePoint.toString(16)}}`;
}
