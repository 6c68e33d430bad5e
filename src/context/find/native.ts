import { isAscii } from "node:buffer";
import { findFrom } from "./engine.ts";
import { boundary, next } from "./window.ts";

/** A run of a character with which matches begin. */
interface Run {
  /** By code. */
  readonly characters: readonly boolean[];
  /** The fewest characters of it. */
  readonly least: number;
  /** Matches end where a word ends. The regex knows no letters but those of ASCII. */
  readonly endsWord: boolean;
}

/** A repeated character: its cases, and how often it occurs ("" if there is no limit). */
interface Item {
  readonly set: readonly string[];
  readonly min: string;
  readonly max: string;
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const CLASS = String.raw`\[((?:\\x\{\w+\}-?)+)\]`;
/** One character, or a repetition of one that is not lazy. */
const ITEM = new RegExp(String.raw`${CLASS}|\(\?:${CLASS}\)\{([1-4]),(\d*)\}(?!\?)`, "g");
const MOST_ITEMS = 16;
const NOT_ASCII = /\\x\{(?:[89a-f]\w|\w{3,})\}/;

/** A pattern that native RegExp searches for. */
export interface NativePattern {
  /** In text that is not ASCII, it would miss matches. */
  readonly asksForAscii: boolean;
  /** By code: characters that matches consist of. */
  readonly inside: readonly boolean[];
  /** For matches or, if they begin with a run, for what follows it. */
  readonly regex: RegExp;
  readonly run: Run | undefined;
}

/**
 * The pattern for native RegExp, if it is a sequence of repeated characters, with `\b` or nothing
 * at its end, on which RegExp is quick.
 *
 * @param printed by `printExpression`
 */
export function nativePattern(printed: string): NativePattern | undefined {
  const [, sequence = "", look = ""] = /^(.*?)(\\b)?$/s.exec(printed) ?? [];
  const sequenceItems = Array.from(sequence.matchAll(ITEM));
  if (sequence.replace(ITEM, "") !== "" || sequenceItems.length === 0 || sequenceItems.length > MOST_ITEMS)
    return undefined;
  const items = sequenceItems.map(([, one = "", many = one, min = "1", max = min]): Item => {
    const character = new RegExp(`[${many.replaceAll("x", "u")}]`, "u");
    return { set: ASCII.filter((one) => character.test(one)), min, max };
  });
  const [first] = items;
  const inside = codesIn(items.flatMap(({ set }) => set));
  const hasRun = first?.max === "" && isAfterRun(items);
  if (!isQuick(items, hasRun, look) || !inside.includes(false)) return undefined;
  const endsWord = look !== "";
  const asksForAscii = NOT_ASCII.test(sequence) || (endsWord && !(hasRun && items.at(-1)?.set.every(isWord)));
  const [start = "", ...rest] = items.map(({ set, min, max }) => `${spelled(set)}{${min},${max}}`);
  const run: Run | undefined =
    first && hasRun ? { characters: codesIn(first.set), least: Number(first.min), endsWord } : undefined;
  const begin = first && hasRun ? `(?<=${spelled(first.set)}{${first.min}})` : start;
  return {
    asksForAscii,
    inside,
    regex: new RegExp([begin, ...rest, look].join(""), "g"),
    run,
  };
}

/**
 * True if what is next to a repetition has none of its characters, so going back fails at once, and
 * a run of them is only entered at its beginning. A run with which matches begin is not searched
 * for.
 */
function isQuick(items: readonly Item[], hasRun: boolean, look: string): boolean {
  return items.every(({ min, max }, at) => {
    if (min === max || (at === 0 && hasRun)) return true;
    if (at === items.length - 1) return look === "";
    return isApart(items[at], items[at - 1]) && isApart(items[at], items[at + 1]);
  });
}

/** True if no two places at which the items after the first one match can overlap. */
function isAfterRun([first, second, ...rest]: readonly Item[]): boolean {
  return (second?.max === "1" || isApart(second, first)) && rest.every((item) => isApart(second, item));
}

function isApart(one: Item | undefined, other: Item | undefined): boolean {
  return one?.set.every((character) => other?.set.includes(character) === false) === true;
}

const isWord = (character: string) => /\w/.test(character);
const codesIn = (set: readonly string[]) => ASCII.map((character) => set.includes(character));
const spelled = (set: readonly string[]) => `[${set.join("").replace(/[\\\]^-]/g, "\\$&")}]`;

/**
 * Searches from a place to `end`, behind a character that no match has; undefined if that is too
 * near, or too little of it is ASCII.
 */
export function openNative(haystack: Buffer, native: NativePattern | undefined, largest: number, isOpen: boolean) {
  let paused = 0;
  return (from: number) => {
    if (!native || from < paused) return undefined;
    let end = boundary(haystack, Math.min(from + largest, haystack.length));
    while (native.asksForAscii && !isAscii(haystack.subarray(from, end))) end = (from + end) >> 1;
    const asciiEnd = end;
    if (end < haystack.length || isOpen) while (end > from && native.inside[haystack[end - 1] ?? 0]) end -= 1;
    if (end - from <= largest / 512) {
      paused = asciiEnd;
      return undefined;
    }
    const matches = haystack.toString("latin1", from, end).matchAll(native.regex);
    const places = matches.map(({ 0: { length }, index }) => [from + index, from + index + length] as const);
    if (!native.run) return { matches: places, end };
    const whole = native.run.endsWord ? places.filter(([, end]) => !isLetterAt(haystack, end)) : places;
    return { matches: withRun(haystack, from, whole, native.run), end };
  };
}

/** True for a character of a word that is not ASCII, as the engine judges it. */
function isLetterAt(haystack: Buffer, at: number): boolean {
  if ((haystack[at] ?? 0) < 128) return false;
  return findFrom("\\A\\w", [haystack.subarray(at, next(haystack, at))], 0) !== undefined;
}

/**
 * Matches from the places of what follows their runs; if several follow one run, it reaches to the
 * last of them.
 */
function* withRun(haystack: Buffer, from: number, places: Iterable<readonly [number, number]>, run: Run) {
  let free = from;
  let open: { start: number; runEnd: number; end: number } | undefined;
  for (const [at, end] of places) {
    const lowest = open?.runEnd ?? free;
    let start = at;
    while (start > lowest && run.characters[haystack[start - 1] ?? 0]) start -= 1;
    if (open && start === lowest) {
      open = { start: open.start, runEnd: at, end };
      continue;
    }
    if (open) yield [open.start, open.end] as const;
    free = open?.end ?? free;
    start = Math.max(start, free);
    open = at - start < run.least ? undefined : { start, runEnd: at, end };
  }
  if (open) yield [open.start, open.end] as const;
}
