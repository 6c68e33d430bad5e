const RIGHT_TO_LEFT = /(?!\p{N})[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;
/** A number from its end, with a percent sign that stands behind it. */
const NUMBER = /P?D+(?:\.D+)*/g;

export const isRightToLeft = (said: string) => RIGHT_TO_LEFT.test(said);

/** True if more of the letters are written from the right than from the left. */
export function isFromRight(said: string): boolean {
  const letters = said.match(/\p{L}/gu) ?? [];
  return letters.filter(isRightToLeft).length > letters.length / 2;
}

/**
 * Puts a line that was written from left to right, as on the page, into the order in which it is read, as the
 * bidirectional algorithm of Unicode would have placed it; and a line that is read into the order on the page.
 */
export function inReadingOrder(said: string, isPageFromRight: boolean): string {
  if (!isRightToLeft(said)) return said;
  const letters = said.match(/\p{L}/gu) ?? [];
  const isFirst = isRightToLeft(letters.at(0) ?? "");
  const isLast = isRightToLeft(letters.at(-1) ?? "");
  // A line that begins and ends with the same direction has it.
  const isLineFromRight = isFirst === isLast ? isFirst : isPageFromRight;
  return isLineFromRight ? turned(said) : runsOf(said, /R(?:[^L]*R)?/g, turned);
}

/** Turns words, except those within that go from the left, and numbers such as `1,234.50`. */
function turned(said: string): string {
  return runsOf(reversed(said), /P?[LD](?:[^R]*[LD])?/g, (run) =>
    /\p{L}/u.test(run) ? reversed(run) : runsOf(run, NUMBER, reversed),
  );
}

const SIGNS = "()[]{}<>«»";

/** Letters with their marks from the last to the first. Brackets show to the other side then. */
function reversed(said: string): string {
  const letters = said.match(/.\p{M}*/gsu) ?? [];
  return letters
    .toReversed()
    .join("")
    .replace(/[()[\]{}<>«»]/g, (sign) => SIGNS.charAt(SIGNS.indexOf(sign) ^ 1));
}

/** Changes the runs of characters whose classes match a pattern. */
function runsOf(said: string, pattern: RegExp, change: (run: string) => string): string {
  const classes = said.replace(/./gsu, (sign) => classOf(sign).repeat(sign.length));
  let changed = "";
  let done = 0;
  for (const { index, 0: run } of classes.matchAll(pattern)) {
    changed += said.slice(done, index) + change(said.slice(index, index + run.length));
    done = index + run.length;
  }
  return changed + said.slice(done);
}

/** One letter for each character: from the right, from the left, digits, a sign in a number, or others. */
function classOf(sign: string): string {
  if (isRightToLeft(sign)) return "R";
  if (/\p{L}/u.test(sign)) return "L";
  if (/[\p{N}$€£¥#^_]/u.test(sign)) return "D";
  if (/[%°]/.test(sign)) return "P";
  return /[.,:/+-]/.test(sign) ? "." : " ";
}
