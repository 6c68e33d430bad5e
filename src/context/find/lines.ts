import { findAll } from "./engine.ts";
import type { NextLiteral } from "./literals.ts";
import type { FindPattern } from "./pattern.ts";
import { LINE_FEED } from "./window.ts";

/** Bytes that the engine reads in the time in which a line is looked for. */
const LINE_COST = 60;

/**
 * Searches the lines with a literal, many at once and as if there were no others: neither a match nor an assertion in one line
 * depends on another line. The result is undefined where that is not so, or does not pay; else a line begins at `end`.
 *
 * @param most bytes given to the engine at once
 */
export function openLines(
  haystack: Buffer,
  { source, required, lineLocal }: FindPattern,
  next: NextLiteral,
  most: number,
) {
  let paused = required && lineLocal ? 0 : haystack.length;
  let pause = most;
  return (from: number) => {
    if (from < paused || (from > 0 && haystack[from - 1] !== LINE_FEED)) return undefined;
    const { runs, cost, end } = gather(haystack, next, from, most);
    if (end === from) return undefined;
    // Where it does not pay, windows are tried for a while, and longer each time.
    pause = cost > end - from ? 2 * pause : most;
    if (pause > most) paused = end + pause;
    const parts = runs.map((run) => haystack.subarray(run.start, run.end));
    const matches = findAll(source, parts).map((match): [start: number, end: number] => {
      for (let run = runs[0]; run && match.start + run.shift >= run.end; run = runs[0]) runs.shift();
      const shift = runs[0]?.shift ?? 0;
      return [match.start + shift, match.end + shift];
    });
    return { matches, end };
  };
}

/** Lines as runs of adjacent ones; `shift` leads from a byte of all runs in one to its place in the haystack. */
function gather(haystack: Buffer, next: NextLiteral, from: number, most: number) {
  const runs: { start: number; end: number; shift: number }[] = [];
  let bytes = 0;
  let cost = 0;
  for (let end = from; ; cost += LINE_COST) {
    const at = next(end);
    if (at === haystack.length) return { runs, cost: cost + bytes, end: at };
    const start = haystack.lastIndexOf(LINE_FEED, at) + 1;
    end = haystack.indexOf(LINE_FEED, at) + 1 || haystack.length;
    if (bytes + end - start > most) return { runs, cost: cost + bytes, end: start };
    const last = runs.at(-1);
    if (last?.end === start) last.end = end;
    else runs.push({ start, end, shift: start - bytes });
    bytes += end - start;
  }
}
