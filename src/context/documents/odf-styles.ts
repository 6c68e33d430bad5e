import { boundedNumber, type Level, type NumberFormat, type Shift } from "./labels.ts";
import type { Attributes } from "./markup.ts";
import type { Handlers } from "./xml.ts";

/** Facts that a style gives of its words or paragraphs. The styles above it give the rest. */
export interface OdfStyle {
  /** The style of lists that it names; empty for none. */
  list?: string;
  shift?: Shift;
  font?: string;
}

/** A level of a list. */
export interface OdfLevel extends Level {
  /** The name of its numbers, if they are not known and decimal ones stand for them. */
  readonly unknown?: string;
}

/** The styles of a document, as far as its text depends on them. */
export interface OdfStyles {
  /** Collect the styles of a part. @param areAutomatic they are what authors did by hand */
  handlersFor(areAutomatic: boolean): Handlers;
  /** The name of the list style of headings. */
  outline(): string;
  style(family: "paragraph" | "text", name: string): OdfStyle;
  /** The level of a list. One that no style describes has signs. */
  level(list: string, at: number): OdfLevel;
}

interface NamedStyle extends OdfStyle {
  /** The family and name of the style above it. */
  readonly above: string;
}

/** Styles that are above one another. Those that are further up say nothing. */
const MOST_ABOVE = 20;

/** Begins without styles: the handlers collect them. */
export function openStyles(): OdfStyles {
  const styles = new Map<string, NamedStyle>();
  const resolved = new Map<string, OdfStyle>();
  const lists = listStyles();
  const faces = new Map<string, string>();
  let open: NamedStyle | undefined;
  const resolve = (id: string, above = 0): OdfStyle => {
    const own = styles.get(id);
    return own && above < MOST_ABOVE ? { ...resolve(own.above, above + 1), ...own } : {};
  };
  return {
    handlersFor: (areAutomatic) => ({
      ...lists.handlers,
      "style:font-face"({ "style:name": name = "", "svg:font-family": family = "" }) {
        faces.set(name, family.replaceAll(/['"]/g, ""));
      },
      "style:style"(given) {
        const family = given["style:family"] ?? "";
        open = { above: `${family} ${given["style:parent-style-name"] ?? ""}` };
        const list = given["style:list-style-name"];
        // LibreOffice names no list in each style of headings that has the numbers of the outline.
        if (list !== undefined && (list !== "" || areAutomatic)) open.list = list;
        styles.set(`${family} ${given["style:name"] ?? ""}`, open);
      },
      "/style:style": () => (open = undefined),
      "style:text-properties"(given) {
        const position = given["style:text-position"];
        const font = given["style:font-name"] ?? given["fo:font-family"];
        if (open && position !== undefined) open.shift = shiftAt(position);
        if (open && font !== undefined) open.font = faces.get(font) ?? font;
      },
    }),
    outline: lists.outline,
    level: lists.level,
    style(family, name) {
      const id = `${family} ${name}`;
      const known = resolved.get(id) ?? resolve(id);
      resolved.set(id, known);
      return known;
    },
  };
}

/** `super 58%` and `33% 58%` are raised, `sub 58%` and `-33% 58%` lowered; `0% 100%` is on the line. */
function shiftAt(position: string): Shift {
  const percent = Number.parseFloat(position);
  if (position.startsWith("super") || percent > 0) return "^";
  return position.startsWith("sub") || percent < 0 ? "_" : "";
}

interface ListStyles extends Pick<OdfStyles, "outline" | "level"> {
  readonly handlers: Handlers;
}

const BULLETS: OdfLevel = { format: "bullet", label: [], start: 1 };
const FORMATS: readonly NumberFormat[] = ["1", "01", "a", "A", "aa", "AA", "i", "I"];
const MOST_LEVELS = 10;
/** Numbers of a label, and the signs between them. */
const MOST_PIECES = 41;

/** The first level is 0; files call it 1. */
export const levelIn = (given: string | undefined) => Math.max(boundedNumber(given, 1, MOST_LEVELS), 1) - 1;

/** Collects the styles of lists. */
function listStyles(): ListStyles {
  const lists = new Map<string, Map<number, OdfLevel>>();
  let outline = "";
  let open = new Map<number, OdfLevel>();
  const begin = (name: string) => {
    open = new Map();
    lists.set(name, open);
  };
  const number = (given: Attributes) => open.set(levelIn(given["text:level"]), numberLevel(given));
  const bullet = (given: Attributes) => open.set(levelIn(given["text:level"]), BULLETS);
  return {
    handlers: {
      "text:list-style": ({ "style:name": name = "" }) => begin(name),
      "text:outline-style"({ "style:name": name = "Outline" }) {
        outline = name;
        begin(name);
      },
      "text:list-level-style-number": number,
      "text:outline-level-style": number,
      "text:list-level-style-bullet": bullet,
      "text:list-level-style-image": bullet,
    },
    outline: () => outline,
    level(name, at) {
      const list = lists.get(name);
      if (!list) return BULLETS;
      const level = list.get(at) ?? { format: "1", label: [at, "."], start: 1 };
      return { ...level, label: level.label.filter((_, n) => isShown(level.label, n, list)) };
    },
  };
}

/** False for the number of a level that has none, and for the sign between it and the next number. */
function isShown(label: Level["label"], n: number, list: ReadonlyMap<number, OdfLevel>): boolean {
  const [before, piece, next] = [label[n - 1], label[n], label[n + 1]];
  const hasNumber = (at: number) => !/^(none|bullet)$/.test(list.get(at)?.format ?? "1");
  if (typeof piece === "number") return hasNumber(piece);
  return typeof before !== "number" || typeof next !== "number" || hasNumber(before);
}

function numberLevel(given: Attributes): OdfLevel {
  const name = given["style:num-format"] ?? "1";
  const isDoubled = given["style:num-letter-sync"] === "true" && /^[aA]$/.test(name);
  // LibreOffice names some by their first numbers: `01, 02, 03, ...`.
  const format = isDoubled ? name + name : name.startsWith("01,") ? "01" : name;
  const level = {
    label: labelIn(given, format !== ""),
    start: boundedNumber(given["text:start-value"], 1),
    // LibreOffice has these of Word documents.
    isLegal: given["loext:is-legal"] === "true",
  };
  const known = FORMATS.find((one) => one === format);
  if (known !== undefined || format === "") return { ...level, format: known ?? "none" };
  return { ...level, format: "1", unknown: format };
}

function labelIn(given: Attributes, hasNumber: boolean): Level["label"] {
  // LibreOffice writes the whole label, which may have other signs between its numbers: `%1%-%2%)`.
  const whole = given["loext:num-list-format"]?.split(/%(\d+)%/, MOST_PIECES);
  if (whole) return whole.map((piece, n) => (n % 2 === 0 ? piece : levelIn(piece)));
  const at = levelIn(given["text:level"]);
  const shown = hasNumber ? Math.min(boundedNumber(given["text:display-levels"], 1), at + 1) : 0;
  const numbers = Array.from({ length: shown }, (_, n) => at + 1 - shown + n);
  const dotted = numbers.flatMap((number, n) => (n === 0 ? [number] : [".", number]));
  return [given["style:num-prefix"] ?? "", ...dotted, given["style:num-suffix"] ?? ""];
}
