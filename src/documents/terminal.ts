import { stripVTControlCharacters } from "node:util";

/** The text that a terminal shows of what was printed on it: each line as it was written last, without colors. */
export function onTerminal(printed: string): string {
  if (!MOVES.test(printed)) return printed;
  const lines = printed.split("\n").map((line) => (REWRITES.test(line) ? rewritten(line) : line));
  return stripVTControlCharacters(lines.join("\n"));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: codes of terminals begin with one.
const MOVES = /[\r\b\u001b]/;

/** A return to the beginning of a line, a step back, or a deletion. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: codes of terminals begin with one.
const REWRITES = /[\r\b]|\u001b\[\d?K/;

/** A deletion, another code, what moves in the line, or words. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: codes of terminals begin with one.
const PIECES = /\u001b\[(\d?)K|\u001b(?:\[[\d;]*[A-Za-z])?|[\r\b]|[^\r\b\u001b]+/g;

/** The last state of a line. */
function rewritten(line: string): string {
  const cells: string[] = [];
  let at = 0;
  for (const [piece, deleted] of line.matchAll(PIECES)) {
    if (piece === "\r") at = 0;
    else if (piece === "\b") at = Math.max(0, at - 1);
    else if (deleted !== undefined) {
      cells.fill(" ", deleted === "1" || deleted === "2" ? 0 : at, deleted === "1" ? at : cells.length);
    } else if (!piece.startsWith("\u001b")) for (const sign of piece) cells[at++] = sign;
  }
  return cells.join("").trimEnd();
}
