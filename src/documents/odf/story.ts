import type { Growing } from "../growing.ts";
import { BULLET, type Shift, type Shifting, shifting } from "../labels.ts";
import type { BlockKind, Lines } from "../office.ts";
import type { OpenList } from "./lists.ts";

/** Shapes that may hold paragraphs. */
export const SHAPES: readonly string[] =
  "text-box custom-shape rect circle ellipse line polyline polygon regular-polygon path connector caption measure"
    .split(" ")
    .map((name) => `draw:${name}`);

/** The look of words. */
interface Look {
  readonly shift: Shift;
  readonly font: string;
}

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

/** The place of paragraphs and lists: the body, a cell, a note, a shape, or a paragraph with a box. */
export interface Frame {
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

export function begin(story: Story, kind: BlockKind, font = ""): void {
  const looks: Look[] = [{ shift: "", font }];
  const paragraph = { kind, said: "", last: "", isSpaced: true, shift: shifting(), looks };
  const { flow } = story.frame;
  flow.waiting.push(paragraph);
  flow.open += 1;
  enter(story, { paragraph });
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

/** Puts words into the paragraph that is open; false if none is. White space of several characters is one space. */
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
  said: string;
}

export function beginNote(story: Story, kind: Note["kind"], sign?: string): void {
  const note: Note = { kind, sign, said: "" };
  const write = (said: string, { label = "" }: BlockKind = {}) => {
    note.said += `${label === "" ? "" : ` ${label}`} ${said.trim()}`;
  };
  story.notes.push(note);
  enter(story, { note, flow: flowInto(write) });
}

/** Ends a note, and puts its mark. Notes are numbered in the order of their marks, as they are printed. */
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
  for (const note of filled) text.add(`${markOf(note)}${note.said}\n`);
}
