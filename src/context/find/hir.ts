import type { Class, Hir } from "rregex";

/** The meaning of a pattern, after Rust's parser: flags, shorthands and captures are resolved. */
type Expression =
  | { readonly kind: "empty" }
  | { readonly kind: "literal"; readonly text: string }
  /** Ranges of code points, both ends included; none at all matches nothing. */
  | { readonly kind: "class"; readonly ranges: readonly (readonly [first: number, last: number])[] }
  | { readonly kind: "look"; readonly look: string }
  | {
      readonly kind: "repeat";
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
      readonly sub: Expression;
    }
  | { readonly kind: "concat" | "either"; readonly parts: readonly Expression[] };

/** The expression of a pattern that matches only its own characters; undefined if it has others that mean something. */
export function fixedText(source: string): Expression | undefined {
  return FIXED.test(source) ? { kind: "literal", text: source.toWellFormed() } : undefined;
}

const FIXED = /^[^\\.+*?()|[\]{}^$]+$/;

/** Rust's high-level intermediate representation as a small tree. */
export function readHir({ kind }: Hir): Expression {
  switch (kind["@variant"]) {
    case "Empty":
      return { kind: "empty" };
    case "Literal":
      return { kind: "literal", text: Buffer.from(kind["@values"][0]["@values"][0]).toString("utf8") };
    case "Class":
      return { kind: "class", ranges: readClass(kind["@values"][0]) };
    case "Look":
      return { kind: "look", look: kind["@values"][0]["@variant"] };
    case "Repetition": {
      const { min, max = Number.POSITIVE_INFINITY, greedy, sub } = kind["@values"][0];
      return { kind: "repeat", min, max, lazy: !greedy, sub: readHir(sub) };
    }
    case "Capture":
      return readHir(kind["@values"][0].sub);
    case "Concat":
      return { kind: "concat", parts: kind["@values"][0].map(readHir) };
    case "Alternation":
      return { kind: "either", parts: kind["@values"][0].map(readHir) };
  }
}

/** The expressions in it that have no parts. */
function leavesOf(expression: Expression): readonly Expression[] {
  if (expression.kind === "repeat") return leavesOf(expression.sub);
  return "parts" in expression ? expression.parts.flatMap(leavesOf) : [expression];
}

/** True if a match can contain a line feed. */
export function spansLines(expression: Expression): boolean {
  return leavesOf(expression).some((leaf) => {
    if (leaf.kind === "literal") return leaf.text.includes("\n");
    return leaf.kind === "class" && leaf.ranges.some(([first, last]) => first <= 10 && last >= 10);
  });
}

/** The longest possible match in bytes of UTF-8; may be Infinity. */
export function longestMatch(expression: Expression): number {
  switch (expression.kind) {
    case "literal":
      return Buffer.byteLength(expression.text);
    case "class":
      return expression.ranges.length === 0 ? 0 : utf8Bytes(expression.ranges.at(-1)?.[1] ?? 0);
    case "repeat": {
      const once = longestMatch(expression.sub);
      return once === 0 ? 0 : once * expression.max;
    }
    case "concat":
      return expression.parts.reduce((sum, part) => sum + longestMatch(part), 0);
    case "either":
      return Math.max(0, ...expression.parts.map(longestMatch));
    default:
      return 0;
  }
}

/** The characters that may be at each place of it: `["Tt", "o"]` is `To` and `to`. */
export type Literal = readonly string[];

/** A place of a literal that takes any byte. It stands between others. */
export const ANY = "";

/** Literals one of which is in every match, and the most bytes of a match before it. */
export interface Required {
  readonly literals: readonly Literal[];
  readonly before: number;
}

const MOST_LITERALS = 4;
/** Places together that take any byte. */
const MOST_ANY = 16;
const MOST_CASES = 4;
/** That of three characters if one of them is in several cases. */
const LEAST_RARITY = 0.5;
/** The most choices of which the text decides which one is rare. */
const MOST_CHOICES = 3;

/**
 * Literals that each match has, by choices of which each is enough, the likely rarest first. There are
 * none if they are common, or too many.
 */
export function requiredIn(expression: Expression): readonly Required[] {
  const rare = literalsIn(expression).filter((required) => rarity(required) >= LEAST_RARITY);
  const sorted = rare.toSorted((one, other) => rarity(other) - rarity(one));
  const [first] = sorted;
  if (!first?.literals.every(isPlain)) return sorted.slice(0, 1);
  return sorted.filter(({ literals }) => literals.every(isPlain)).slice(0, MOST_CHOICES);
}

function literalsIn(expression: Expression): readonly Required[] {
  switch (expression.kind) {
    case "literal":
      return [{ literals: [Array.from(expression.text)], before: 0 }];
    case "class": {
      if (expression.ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0) > MOST_CASES) return [];
      const cases = expression.ranges.flatMap(([first, last]) =>
        Array.from({ length: last - first + 1 }, (_, n) => first + n),
      );
      return [{ literals: [[String.fromCodePoint(...cases)]], before: 0 }];
    }
    case "repeat":
      return expression.min > 0 ? literalsIn(expression.sub) : [];
    case "concat": {
      let before = 0;
      const all: Required[] = [];
      /** A literal with which the next part may be one. */
      let open: Required | undefined;
      for (const part of expression.parts) {
        const start = before;
        const own = literalsIn(part).map((one) => ({ ...one, before: start + one.before }));
        all.push(...own);
        const [fixed] = part.kind === "literal" || part.kind === "class" ? own : [];
        if (fixed && open) {
          open = { ...open, literals: [[...open.literals, ...fixed.literals].flat()] };
          all.push(open);
        } else if (open && bytesOf(part) > 0) {
          const gap = Array<string>(bytesOf(part)).fill(ANY);
          open = { ...open, literals: [[...open.literals.flat(), ...gap]] };
        } else open = fixed;
        before += longestMatch(part);
      }
      return all;
    }
    case "either": {
      const all = expression.parts.map((part) => rarestOf(literalsIn(part)));
      const known = all.filter((found) => found !== undefined);
      const literals = fewOf(known.flatMap((found) => found.literals));
      if (known.length < all.length || literals === undefined) return [];
      return [{ literals, before: Math.max(...known.map(({ before }) => before)) }];
    }
    default:
      return [];
  }
}

/** The bytes of an expression that is always as many characters of ASCII, if they are few; else 0. */
function bytesOf(expression: Expression): number {
  if (expression.kind === "class") return (expression.ranges.at(-1)?.[1] ?? 128) < 128 ? 1 : 0;
  if (expression.kind !== "repeat" || expression.min !== expression.max || expression.max > MOST_ANY) return 0;
  return expression.sub.kind === "class" ? expression.max * bytesOf(expression.sub) : 0;
}

function rarestOf(all: readonly Required[]): Required | undefined {
  return all.reduce<Required | undefined>((best, one) => (rarity(one) > rarity(best) ? one : best), undefined);
}

/** The literals or, if they are many, beginnings that they share. */
function fewOf(literals: readonly Literal[]): readonly Literal[] | undefined {
  for (let length = Math.max(...literals.map((literal) => literal.length)); length > 0; length--) {
    const begins = new Map(literals.map((literal) => [literal.slice(0, length).join("\n"), literal.slice(0, length)]));
    if (begins.size <= MOST_LITERALS) return [...begins.values()];
  }
  return undefined;
}

/** The literals that the whole expression is a choice of, in its order; undefined if it is more than that. */
export function onlyLiterals(expression: Expression): readonly Literal[] | undefined {
  if (expression.kind === "either") {
    const all = expression.parts.map(onlyLiterals);
    const known = all.filter((literals) => literals !== undefined).flat();
    return all.includes(undefined) || known.length > MOST_LITERALS ? undefined : known;
  }
  const parts = expression.kind === "concat" ? expression.parts : [expression];
  const isFixed = parts.every(({ kind }) => kind === "literal" || kind === "class");
  const places = parts.map((part) => (isFixed ? literalsIn(part)[0]?.literals[0] : undefined));
  const known = places.filter((place) => place !== undefined).flat();
  return places.includes(undefined) || known.length === 0 || known.includes("") ? undefined : [known];
}

/** True if each place has one UTF-16 unit, or takes any byte. */
export const isPlain = (literal: Literal) => literal.every(({ length }) => length <= 1);

/** The places that do not take any byte. */
const fixedPlaces = (literal: Literal) => literal.filter((place) => place !== ANY).length;

/** Longer literals are rarer; those in several cases take much longer to look for. */
function rarity(required: Required | undefined): number {
  if (!required) return 0;
  const shortest = Math.min(...required.literals.map(fixedPlaces));
  return required.literals.every(isPlain) ? shortest / required.literals.length : (shortest - 1) / 4;
}

/** The most characters that a match already begun can still need, an assertion counted as one. */
export function longestFinish(expression: Expression): number {
  switch (expression.kind) {
    case "empty":
      return 0;
    case "literal":
      return expression.text.length;
    case "repeat":
      return Math.max(expression.min, 1) * longestFinish(expression.sub);
    case "concat":
      return expression.parts.reduce((sum, part) => sum + longestFinish(part), 0);
    case "either":
      return Math.max(0, ...expression.parts.map(longestFinish));
    default:
      return 1;
  }
}

/** Names of the assertions in it, as Rust calls them: `Start`, `EndLF`, `WordUnicode` … */
export function looksOf(expression: Expression): readonly string[] {
  return leavesOf(expression).flatMap((leaf) => (leaf.kind === "look" ? [leaf.look] : []));
}

function readClass(set: Class): [number, number][] {
  if (set["@variant"] === "Bytes") return set["@values"][0].ranges.map(({ start, end }) => [start, end]);
  return set["@values"][0].ranges.map(({ start, end }) => [start.codePointAt(0) ?? 0, end.codePointAt(0) ?? 0]);
}

function utf8Bytes(codePoint: number): number {
  return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
}

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

/**
 * Spellings of characters and assertions; sequence, choice and repetition are the same in every
 * spelling.
 */
interface Atoms {
  set(ranges: string): string;
  look(source: string): string;
}

/** The expression as a Rust pattern with the same matches. */
export function printExpression(expression: Expression): string {
  return print(expression, { set: (ranges) => `[${ranges}]`, look: (source) => source });
}

/**
 * The expression as a Rust pattern for a text that continues where the haystack stops: the stop is
 * a run of a character that the text lacks, and there the pattern takes that character for every
 * character and every assertion. Up to the stop the same paths are tried in the same order as in
 * the original. So a match that ends before the stop is the original's match whatever follows, and
 * a match that could still change ends at the stop or in the run.
 *
 * (`(?:X|\z)` needs no run but makes X possibly empty; Rust compiles `X*` differently then, and
 * where loops of empty matches are nested it prefers another match.)
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
