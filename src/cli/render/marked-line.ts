import { inLine } from "../../platform/visible.ts";
import type { Output } from "./terminal.ts";

/** A half-open range of a line, UTF-16 units. */
export type Mark = readonly [start: number, end: number];

/** Units shown before the first mark of a line that is cut. */
const LEAD_UNITS = 60;

/** A line with its marks painted. One of more than `most` units is cut around the first mark, with `…` for what is left out. */
export function markedLine(
  line: string,
  marks: readonly Mark[],
  most: number,
  { paint }: Pick<Output, "paint">,
): string {
  const first = marks[0]?.[0] ?? 0;
  const from = line.length <= most || first <= Math.max(0, most - LEAD_UNITS) ? 0 : Math.max(0, first - LEAD_UNITS);
  const to = Math.min(line.length, from + most);
  const shown: string[] = [];
  const show = (start: number, end: number, isMarked: boolean) => {
    const text = inLine(line.slice(start, end).toWellFormed());
    shown.push(isMarked ? paint(text, ["bold", "red"]) : paint(text));
  };
  let at = from;
  for (const [start, end] of marks) {
    if (start < at || start >= to) continue;
    show(at, start, false);
    at = Math.min(end, to);
    show(start, at, true);
  }
  show(at, to, false);
  return `${from > 0 ? "…" : ""}${shown.join("")}${to < line.length ? "…" : ""}`;
}
