import { BULLET, type NumberFormat, numeral } from "../labels.ts";
import { type Attributes, parse } from "../markup.ts";

/** A list of HTML that is open. */
export interface HtmlList {
  /** The number of its next item. */
  next: number;
  readonly step: 1 | -1;
  /** null: its items have no numbers. */
  readonly format: NumberFormat | null;
}

/** Forms of numbers by their names in styles; null: there are none. */
const STYLES: ReadonlyMap<string, NumberFormat | null> = new Map(
  Object.entries({
    decimal: "1",
    "decimal-leading-zero": "01",
    "lower-alpha": "a",
    "lower-latin": "a",
    "lower-roman": "i",
    "upper-alpha": "A",
    "upper-latin": "A",
    "upper-roman": "I",
    none: null,
    disc: null,
    circle: null,
    square: null,
  }),
);
const TYPES: ReadonlyMap<string, NumberFormat> = new Map(Object.entries({ a: "a", A: "A", i: "i", I: "I" }));

/** Elements that are lists. */
export const LISTS: ReadonlySet<string> = new Set(["ul", "ol", "menu", "dir"]);

/**
 * The list that an element begins.
 *
 * @param items the number of its items
 * @param lose told of numbers in another form
 */
export function listOf(
  name: string,
  { start, type = "", reversed, style = "" }: Attributes,
  items: number,
  lose: (style: string) => void,
): HtmlList {
  const [, said = ""] = /list-style(?:-type)?\s*:([^;]*)/.exec(style.toLowerCase()) ?? [];
  const named = said.split(/[\s!]+/).find((word) => !NO_FORM.test(word)) ?? "";
  const format = STYLES.get(named);
  const isCounted = name === "ol";
  if (isCounted && format === undefined && named !== "") lose(named);
  return {
    next: whole(start) ?? (reversed === undefined ? 1 : items),
    step: reversed === undefined ? 1 : -1,
    format: isCounted ? (format === undefined ? (TYPES.get(type) ?? "1") : format) : null,
  };
}

/** Words of a list's style that name no form. */
const NO_FORM = /^(?:$|inside|outside|inherit|initial|unset|revert|url|important)/;

/** The label of the next item of a list. @param value the number that the item gives itself */
export function labelIn(list: HtmlList | undefined, value: string | undefined): string {
  if (!list || list.format === null) return BULLET;
  const number = whole(value) ?? list.next;
  list.next = number + list.step;
  return `${numeral(number, list.format)}.`;
}

/**
 * The number of items of each list, in the order of the page. Lists that count down begin with it.
 */
export function itemsOfLists(source: string): number[] {
  const items: number[] = [];
  const open: number[] = [];
  parse(source, false, {
    onopentag(name) {
      const last = open.at(-1);
      if (name === "li" && last !== undefined) items[last] = (items[last] ?? 0) + 1;
      if (LISTS.has(name)) open.push(items.push(0) - 1);
    },
    onclosetag(name) {
      if (LISTS.has(name)) open.pop();
    },
  });
  return items;
}

/** The whole number that an attribute gives. */
function whole(given: string | undefined): number | undefined {
  const number = Number.parseInt(given ?? "", 10);
  return Number.isNaN(number) ? undefined : Math.max(Math.min(number, MOST), -MOST);
}

const MOST = 2 ** 31 - 1;
