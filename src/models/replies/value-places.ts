/** A part of a text: from `start` to before `end`, UTF-16 units. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

/** Parts of a text in which a value may stand, in the order of their ends. */
interface Places {
  readonly places: readonly Place[];
  /** True if the text ends within a value. */
  readonly isCut: boolean;
}

/** The last so many blocks, and the last so many brackets, are looked at. */
const MOST = 20;

/**
 * The fenced blocks of a text, and its balanced brackets that stand in no others.
 * @param opening brackets that the value may begin with: `{`, `[` or both
 */
export function placesIn(text: string, opening: string): Places {
  const blocks = [...text.matchAll(FENCED)].map(({ index, 1: head = "", 2: block = "" }) => {
    const start = index + head.length;
    return { start, end: start + block.length };
  });
  const { places, isCut } = bracketsIn(text, opening);
  const all = [...blocks.slice(-MOST), ...places.slice(-MOST)];
  return { places: all.sort((one, other) => one.end - other.end), isCut };
}

/** A fence, and what stands behind it up to the next one. */
const FENCED = /((?:```|~~~)[\w-]{0,20}[ \t]*\r?\n)(.*?)(?:```|~~~|$)/gs;

function bracketsIn(text: string, opening: string): Places {
  const places: Place[] = [];
  if (opening === "") return { places, isCut: false };
  const start = /[{[]/g;
  let unclosed = 0;
  for (let match = start.exec(text); match !== null && unclosed < MOST; match = start.exec(text)) {
    const end = balancedEnd(text, match.index);
    if (end !== undefined) {
      if (opening.includes(match[0])) places.push({ start: match.index, end });
      start.lastIndex = end;
    } else {
      const next = text.slice(start.lastIndex).search(/[{[]/);
      const piece = text.slice(start.lastIndex, next < 0 ? undefined : start.lastIndex + next);
      if (isJsonSoFar(piece)) return { places, isCut: true };
      unclosed += 1;
    }
  }
  return { places, isCut: false };
}

/**
 * True for a bracket that nothing but JSON follows, as far as the text goes. Other brackets belong
 * to its words.
 */
function isJsonSoFar(piece: string): boolean {
  const rest = piece.replace(/"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/gs, "").replace(/[\w$-]{1,100}(?=\s{0,9}:)/g, "");
  return !/[^\s\d.,:{}[\]+-]/.test(rest.replace(/\b(?:true|false|null)\b/g, ""));
}

/** The match of a sticky pattern that begins at a place; null: none does. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/**
 * The place behind the bracket that closes the one at `start`; brackets in strings do not count.
 */
export function balancedEnd(text: string, start: number): number | undefined {
  let depth = 0;
  let token = /"(?:[^"\\]|\\.)*("?)|[{}[\]]/gs;
  token.lastIndex = start;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[1] === "") {
      // No quote is closed from here on, and to try each takes the square of the text.
      token = /[{}[\]]/g;
      token.lastIndex = match.index + 1;
    } else if (match[0] === "{" || match[0] === "[") depth += 1;
    else if (match[0] === "}" || match[0] === "]") depth -= 1;
    if (depth === 0) return token.lastIndex;
  }
  return undefined;
}
