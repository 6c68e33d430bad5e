import { type Growing, withAuthor } from "../growing.ts";
import { BULLET, boundedNumber, type Counting, counting, type Shift, type Shifting, shifting } from "../labels.ts";
import type { Attributes } from "../markup.ts";
import type { BlockKind, Lines } from "../office.ts";

import { levelIn, levelOf, type OdfStyles, styleOf } from "./styles.ts";

/** Shapes that may hold paragraphs. */
export const SHAPES: readonly string[] =
  "text-box custom-shape rect circle ellipse line polyline polygon regular-polygon path connector caption measure"
    .split(" ")
    .map((name) => `draw:${name}`);

/** The look of words. */
interface Look {
  readonly shift: Shift;
  readonly font: string;
  readonly isHidden: boolean;
}

/** The look of words of which no style says anything. */
export const PLAIN: Look = { shift: "", font: "", isHidden: false };

/** A paragraph that is open, or waits for the one in which its box lies. */
interface Paragraph {
  readonly kind: BlockKind;
  said: string;
  /** The words that were put last. */
  last: string;
  /** It ends with a space, or has not begun: a further space is not seen. */
  isSpaced: boolean;
  readonly shift: Shifting;
  /** The looks of its words, and of those in spans that are open. */
  readonly looks: Look[];
}

/** Paragraphs and rows of tables in their order: those of the body, or of a cell or a note. */
interface Flow {
  /** Those that wait until no paragraph is open. A row without words is an empty line. */
  readonly waiting: (Paragraph | string)[];
  /** The number of paragraphs that are open. */
  open: number;
  /** Writes a paragraph, or a row, which has no kind. */
  readonly write: (said: string, kind?: BlockKind) => void;
}

/** Begins a flow without paragraphs. */
export const flowInto = (write: Flow["write"]): Flow => ({ waiting: [], open: 0, write });

/**
 * The place of paragraphs and lists: the body, a cell, a note, a shape, or a paragraph with a box.
 */
interface Frame {
  readonly outer: Frame | undefined;
  readonly flow: Flow;
  readonly paragraph: Paragraph | undefined;
  readonly note: Note | undefined;
  /** The lists that are open, and the last that lay in no other. */
  readonly lists: OpenList[];
  last: OpenList | undefined;
}

/** The frames and notes of a document that is read. */
export interface Story {
  frame: Frame;
  readonly notes: Note[];
  /** The numbers of notes so far that have no sign of their own. */
  readonly counts: Record<Note["kind"], number>;
}

/** Begins a document. @param write writes the paragraphs of its body */
export function openStory(write: Flow["write"]): Story {
  return { frame: framed({ flow: flowInto(write) }), notes: [], counts: { "^": 0, "^e": 0, "comment ": 0 } };
}

function framed({ flow, paragraph, note, outer }: Pick<Frame, "flow"> & Partial<Frame>): Frame {
  return { outer, flow, paragraph, note, lists: [], last: undefined };
}

/** Enters a frame. Its paragraphs belong to the flow around, unless it has one of its own. */
export function enter(story: Story, { flow = story.frame.flow, paragraph, note }: Partial<Frame> = {}): void {
  story.frame = framed({ flow, paragraph, note, outer: story.frame });
}

export function leave(story: Story): void {
  story.frame = story.frame.outer ?? story.frame;
}

export function begin(story: Story, kind: BlockKind, font = "", isHidden = false): void {
  const looks: Look[] = [{ shift: "", font, isHidden }];
  const paragraph = { kind, said: "", last: "", isSpaced: true, shift: shifting(), looks };
  const { flow } = story.frame;
  flow.waiting.push(paragraph);
  flow.open += 1;
  enter(story, { paragraph });
}

/** Takes away the words of a paragraph, and leaves out those that follow. */
export function hideParagraph(paragraph: Pick<Paragraph, "looks" | "said">): void {
  paragraph.said = "";
  for (const [at, look] of paragraph.looks.entries()) paragraph.looks[at] = { ...look, isHidden: true };
}

export function end(story: Story): void {
  leave(story);
  const { flow } = story.frame;
  flow.open -= 1;
  flush(flow);
}

/** Writes what waits, if no paragraph is open. */
function flush({ open, waiting, write }: Flow): void {
  if (open > 0) return;
  for (const piece of waiting.splice(0)) {
    if (typeof piece === "string") write(piece);
    else if (piece.said.trim() !== "" || isNumbered(piece.kind)) write(piece.said.trimEnd(), piece.kind);
  }
}

/** True if people see the paragraph although it is empty. */
const isNumbered = ({ label = "", heading }: BlockKind) => label !== "" && label !== BULLET && !heading;

/** Writes rows of tables where the story is. */
export function rowsOf(story: Story): Lines {
  const add = (row: string) => {
    const { flow } = story.frame;
    flow.waiting.push(row);
    flush(flow);
  };
  return { add, gap: () => add("") };
}

/**
 * Puts words into the paragraph that is open; false if none is. White space of several characters
 * is one space.
 */
export function put({ frame: { paragraph } }: Story, given: string, signs: (words: string, font: string) => string) {
  if (!paragraph) return false;
  const { shift = "", font = "" } = paragraph.looks.at(-1) ?? {};
  const spaced = given.replace(/[ \t\r\n]{2,}|[\t\r\n]/g, " ");
  const words = paragraph.isSpaced && spaced.startsWith(" ") ? spaced.slice(1) : spaced;
  if (words !== "") add(paragraph, paragraph.shift(paragraph.last, signs(words, font), shift), words.endsWith(" "));
  return true;
}

/** Puts words, spaces, tabs or line breaks as they are. If no paragraph is open they are one. */
export function putPlain(story: Story, words: string): void {
  const { paragraph } = story.frame;
  if (paragraph) add(paragraph, words, false);
  else if (words !== "") {
    begin(story, {});
    putPlain(story, words);
    end(story);
  }
}

function add(paragraph: Paragraph, words: string, isSpaced: boolean): void {
  paragraph.said += words;
  paragraph.last = words;
  paragraph.isSpaced = isSpaced;
}

/** A note or a comment. */
interface Note {
  /** The beginning of its mark. */
  readonly kind: "^" | "^e" | "comment ";
  /** The number or sign of its mark. */
  sign: string | undefined;
  /** The name of its author; "" if it has none. */
  author: string;
  said: string;
}

export function beginNote(story: Story, kind: Note["kind"], sign?: string): void {
  const note: Note = { kind, sign, author: "", said: "" };
  const write = (said: string, { label = "" }: BlockKind = {}) => {
    note.said += `${label === "" ? "" : ` ${label}`} ${said.trim()}`;
  };
  story.notes.push(note);
  enter(story, { note, flow: flowInto(write) });
}

/**
 * Ends a note, and puts its mark. Notes are numbered in the order of their marks, as they are
 * printed.
 */
export function endNote(story: Story): void {
  const { note } = story.frame;
  leave(story);
  if (!note) return;
  note.sign ??= String(++story.counts[note.kind]);
  putPlain(story, markOf(note));
}

const markOf = ({ kind, sign }: Note) => `[${kind}${sign}]`;

/** Writes the notes behind the text. */
export function writeNotes({ notes }: Story, text: Growing): void {
  const filled = notes.filter(({ said }) => said !== "");
  if (filled.length > 0) text.part("notes");
  for (const note of filled) text.add(`${markOf(note)}${withAuthor(note.said, note.author)}\n`);
}

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
interface OpenList {
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

/**
 * Opens a list in a frame.
 *
 * @param goesOn true if it counts on from the list before it that has its style
 */
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

/**
 * True if the first levels of two lists look the same: slides have one style for each list, and
 * show them as one.
 */
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
