import { fromHost } from "../host-functions.ts";
import type { Item } from "./item.ts";
import { harmless } from "./texts.ts";

/** The whole of an item, which is scrolled. */
export interface ItemPage {
  scrollBy(lines: number): void;
  lines(width: number, rows: number): readonly string[];
  /** `line 3`. */
  place(): string;
}

/** More of a text is not laid out: a terminal is not a pager. */
const PAGE_UNITS = 200_000;

/** null if there is no more to say of the item than its line does. */
export function openItemPage(item: Item | undefined): ItemPage | null {
  const whole = item?.whole?.();
  if (whole === undefined) return null;
  const rest = whole.length - PAGE_UNITS;
  const more = rest > 0 ? `\n\n… ${rest.toLocaleString("en-US")} more characters` : "";
  const text = harmless(whole.slice(0, PAGE_UNITS)) + more;
  let top = 0;
  let laid: { readonly width: number; readonly lines: readonly string[] } | null = null;
  return {
    scrollBy(lines) {
      top = Math.max(0, top + lines);
    },
    lines(width, rows) {
      if (laid?.width !== width) laid = { width, lines: linesOf(text, width) };
      top = Math.max(0, Math.min(top, laid.lines.length - rows));
      return laid.lines.slice(top, top + rows);
    },
    place: () =>
      `line ${(top + 1).toLocaleString("en-US")}${laid ? ` of ${laid.lines.length.toLocaleString("en-US")}` : ""}`,
  };
}

function linesOf(text: string, width: number): readonly string[] {
  const wrap = fromHost("pi-tui", "wrapTextWithAnsi");
  return text.split("\n").flatMap((line) => wrap(line, width));
}
