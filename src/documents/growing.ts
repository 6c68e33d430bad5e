/**
 * The place of a part of a document: the offset of its first UTF-16 unit in the document's text,
 * its label (`p.12`, `slide 3`, a sheet's or table's name, `cell 7`, `body`), and for rows the
 * number of the first row.
 */
export type Place = readonly [unit: number, label: string, firstRow?: number];
/** The loss of labels behind the first 100,000 places of a context. */
export const UNPLACED = "place over 100,000";
/** A part of a document that did not become text. */
export interface Loss {
  readonly kind: string;
  readonly count: number;
  readonly where: readonly (string | number)[];
}
/** The original of a document that was converted. `reader` is e.g. `pdf/1 unpdf 1.8.1`. */
export interface Original {
  readonly sha256: string;
  readonly bytes: number;
  readonly kind: string;
  readonly reader: string;
  /** The encoding of its bytes, of a text that was decoded. */
  readonly encoding?: string;
}
/** Facts about a document that became text when it was loaded. */
export interface Converted {
  readonly original: Original;
  /** By their units. */
  readonly places: readonly Place[];
  readonly lost: readonly Loss[];
}

/** Places of a context; further ones are a loss. */
export const MOST_PLACES = 100_000;
const LISTED = 20;

/** The reasons for which an original gives no text at all. */
export const REASONS = [
  ...(["no_text", "encrypted", "damaged", "old_office", "too_slow", "too_big", "text_too_large"] as const),
  ...([
    "unpacks_too_much",
    "needs_package",
    "own_converter",
    "uncopied",
    "left_out",
    "which_table",
    "reader_failed",
  ] as const),
] as const;
export type Reason = (typeof REASONS)[number];

/**
 * The refusal of an original. The message is the predicate of a sentence about it:
 * `is encrypted: it needs a password`.
 */
export class Unreadable extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export const textTooLarge = (room: number) =>
  new Unreadable("text_too_large", `has more than ${megabytes(room)} of text`);
export const encrypted = () => new Unreadable("encrypted", "is encrypted: it needs a password");
export const damaged = (problem: string) => new Unreadable("damaged", `is damaged: ${problem}`);
/** The refusal of the first member that is not whole. */
export const ARCHIVE_CUT = "the archive ends too early";
/** The problem of HTML that shows nothing by itself. */
export const SCRIPTED = "has no text: scripts make it";
/** The loss of what stands behind the end of a packed file that was cut off. */
export const CUT_OFF = "rest of a file that is cut off";

/** The loss of certainty about a formula that a program is to calculate anew: its value may be a placeholder. */
export const OLD_VALUE = "formula with an old value";

/** Losses of what is read although people see it only once they show it. */
export const HIDDEN = {
  layer: "hidden layer",
  slide: "hidden slide",
  shape: "hidden shape",
  sheet: "hidden sheet",
  row: "hidden row",
  column: "hidden column",
} as const;

/** The loss of what a database has in its log alone, or of what undoes a change that is not finished. */
export const UNREAD_LOG = "unread log";

/**
 * The loss of certainty about bytes that do not say what they are. Its places are the encodings by
 * which they were read.
 */
export const GUESSED_ENCODING = "guessed encoding";

/**
 * The loss of the text of an element that is not known. Its places are the names of such elements.
 */
const UNREAD = "unread element";

/**
 * A text that grows, with its places and losses. It throws {@link Unreadable} once it has more
 * bytes than `room`.
 */
export interface Growing {
  progress(place: string): void;
  add(given: string): void;
  /** Ends the line, if one has begun. */
  line(): void;
  /** Leaves a line empty, unless one is. */
  gap(): void;
  /**
   * Begins a part with a line of its own, `[label]`, or `[label, hidden]`. Some of them are told as
   * progress.
   */
  part(label: string, firstRow?: number, isHidden?: boolean): void;
  lose(kind: string, where?: string | number): void;
  /** Loses the text of an element that no rule of a reader takes or leaves out. */
  unread(element: string): void;
  /** True if it has no words yet. */
  isBlank(): boolean;
  /** The text as it is until now. */
  soFar(): string;
  end(): { text: string; places: Place[]; lost: { count: number; where: (string | number)[]; kind: string }[] };
}

/** @param progress told to which place the text has come */
export function growing(room: number, progress: (place: string) => void = () => {}): Growing {
  const pieces: string[] = [];
  const places: Place[] = [];
  const losses = new Map<string, { count: number; readonly where: (string | number)[] }>();
  let units = 0;
  let bytes = 0;
  let tail = "";
  let isBlank = true;
  const grown = {
    progress,
    add(given: string): void {
      if (!given.isWellFormed() || given.includes("\0")) grown.lose("character without a meaning");
      const text = given.toWellFormed().replace(/\r\n?/g, "\n").replaceAll("\0", "");
      if (text === "") return;
      pieces.push(text);
      units += text.length;
      bytes += Buffer.byteLength(text);
      tail = (tail + text.slice(-2)).slice(-2);
      isBlank &&= text.trim() === "";
      if (bytes > room) throw textTooLarge(room);
    },
    line(): void {
      if (units > 0 && !tail.endsWith("\n")) grown.add("\n");
    },
    gap(): void {
      grown.line();
      if (units > 0 && tail !== "\n\n") grown.add("\n");
    },
    part(label: string, firstRow?: number, isHidden = false): void {
      grown.gap();
      const name = oneLine(label);
      if (places.length % 20 === 19) progress(name);
      // The last label would continue to the end.
      if (places.length === MOST_PLACES) places.push([units, ""]);
      if (places.length > MOST_PLACES) grown.lose(UNPLACED);
      else places.push(firstRow === undefined ? [units, name] : [units, name, firstRow]);
      const before = isBlank;
      grown.add(`[${name}${isHidden ? ", hidden" : ""}]\n`);
      // No line is left empty behind the one that names the part.
      [isBlank, tail] = [before, "\n\n"];
    },
    lose(kind: string, where?: string | number): void {
      const loss = losses.get(kind) ?? { count: 0, where: [] };
      loss.count += 1;
      const isNew = where !== undefined && loss.where.length < LISTED && !loss.where.includes(where);
      if (isNew) loss.where.push(where);
      losses.set(kind, loss);
    },
    unread: (element: string) => grown.lose(UNREAD, element),
    isBlank: () => isBlank,
    soFar: () => pieces.join(""),
    end() {
      if (isBlank) throw nothingIn(places, losses);
      return { text: grown.soFar(), places, lost: [...losses].map(([kind, loss]) => ({ kind, ...loss })) };
    },
  };
  return grown;
}

function nothingIn(places: readonly Place[], losses: ReadonlyMap<string, { readonly count: number }>): Unreadable {
  const pages = [...losses].filter(([kind]) => kind.includes("page")).reduce((sum, [, { count }]) => sum + count, 0);
  if (pages > 0 && losses.get("damaged page")?.count === pages) return damaged("no page of it can be read");
  const [number, what] = pages > 0 ? [pages, "page"] : [places.length, "part"];
  if (number < 2) return new Unreadable("no_text", "has no text");
  return new Unreadable("no_text", `has text on none of its ${number.toLocaleString("en-US")} ${what}s`);
}

/**
 * Words of a document or a program as a part of one line, without characters that steer a terminal.
 */
export function oneLine(words: string): string {
  return words
    .toWellFormed()
    .replace(/[\p{Cc}\s\u202a-\u202e\u2066-\u2069]+/gu, " ")
    .slice(0, 300)
    .toWellFormed();
}

/** A remark with its author behind it: `Too cheap? (Ann)`. */
export function withAuthor(remark: string, author = ""): string {
  const name = oneLine(author).trim();
  return name === "" ? remark : `${remark} (${name})`;
}

/** A value as a cell of a line: tabs and ends of lines are written out. */
export function cell(value: unknown): string {
  const text = String(value ?? "")
    .replaceAll("\\", "\\\\")
    .replaceAll("\t", "\\t");
  return text.replace(/\r\n?|\n/g, "\\n");
}

export function megabytes(bytes: number): string {
  return bytes >= 2 ** 30 ? `${bytes / 2 ** 30} GB` : `${Math.floor(bytes / 2 ** 20)} MB`;
}
