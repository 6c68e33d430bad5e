import { isAscii } from "node:buffer";

/** A pattern for text that is ASCII, in which native RegExp finds the engine's matches in linear time. */
export type NativePattern = NonNullable<ReturnType<typeof nativePattern>>;

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const CLASS = String.raw`\[((?:\\x\{\w+\}-?)+)\]`;
/** One character, or a repetition of one that is not lazy. */
const ITEM = new RegExp(String.raw`${CLASS}|\(\?:${CLASS}\)\{([1-4]),(\d*)\}(?!\?)`, "g");
const MOST_ITEMS = 16;

/**
 * The pattern if it is a sequence of repeated characters on which RegExp is quick: what is next to a repetition has none of its
 * characters, so going back fails at once, and a run of them is only entered at its beginning.
 *
 * @param printed by `printExpression`
 */
export function nativePattern(printed: string) {
  const found = Array.from(printed.matchAll(ITEM));
  if (printed.replace(ITEM, "") !== "" || found.length === 0 || found.length > MOST_ITEMS) return undefined;
  const items = found.map(([, one = "", many = one, min = "1", max = min]) => {
    const character = new RegExp(`[${many.replaceAll("x", "u")}]`, "u");
    return { set: ASCII.filter((one) => character.test(one)), min, max };
  });
  const isApart = (at: number, other: number) =>
    items[at]?.set.every((one) => items[other]?.set.includes(one) === false);
  const isQuick = items.every(
    ({ min, max }, at) => min === max || at === items.length - 1 || (isApart(at, at - 1) && isApart(at, at + 1)),
  );
  /** Those that matches consist of. */
  const inside = ASCII.map((one) => items.some(({ set }) => set.includes(one)));
  if (!isQuick || !inside.includes(false)) return undefined;
  const source = items.map(({ set, min, max }) => `[${set.join("").replace(/[\\\]^-]/g, "\\$&")}]{${min},${max}}`);
  return { regex: new RegExp(source.join(""), "g"), inside };
}

/** Searches ASCII from a place to `end`, behind a character that no match has; undefined if that would be too little. */
export function openNative(haystack: Buffer, native: NativePattern | undefined, largest: number) {
  let paused = 0;
  return (from: number) => {
    if (!native || from < paused) return undefined;
    let end = Math.min(from + largest, haystack.length);
    while (!isAscii(haystack.subarray(from, end))) end = (from + end) >> 1;
    const asciiEnd = end;
    if (end < haystack.length) while (end > from && native.inside[haystack[end - 1] ?? 0]) end -= 1;
    if (end - from <= largest / 512) {
      paused = asciiEnd;
      return undefined;
    }
    const found = haystack.toString("latin1", from, end).matchAll(native.regex);
    return { matches: found.map(({ 0: { length }, index }) => [from + index, from + index + length] as const), end };
  };
}
