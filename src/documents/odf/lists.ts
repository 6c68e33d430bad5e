import { boundedNumber, type Counting, counting } from "../labels.ts";
import type { Attributes } from "../markup.ts";
import type { BlockKind } from "../office.ts";
import type { Frame } from "./story.ts";
import { levelIn, levelOf, type OdfStyles, styleOf } from "./styles.ts";

/** The numbers of a list, and of those that continue it. */
interface Count {
  readonly items: Counting;
  /** True until the first item of a list that continues: the lists in it continue as well. */
  goesOn: boolean;
}

interface Item {
  readonly style: string | undefined;
  readonly start: number | undefined;
  /** Only its first paragraph has the label. */
  isLabelled: boolean;
}

/** A list that is open. */
export interface OpenList {
  readonly count: Count;
  readonly style: string | undefined;
  /** The first level is 0. */
  readonly level: number;
  item?: Item;
}

/** The lists of a document. */
export interface OdfLists {
  readonly styles: OdfStyles;
  /** The counts of lists by their ids, and that of headings. */
  readonly counts: Map<string, Count>;
  readonly headings: Count;
  /** Told of the format of a number that is not known. */
  lose(format: string): void;
}

/** Begins without lists. */
export function openLists(styles: OdfStyles, lose: OdfLists["lose"]): OdfLists {
  return { styles, counts: new Map(), headings: { items: counting(), goesOn: true }, lose };
}

/** Opens a list in a frame. @param goesOn true if it counts on from the list before it that has its style */
export function openList(lists: OdfLists, frame: Frame, given: Attributes, goesOn: boolean): void {
  const above = frame.lists.at(-1);
  const style = given["text:style-name"] ?? above?.style;
  if (above) {
    const { count, item, level } = above;
    // A paragraph behind the list in an item has no label.
    if (item) item.isLabelled = true;
    if (!goesOn && !count.goesOn) count.items.forget(level + 1);
    frame.lists.push({ count, style, level: level + 1 });
  } else {
    const { last } = frame;
    const before = goesOn && last && isAlike(lists.styles, last.style, style) ? last.count : undefined;
    frame.last = { count: countFor(lists, given, style, before), style, level: 0 };
    frame.lists.push(frame.last);
  }
}

/** True if the first levels of two lists look the same: slides have one style for each list, and show them as one. */
function isAlike(styles: OdfStyles, style = "", other = ""): boolean {
  const first = (name: string) => JSON.stringify(levelOf(styles, name, 0));
  return style === other || first(style) === first(other);
}

/** The count of a list that lies in no other one. */
function countFor(lists: OdfLists, given: Attributes, style: string | undefined, before: Count | undefined): Count {
  const { styles, counts, headings } = lists;
  const named = style === styles.outline ? headings : counts.get(given["text:continue-list"] ?? "");
  const known = named ?? before;
  const count = known ?? { items: counting(), goesOn: false };
  count.goesOn = known !== undefined;
  const id = given["xml:id"];
  if (id !== undefined) counts.set(id, count);
  return count;
}

/** Begins an item. The text of a header has no label. */
export function beginItem({ lists }: Frame, given: Attributes, isHeader: boolean): void {
  const list = lists.at(-1);
  const style = given["text:style-override"] ?? list?.style;
  if (list) list.item = { style, start: startIn(given), isLabelled: isHeader };
}

/** The label of a paragraph, and the level of its item; undefined if it is in none. */
export function labelIn(lists: OdfLists, frame: Frame, paragraphStyle: string | undefined): BlockKind | undefined {
  const list = frame.lists.at(-1);
  if (!list?.item) return undefined;
  const { item, level, count } = list;
  if (item.isLabelled) return { level };
  item.isLabelled = true;
  const style = item.style ?? styleOf(lists.styles, "paragraph", paragraphStyle).list ?? "";
  return next(lists, count, style, level, item.start);
}

/** The label of a heading that is in no list. */
export function headingLabel(lists: OdfLists, given: Attributes): BlockKind {
  const { styles, headings } = lists;
  const level = levelIn(given["text:outline-level"]);
  const restarts = given["text:restart-numbering"] === "true";
  if (restarts) headings.items.forget(level);
  return next(lists, headings, styles.outline, level, restarts ? startIn(given) : undefined);
}

function next({ styles, lose }: OdfLists, count: Count, style: string, level: number, start?: number): BlockKind {
  const { unknown } = levelOf(styles, style, level);
  if (unknown !== undefined) lose(unknown);
  count.goesOn = false;
  return { label: count.items.next(level, (at) => levelOf(styles, style, at), start), level };
}

function startIn(given: Attributes): number | undefined {
  const start = given["text:start-value"];
  return start === undefined ? undefined : boundedNumber(start, 1);
}
