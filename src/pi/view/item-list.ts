import { fromHost } from "../host-functions.ts";
import type { Item } from "./item.ts";
import type { Paint } from "./paint.ts";

/** Items of which one is chosen, and some may be shown alone. */
export function openItemList(items: readonly Item[], paint: Paint) {
  let words = "";
  let shown = items;
  let cursor = 0;
  let top = 0;

  function rowOf({ depth, style, text, whole }: Item, isChosen: boolean, width: number): string {
    const mark = isChosen ? paint.fg("accent", "›") : " ";
    const line = fromHost("pi-tui", "truncateToWidth")(`${"  ".repeat(depth)}${text}`, Math.max(1, width - 2), "…");
    const painted = style === "heading" ? paint.bold(line) : paint.fg(COLOURS[style], line);
    return `${mark} ${isChosen && whole ? paint.bold(painted) : painted}`;
  }

  return {
    words: () => words,
    /** Shows those that have all of these words; all for no words. */
    filter(wanted: string): void {
      words = wanted;
      const all = words.toLowerCase().split(/\s+/);
      const holds = (text: string) => all.every((word) => text.toLowerCase().includes(word));
      shown = words === "" ? items : items.filter(({ style, text }) => style !== "heading" && holds(text));
      cursor = 0;
    },
    moveBy(steps: number): void {
      cursor = Math.max(0, Math.min(cursor + steps, shown.length - 1));
    },
    chosen: (): Item | undefined => shown[cursor],
    lines(width: number, rows: number): readonly string[] {
      if (shown.length === 0) return [paint.fg("dim", "  nothing has these words")];
      top = Math.max(0, cursor - rows + 1, Math.min(top, cursor, shown.length - rows));
      return shown.slice(top, top + rows).map((item, at) => rowOf(item, top + at === cursor, width));
    },
    /** `3 of 120`. */
    place: () => (shown.length === 0 ? "none" : `${cursor + 1} of ${shown.length}`),
  };
}

const COLOURS = { plain: "text", good: "success", bad: "error", quiet: "dim" } as const;
