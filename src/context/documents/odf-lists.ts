import { boundedNumber, counting } from "./labels.ts";
import type { Attributes } from "./markup.ts";
import { levelIn, type OdfStyles } from "./odf-styles.ts";
import type { Handlers } from "./xml.ts";

const SHAPES = ["draw:text-box", "draw:custom-shape", "draw:rect", "draw:ellipse", "draw:line", "table:table-cell"];

/** The counts of a list, with which others may go on. */
interface Count {
  readonly items: ReturnType<typeof counting>;
  /** True until the first item of a list that goes on: the lists in it go on as well. */
  goesOn: boolean;
}

interface Item {
  readonly style: string | undefined;
  readonly start: number | undefined;
  /** Only its first paragraph has the label. */
  isLabelled: boolean;
}

interface OpenList {
  readonly count: Count;
  readonly style: string | undefined;
  /** The first level is 0. */
  readonly level: number;
  /** The number of open paragraphs around it. A list in a box, which lies in a paragraph, is no part of the one outside. */
  readonly within: number;
  isFresh: boolean;
  item: Item | undefined;
}

/** A label, and the level of its item. */
export interface OdfLabel {
  readonly label: string;
  readonly level: number;
}

/** The lists of a document: {@link openLists}. */
export interface OdfLists {
  readonly handlers: Handlers;
  /** The label of a paragraph; undefined if it is in no item. */
  label(style: string): OdfLabel | undefined;
  /** The label of a heading that is in no list. */
  heading(given: Attributes): OdfLabel;
}

/** Facts about the document of lists. */
interface Surroundings {
  readonly styles: OdfStyles;
  /** The number of paragraphs that are open. */
  depth(): number;
  isOnSlide(): boolean;
  /** Told of the format of a number that is not known. */
  lose(format: string): void;
}

/** Begins without lists: the handlers open them. */
export function openLists({ styles, depth, isOnSlide, lose }: Surroundings): OdfLists {
  const lists: OpenList[] = [];
  const counts = new Map<string, Count>();
  const headings: Count = { items: counting(), goesOn: true };
  let last: Pick<OpenList, "count" | "style"> | undefined;
  const next = (count: Count, style: string, level: number, start: number | undefined) => {
    const { unknown } = styles.level(style, level);
    if (unknown !== undefined) lose(unknown);
    count.goesOn = false;
    return { label: count.items.next(level, (at) => styles.level(style, at), start), level };
  };
  /** The count with which a list goes on that lies in no other one. */
  const continued = (given: Attributes, style: string | undefined): Count | undefined => {
    if (style !== undefined && style === styles.outline()) return headings;
    const named = counts.get(given["text:continue-list"] ?? "") ?? counts.get(given["xml:id"] ?? "");
    // Lists of one style in a shape of a slide are shown as one.
    const isAsked = given["text:continue-numbering"] === "true" || isOnSlide();
    return named ?? (isAsked && last?.style === style ? last?.count : undefined);
  };
  const begin = (given: Attributes, style: string | undefined): Count => {
    const before = continued(given, style);
    const count = before ?? { items: counting(), goesOn: false };
    count.goesOn = before !== undefined;
    const id = given["xml:id"];
    if (id !== undefined) counts.set(id, count);
    last = { count, style };
    return count;
  };
  const open = (given: Attributes, first = 0) => {
    const within = depth();
    const outer = lists.at(-1);
    const above = outer?.within === within ? outer : undefined;
    // A paragraph behind the list in an item has no label.
    if (above?.item) above.item.isLabelled = true;
    const style = given["text:style-name"] ?? above?.style;
    const count = above?.count ?? begin(given, style);
    const goesOn = given["text:continue-numbering"] ?? String(count.goesOn);
    const isFresh = above !== undefined && goesOn !== "true";
    lists.push({ count, style, level: above ? above.level + 1 : first, within, isFresh, item: undefined });
  };
  const close = () => lists.pop();
  const item = (given: Attributes, isHeader = false) => {
    const list = lists.at(-1);
    const style = given["text:style-override"] ?? list?.style;
    if (list) list.item = { style, start: startIn(given), isLabelled: isHeader };
  };
  // In a shape of a slide no list goes on that is outside of it.
  const shape = () => (last = undefined);
  return {
    handlers: {
      ...Object.fromEntries(SHAPES.map((name) => [name, shape])),
      "text:list": (given) => open(given),
      "/text:list": close,
      "text:list-item": (given) => item(given),
      "text:list-header": (given) => item(given, true),
      "text:numbered-paragraph"(given) {
        open({ ...given, "xml:id": given["text:list-id"] ?? "" }, levelIn(given["text:level"]));
        item(given);
      },
      "/text:numbered-paragraph": close,
    },
    label(style) {
      const list = lists.at(-1);
      const item = list?.within === depth() ? list.item : undefined;
      if (!list || !item) return undefined;
      const { count, level, isFresh } = list;
      if (item.isLabelled) return { label: "", level };
      item.isLabelled = true;
      list.isFresh = false;
      const name = item.style ?? styles.style("paragraph", style).list ?? "";
      return next(count, name, level, item.start ?? (isFresh ? styles.level(name, level).start : undefined));
    },
    heading(given) {
      const level = levelIn(given["text:outline-level"]);
      const restarts = given["text:restart-numbering"] === "true";
      const start = restarts ? (startIn(given) ?? styles.level(styles.outline(), level).start) : undefined;
      return next(headings, styles.outline(), level, start);
    },
  };
}

function startIn(given: Attributes): number | undefined {
  const start = given["text:start-value"];
  return start === undefined ? undefined : boundedNumber(start, 1);
}
