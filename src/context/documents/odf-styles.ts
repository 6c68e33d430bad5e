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

/** A level as a file has it. */
interface GivenLevel {
  /** The name of its numbers: `1`, `a`; empty for none. */
  readonly format: string;
  readonly start: number;
  /** Signs before, between and behind the numbers. */
  readonly words: readonly string[];
  /** The levels whose numbers it shows. */
  readonly numbers: readonly number[];
}

const BULLETS: OdfLevel = { format: "bullet", label: [], start: 1 };
const FORMATS: readonly NumberFormat[] = ["1", "01", "a", "A", "aa", "AA", "i", "I"];
const MOST_LEVELS = 10;

const levelOf = (given: Attributes) => boundedNumber(given["text:level"], 1, MOST_LEVELS) - 1;

/** Collects the styles of lists. */
function listStyles(): ListStyles {
  const lists = new Map<string, ReadonlyMap<number, OdfLevel>>();
  let outline = "";
  let open = { name: "", levels: new Map<number, GivenLevel | null>() };
  const begin = (name: string) => {
    open = { name, levels: new Map() };
  };
  const number = (given: Attributes) => open.levels.set(levelOf(given), givenLevel(given));
  const bullet = (given: Attributes) => open.levels.set(levelOf(given), null);
  const end = () => lists.set(open.name, levelsOf(open.levels));
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
      "/text:list-style": end,
      "/text:outline-style": end,
    },
    outline: () => outline,
    level(name, at) {
      const list = lists.get(name);
      return list ? (list.get(at) ?? { format: "1", label: [at, "."], start: 1 }) : BULLETS;
    },
  };
}

function givenLevel(given: Attributes): GivenLevel {
  const at = levelOf(given);
  // LibreOffice names some by their first numbers: `01, 02, 03, ...`.
  const format = given["style:num-format"] ?? "";
  const name = format.startsWith("01,") ? "01" : format;
  const isDoubled = given["style:num-letter-sync"] === "true" && /^[aA]$/.test(name);
  const level = { format: isDoubled ? name + name : name, start: boundedNumber(given["text:start-value"], 1) };
  // LibreOffice writes the whole label, which may have other signs between its numbers: `%1%-%2%)`.
  const whole = given["loext:num-list-format"]?.split(/%(\d+)%/);
  if (whole) {
    const words = whole.filter((_, n) => n % 2 === 0);
    const numbers = whole.filter((_, n) => n % 2 === 1).map((number) => boundedNumber(number, 1, MOST_LEVELS) - 1);
    return { ...level, words, numbers };
  }
  const shown = name === "" ? 0 : Math.min(boundedNumber(given["text:display-levels"], 1), at + 1);
  const numbers = Array.from({ length: shown }, (_, n) => at - shown + 1 + n);
  const dots = numbers.slice(1).map(() => ".");
  return { ...level, numbers, words: [given["style:num-prefix"] ?? "", ...dots, given["style:num-suffix"] ?? ""] };
}

function levelsOf(given: ReadonlyMap<number, GivenLevel | null>): Map<number, OdfLevel> {
  const isNumbered = (at: number) => given.get(at)?.format !== "" && given.get(at) !== null;
  const levels = new Map<number, OdfLevel>();
  for (const [at, level] of given) {
    if (level === null) {
      levels.set(at, BULLETS);
      continue;
    }
    const { format, start } = level;
    const label = labelOf(level, isNumbered);
    const known = FORMATS.find((one) => one === format);
    const unknown = known === undefined && format !== "" ? { unknown: format } : {};
    levels.set(at, { format: known ?? (format === "" ? "none" : "1"), label, start, ...unknown });
  }
  return levels;
}

/** A label without the numbers of levels that have none, and without the signs before these. */
function labelOf({ words, numbers }: GivenLevel, isNumbered: (at: number) => boolean): Level["label"] {
  const label: (string | number)[] = [words[0] ?? ""];
  for (const [n, number] of numbers.entries()) {
    if (!isNumbered(number)) continue;
    if (label.length > 1) label.push(words[n] ?? "");
    label.push(number);
  }
  return [...label, words.length > 1 ? (words.at(-1) ?? "") : ""];
}
