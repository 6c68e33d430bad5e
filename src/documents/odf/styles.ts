import { boundedNumber, type Level, type NumberFormat, type Shift } from "../labels.ts";
import type { Attributes, Handlers } from "../markup.ts";

/** Facts that a style gives of its words or paragraphs. The styles above it give the rest. */
interface OdfStyle {
  /** The style of lists that it names; empty for none. */
  list?: string | undefined;
  shift?: Shift;
  font?: string;
  isHidden?: boolean;
}

/** A level of a list. */
interface OdfLevel extends Level {
  /** The name of its numbers, if they are not known and decimal ones stand for them. */
  readonly unknown?: string;
}

/** The styles of a document, as far as its text depends on them. */
export interface OdfStyles {
  /** By their family and name. */
  readonly named: Map<string, NamedStyle>;
  /** Those that were asked for, with what the styles above give them. */
  readonly whole: Map<string, OdfStyle>;
  /** The levels of lists by the names of their styles. */
  readonly lists: Map<string, Map<number, OdfLevel>>;
  /** The name of the list style of headings. */
  outline: string;
}

interface NamedStyle extends OdfStyle {
  /** The family and name of the style above it. */
  readonly above: string;
}

/** Styles that are above one another. Those that are further up say nothing. */
const MOST_ABOVE = 20;

export const noStyles = (): OdfStyles => ({ named: new Map(), whole: new Map(), lists: new Map(), outline: "" });

/**
 * Handlers that collect the styles of a part.
 *
 * @param areAutomatic they are what authors did by hand
 */
export function styleHandlers({ named }: OdfStyles, areAutomatic: boolean): Handlers {
  const faces = new Map<string, string>();
  let open: NamedStyle | undefined;
  const hide = (isHidden: boolean) => {
    if (open && isHidden) open.isHidden = true;
  };
  return {
    "style:font-face"({ "style:name": name = "", "svg:font-family": family = "" }) {
      faces.set(name, family.replaceAll(/['"]/g, ""));
    },
    "style:style"(given) {
      const family = given["style:family"];
      open = { above: `${family} ${given["style:parent-style-name"]}` };
      const list = given["style:list-style-name"];
      // LibreOffice names no list in each style of headings that has the numbers of the outline.
      if (list || areAutomatic) open.list = list;
      named.set(`${family} ${given["style:name"]}`, open);
    },
    "/style:style": () => (open = undefined),
    "style:table-properties": ({ "table:display": shown }) => hide(shown === "false"),
    "style:drawing-page-properties": ({ "presentation:visibility": seen }) => hide(seen === "hidden"),
    "style:text-properties"(given) {
      const position = given["style:text-position"];
      const font = given["style:font-name"] ?? given["fo:font-family"];
      hide(given["text:display"] === "none");
      if (open && position !== undefined) open.shift = shiftAt(position);
      if (open && font !== undefined) open.font = faces.get(font) ?? font;
    },
  };
}

type Family = "paragraph" | "text" | "table" | "drawing-page";

/** The facts that a style and those above it give. */
export function styleOf(styles: OdfStyles, family: Family, name: string | undefined): OdfStyle {
  const id = `${family} ${name}`;
  const style = styles.whole.get(id) ?? resolved(styles.named, id, 0);
  styles.whole.set(id, style);
  return style;
}

function resolved(named: OdfStyles["named"], id: string, above: number): OdfStyle {
  const own = named.get(id);
  return own && above < MOST_ABOVE ? { ...resolved(named, own.above, above + 1), ...own } : {};
}

/**
 * `super 58%` and `33% 58%` are raised, `sub 58%` and `-33% 58%` lowered; `0% 100%` is on the line.
 */
function shiftAt(position: string): Shift {
  const percent = Number.parseFloat(position);
  if (position.startsWith("super") || percent > 0) return "^";
  return position.startsWith("sub") || percent < 0 ? "_" : "";
}

const BULLETS: OdfLevel = { format: "bullet", label: [], start: 1 };
const FORMATS: readonly NumberFormat[] = ["1", "01", "a", "A", "aa", "AA", "i", "I"];
const MOST_LEVELS = 10;
/** The length of the pattern of a label. */
const MOST_PATTERN = 255;

/** The first level is 0; files call it 1. */
export const levelIn = (given: string | undefined) => Math.max(boundedNumber(given, 1, MOST_LEVELS), 1) - 1;

/** Handlers that collect the styles of lists. */
export function listStyleHandlers(styles: OdfStyles): Handlers {
  let open = new Map<number, OdfLevel>();
  const begin = (name: string) => {
    open = new Map();
    styles.lists.set(name, open);
  };
  const end = () => {
    for (const [at, level] of open) open.set(at, withPieces(level, open));
  };
  const number = (given: Attributes) => open.set(levelIn(given["text:level"]), numberLevel(given));
  const bullet = (given: Attributes) => open.set(levelIn(given["text:level"]), BULLETS);
  return {
    "text:list-style": ({ "style:name": name = "" }) => begin(name),
    "/text:list-style": end,
    "text:outline-style"({ "style:name": name = "Outline" }) {
      styles.outline = name;
      begin(name);
    },
    "/text:outline-style": end,
    "text:list-level-style-number": number,
    "text:outline-level-style": number,
    "text:list-level-style-bullet": bullet,
    "text:list-level-style-image": bullet,
  };
}

/** The level of a list. One that no style describes has signs. */
export function levelOf({ lists }: OdfStyles, style: string, at: number): OdfLevel {
  const list = lists.get(style);
  return list ? (list.get(at) ?? { format: "1", label: [at, "."], start: 1 }) : BULLETS;
}

/** A level whose label is still one pattern: `%1%.%2%)`. */
function numberLevel(given: Attributes): OdfLevel {
  const name = given["style:num-format"] ?? "1";
  const isDoubled = given["style:num-letter-sync"] === "true" && /^[aA]$/.test(name);
  // LibreOffice names some by their first numbers: `01, 02, 03, ...`.
  const format = isDoubled ? name + name : name.startsWith("01,") ? "01" : name;
  const level = {
    label: [patternOf(given, format !== "").slice(0, MOST_PATTERN)],
    start: boundedNumber(given["text:start-value"], 1),
    // LibreOffice has these of Word documents.
    isLegal: given["loext:is-legal"] === "true",
  };
  const known = FORMATS.find((one) => one === format);
  if (known !== undefined || format === "") return { ...level, format: known ?? "none" };
  return { ...level, format: "1", unknown: format };
}

function patternOf(given: Attributes, hasNumber: boolean): string {
  // LibreOffice writes the whole label, which may have other signs than dots between its numbers.
  const whole = given["loext:num-list-format"];
  if (whole !== undefined) return whole;
  const levels = levelIn(given["text:level"]) + 1;
  const shown = hasNumber ? Math.min(boundedNumber(given["text:display-levels"], 1), levels) : 0;
  const numbers = Array.from({ length: shown }, (_, n) => `%${levels - shown + n + 1}%`);
  return `${given["style:num-prefix"] ?? ""}${numbers.join(".")}${given["style:num-suffix"] ?? ""}`;
}

/**
 * The level with the pieces of its label. Levels without numbers, and the signs between them and
 * the next number, are none.
 */
function withPieces(level: OdfLevel, list: ReadonlyMap<number, OdfLevel>): OdfLevel {
  const hasNumber = (at: number) => !/^(none|bullet)$/.test(list.get(at)?.format ?? "1");
  const shown = level.label
    .join("")
    .replace(/%(\d{1,3})%(?:[^%]{0,99}(?=%))?/g, (number, at) => (hasNumber(levelIn(at)) ? number : ""));
  const pieces = shown.split(/%(\d+)%/);
  return { ...level, label: pieces.map((piece, n) => (n % 2 === 0 ? piece : levelIn(piece))) };
}
