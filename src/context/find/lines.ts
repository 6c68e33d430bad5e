import { findAll } from "./engine.ts";
import type { NextLiteral } from "./literals.ts";
import type { FindPattern } from "./pattern.ts";
import { afterLineFeed, LINE_FEED } from "./window.ts";

/** Bytes that the engine reads in the time in which a line is looked for. */
const LINE_COST = 60;
/** Native RegExp reads as many bytes while the engine reads one. */
const NATIVE_SPEED = 5;

/**
 * Searches the lines with a literal, many at once and as if there were no others: neither a match nor an assertion in one line
 * depends on another line. The result is undefined where that is not so, or does not pay; else a line begins at `end`. Lines
 * `within` so many bytes are searched even if it does not pay.
 *
 * @param most bytes given to the engine at once
 */
export function openLines(
  haystack: Buffer,
  { source, required, lineLocal, native }: FindPattern,
  next: NextLiteral,
  most: number,
) {
  const isPossible = required && lineLocal;
  const [speed, size] = native ? [NATIVE_SPEED, most / 8] : [1, most];
  let paused = 0;
  let pause = most;
  return (from: number, within?: number) => {
    const isPaused = within === undefined && from < paused;
    if (!isPossible || isPaused || (from > 0 && haystack[from - 1] !== LINE_FEED)) return undefined;
    const to = within === undefined ? haystack.length : (afterLineFeed(haystack, from, from + within) ?? from);
    const { runs, cost, end } = gather(haystack.subarray(0, to), next, from, size);
    if (end === from) return undefined;
    // Where it does not pay, windows are tried for a while, and longer each time.
    if (within === undefined) {
      pause = cost * speed > end - from ? 2 * pause : most;
      if (pause > most) paused = end + pause;
    }
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
    if (at >= haystack.length) return { runs, cost: cost + bytes, end: haystack.length };
    const start = haystack.lastIndexOf(LINE_FEED, at) + 1;
    end = haystack.indexOf(LINE_FEED, at) + 1 || haystack.length;
    if (bytes + end - start > most) return { runs, cost: cost + bytes, end: start };
    const last = runs.at(-1);
    if (last?.end === start) last.end = end;
    else runs.push({ start, end, shift: start - bytes });
    bytes += end - start;
  }
}
