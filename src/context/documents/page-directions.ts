import type { Shift } from "./labels.ts";

/** Words or a space in a line. */
export interface Token {
  readonly said: string;
  readonly shift: Shift;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

export const isRightToLeft = (said: string) => RIGHT_TO_LEFT.test(said);

/** True if more of the words are written from the right than from the left. */
export function isFromRight(words: readonly { readonly said: string }[]): boolean {
  let more = 0;
  for (const { said } of words) {
    if (isRightToLeft(said)) more += said.length;
    else if (/\p{L}/u.test(said)) more -= said.length;
  }
  return more > 0;
}

/**
 * Puts words that stand from left to right into the order in which they are read, as the bidirectional algorithm of Unicode
 * would have placed them. The letters of a word are in their order already.
 */
export function inReadingOrder(words: readonly Token[], isPageFromRight: boolean): Token[] {
  if (!words.some(({ said }) => isRightToLeft(said))) return [...words];
  const tokens = words.flatMap(partsOf);
  const letters = tokens.map(classOf).filter((one) => one === "R" || one === "L");
  // A line that begins and ends with the same direction has it.
  const isLineFromRight = letters[0] === letters.at(-1) ? letters[0] === "R" : isPageFromRight;
  if (isLineFromRight) return fromRight(tokens);
  return turnedWhere(/R(?:[^L]*R)?/g, tokens, fromRight, (token) => token);
}

/** The words, numbers and signs of what is written from the left. */
function partsOf(token: Token): Token[] {
  if (isRightToLeft(token.said)) return [token];
  const parts = token.said.split(/([^\p{L}\p{M}\p{N}%$€£¥°#]+)/u);
  return parts.filter((said) => said !== "").map((said) => ({ ...token, said }));
}

/** Reads tokens from the right. Words from the left keep their order, and so does a number such as `1,234.50`. */
function fromRight(tokens: readonly Token[]): Token[] {
  const reversed = (run: readonly Token[]) => run.toReversed();
  const numbers = (run: readonly Token[]) => turnedWhere(/D(?:\.D)*/g, run, reversed, mirrored);
  const words = (run: readonly Token[]) => (run.some((token) => classOf(token) === "L") ? reversed(run) : numbers(run));
  return turnedWhere(/[LD](?:[^R]*[LD])?/g, reversed(tokens), words, mirrored);
}

/** Turns the runs of tokens whose classes match a pattern, and each of the others by itself. */
function turnedWhere(
  pattern: RegExp,
  tokens: readonly Token[],
  turn: (run: readonly Token[]) => readonly Token[],
  other: (token: Token) => Token,
): Token[] {
  const turned: (readonly Token[])[] = [];
  let done = 0;
  for (const { index, 0: run } of tokens.map(classOf).join("").matchAll(pattern)) {
    turned.push(tokens.slice(done, index).map(other), turn(tokens.slice(index, index + run.length)));
    done = index + run.length;
  }
  return [...turned.flat(), ...tokens.slice(done).map(other)];
}

/** One letter for each token: from the right, from the left, digits, a sign in a number, or other signs. */
function classOf({ said }: Token): string {
  if (isRightToLeft(said)) return "R";
  if (/\p{L}/u.test(said)) return "L";
  if (/\p{N}/u.test(said)) return "D";
  return /^[.,:/+-]$/.test(said) ? "." : " ";
}

const SIGNS = "()[]{}<>«»";

/** Signs as they are meant between words from the right: their forms on the page are mirrored. */
function mirrored(token: Token): Token {
  const signs = isRightToLeft(token.said) ? token.said : [...token.said].toReversed().join("");
  const said = signs.replace(/[()[\]{}<>«»]/g, (sign) => SIGNS.charAt(SIGNS.indexOf(sign) ^ 1));
  return { ...token, said };
}
