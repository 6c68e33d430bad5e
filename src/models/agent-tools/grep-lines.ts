import { type FindPattern, find, type Pause, textFromString } from "../../context/index.ts";
import { type Line, linesOf } from "./output.ts";

/** A line that matches; `at` is where its match begins (UTF-16 units of the text). */
export interface MatchedLine extends Line {
  readonly at: number;
}

/** A longer line is shown in part. */
export const LINE_UNITS = 500;
const UNITS_BEFORE_MATCH = 100;
/** Searching one line alone takes about as long as reading this much. */
const MAX_CANDIDATES = 1_000_000;
const LINE_COST_BYTES = 16 * 1024;

/**
 * The first `limit` lines in which the pattern matches as if each line were a text of its own.
 * `rest` is the pattern with the rest of the line. A match of it that can span lines only tells
 * which lines to try: every line that matches alone is touched by one.
 */
export async function matchedLines(
  text: string,
  { rest, alone }: { rest: FindPattern; alone: FindPattern },
  limit: number,
  pause: Pause,
): Promise<MatchedLine[]> {
  const body = text.endsWith("\n") ? text.slice(0, -1) : text;
  if (text === "") return [];
  const isExact = rest.lineLocal;
  const { matches } = find(textFromString(body), rest, isExact ? limit : MAX_CANDIDATES);
  const matched: MatchedLine[] = [];
  const lines = linesOf(text);
  let line = lines.next().value;
  for (const [start, end] of matches) {
    while (line && line.end < start) line = lines.next().value;
    while (line && line.start <= end && matched.length < limit) {
      if (matched.at(-1)?.number !== line.number) {
        const at = isExact ? start : await matchAlone(body.slice(line.start, line.end), alone, pause);
        if (at !== undefined) matched.push({ ...line, at: isExact ? at : line.start + at });
      }
      if (line.end >= end) break;
      line = lines.next().value;
    }
    if (matched.length === limit) break;
  }
  return matched;
}

async function matchAlone(line: string, pattern: FindPattern, pause: Pause): Promise<number | undefined> {
  await pause(LINE_COST_BYTES + line.length);
  return find(textFromString(line), pattern, 1).matches[0]?.[0];
}

/**
 * The lines as grep prints them, with `context` lines around each; `cut`: some are shown in part.
 */
export function blocksOf(
  name: string,
  text: string,
  lines: readonly MatchedLine[],
  context: number,
): { block: string[]; cut: boolean } {
  const block: string[] = [];
  const matched = new Map(lines.map((line) => [line.number, line]));
  let cut = false;
  let last = 0;
  let next = 0;
  for (const line of linesOf(text)) {
    while (next < lines.length && (lines[next]?.number ?? 0) + context < line.number) next += 1;
    const nearest = lines[next];
    if (nearest === undefined) break;
    if (nearest.number - context > line.number) continue;
    if (context > 0 && last > 0 && last < line.number - 1) block.push("--");
    last = line.number;
    const at = matched.get(line.number)?.at;
    const shown = excerpt(text.slice(line.start, line.end).replace(/\r$/, ""), (at ?? line.start) - line.start);
    cut ||= shown.cut;
    block.push(at === undefined ? `${name}-${line.number}- ${shown.text}` : `${name}:${line.number}: ${shown.text}`);
  }
  return { block, cut };
}

function excerpt(line: string, at: number): { text: string; cut: boolean } {
  if (line.length <= LINE_UNITS) return { text: line, cut: false };
  const start = Math.max(0, Math.min(at - UNITS_BEFORE_MATCH, line.length - LINE_UNITS));
  const end = start + LINE_UNITS;
  const part = line.slice(start, end).toWellFormed();
  return { text: `${start > 0 ? "... " : ""}${part}${end < line.length ? "... [truncated]" : ""}`, cut: true };
}
