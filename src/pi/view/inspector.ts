import type { KeyId } from "@mariozechner/pi-tui";
import { fromHost, hostHas } from "../host.ts";
import type { Item } from "./item.ts";
import { harmless, type Paint } from "./texts.ts";

/** The part of its terminal that an inspector needs. */
interface InspectorPlace {
  /** Rows that it may take. */
  rows(): number;
  redraw(): void;
  close(): void;
}

/** Rows around the items: two rules, title, place, keys. */
const FRAME_ROWS = 5;
const FEWEST_ROWS = 3;

/** Items that are moved through, filtered, and looked into. @throws RlmError `host_incompatible` */
export function openInspector(title: string, items: readonly Item[], paint: Paint, place: InspectorPlace) {
  const truncate = fromHost("pi-tui", "truncateToWidth");
  const list = openItemList(items, paint);
  let isTyping = false;
  let page: ItemPage | null = null;

  const room = () => Math.max(FEWEST_ROWS, place.rows() - FRAME_ROWS);

  function type(data: string): void {
    if (isKey(data, "enter")) isTyping = false;
    else if (isKey(data, "escape")) {
      isTyping = false;
      list.filter("");
    } else if (isKey(data, "backspace")) list.filter(list.words().slice(0, -1));
    else list.filter(list.words() + printable(data));
  }

  function act(data: string): void {
    const steps = stepsOf(data, room());
    if (steps !== null) page ? page.scrollBy(steps) : list.moveBy(steps);
    else if (LEAVES.some((key) => isKey(data, key))) leave();
    else if (isKey(data, "left") || isKey(data, "backspace")) page = null;
    else if (page) return;
    else if (isKey(data, "enter") || isKey(data, "right")) page = openItemPage(list.chosen());
    else if (isKey(data, "/")) isTyping = true;
  }

  /** One level up: from a text to the items, from some items to all, then out. */
  function leave(): void {
    if (page) page = null;
    else if (list.words() !== "") list.filter("");
    else place.close();
  }

  function placeLine(): string {
    if (page) return page.place();
    const words = list.words();
    return words === "" && !isTyping ? list.place() : `${list.place()} · /${words}${isTyping ? "▏" : ""}`;
  }

  return {
    render(width: number): string[] {
      const body = page ? page.lines(width, room()) : list.lines(width, room());
      // It stays as high as it was opened, whatever a filter leaves.
      const rest = Array.from({ length: Math.max(0, Math.min(room(), items.length) - body.length) }, () => "");
      const keys = isTyping ? TYPING_KEYS : page ? PAGE_KEYS : LIST_KEYS;
      const rule = paint.fg("borderMuted", "─".repeat(width));
      const head = [rule, paint.bold(paint.fg("accent", title))];
      const foot = [paint.fg("dim", placeLine()), paint.fg("dim", keys), rule];
      return [...head, ...body, ...rest, ...foot].map((line) => truncate(line, width, "…", true));
    },
    handleInput(data: string): void {
      if (isTyping) type(data);
      else act(data);
      place.redraw();
    },
    invalidate() {},
  };
}

const LIST_KEYS = "↑↓ PgUp PgDn Home End · Enter opens · / filters · Esc closes";
const PAGE_KEYS = "↑↓ PgUp PgDn Home End · Esc goes back";
const TYPING_KEYS = "type words · Enter keeps them · Esc drops them";
const LEAVES = ["escape", "q", "ctrl+c"] as const;

/** By how much a key moves; null if it does not. */
function stepsOf(data: string, rows: number): number | null {
  if (isKey(data, "up") || isKey(data, "k")) return -1;
  if (isKey(data, "down") || isKey(data, "j")) return 1;
  if (isKey(data, "pageUp")) return -rows;
  if (isKey(data, "pageDown") || isKey(data, "space")) return rows;
  if (isKey(data, "home") || isKey(data, "g")) return Number.MIN_SAFE_INTEGER;
  return isKey(data, "end") || isKey(data, "shift+g") ? Number.MAX_SAFE_INTEGER : null;
}

function isKey(data: string, key: KeyId): boolean {
  return fromHost("pi-tui", "matchesKey")(data, key);
}

/** The characters that a key types; a paste brings several. */
function printable(data: string): string {
  const decoded = hostHas("pi-tui", ["decodeKittyPrintable"]) && fromHost("pi-tui", "decodeKittyPrintable")(data);
  const typed = decoded || data;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  return /[\x00-\x1f\x7f]/.test(typed) ? "" : typed;
}

/** More of a text is not laid out: a terminal is not a pager. */
const PAGE_UNITS = 200_000;

/** The whole of an item, which is scrolled. */
interface ItemPage {
  scrollBy(lines: number): void;
  lines(width: number, rows: number): readonly string[];
  /** `line 3 of 40`. */
  place(): string;
}

/** `null` if there is no more to say of the item than its line does. */
function openItemPage(item: Item | undefined): ItemPage | null {
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

/** Items of which one is chosen, and some may be shown alone. */
function openItemList(items: readonly Item[], paint: Paint) {
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
