import { BULLET, boundedNumber, type Counting, counting, type Level, type Shift, VERTICAL } from "../labels.ts";
import { type Attributes, type Handlers, openXml } from "../markup.ts";

/**
 * The look of words and paragraphs, by a style or where they stand. What is absent is as above it.
 */
export interface Look {
  /** The level of a heading. */
  heading?: number;
  /** The id of the list of which the paragraph is an item. */
  list?: string;
  /** The level in the list. The first is 0. */
  level?: number;
  shift?: Shift;
  isHidden?: boolean;
  font?: string;
}

/** A property that is on if its element stands there, and does not say otherwise. */
export const isOn = ({ "w:val": value = "true" }: Attributes) => !/^(0|false|off)$/.test(value);

/**
 * Half points by which words are moved up or down before they count as raised: less is to align
 * them.
 */
const LEAST_MOVE = 3;

/** Handlers that say how words and paragraphs look. */
export function lookHandlers(say: (look: Look) => void): Handlers {
  return {
    "w:numId": ({ "w:val": list = "" }) => say({ list }),
    "w:ilvl": ({ "w:val": level }) => say({ level: boundedNumber(level, 0, 8) }),
    "w:vertAlign": ({ "w:val": place = "" }) => say({ shift: VERTICAL.get(place) ?? "" }),
    "w:position": ({ "w:val": move }) => {
      if (Math.abs(Number(move)) >= LEAST_MOVE) say({ shift: Number(move) > 0 ? "^" : "_" });
    },
    "w:vanish": (given) => say({ isHidden: isOn(given) }),
    "w:rFonts": ({ "w:hAnsi": other, "w:ascii": font = other }) => font !== undefined && say({ font }),
  };
}

/** Elements that say how something looked before a tracked change. */
export const FORMER = ["w:pPrChange", "w:rPrChange", "w:numberingChange", "w:tcPrChange", "w:trPrChange"] as const;

const MOST_ABOVE = 50;

/** A style as its document gives it. */
interface Style {
  readonly look: Look;
  /** The id of the style whose look it takes where it has none of its own. */
  above: string;
  /** A title is a heading. Styles on it, such as that of the author, are none. */
  isTitle: boolean;
}

/** The looks of a document's words by its styles. */
export interface Styles {
  /** The look by the style of this id, with what it takes from the styles above it. */
  of(id: string): Look;
  /** The look of all paragraphs, unless their styles say otherwise. */
  readonly all: Look;
  /** Paragraphs without a style. */
  readonly plain: Look;
}

/** @param levels the levels of lists that belong to styles */
export function stylesIn(source: string, levels: ReadonlyMap<string, number>): Styles {
  const styles = new Map<string, Style>();
  // The defaults of the document stand before its styles.
  const defaults: Style = { look: {}, above: "", isTitle: false };
  let style = defaults;
  let normal = "";
  const xml = openXml(source);
  const say = (more: Look) => {
    if (!xml.within(...FORMER)) Object.assign(style.look, more);
  };
  xml.walk({
    on: {
      ...lookHandlers(say),
      "w:style": ({ "w:styleId": id = "", "w:type": type, "w:default": isDefault = "0" }) => {
        if (type === "paragraph" && isOn({ "w:val": isDefault })) normal = id;
        style = { look: {}, above: "", isTitle: false };
        styles.set(id, style);
      },
      "w:basedOn": ({ "w:val": id = "" }) => (style.above = id),
      "w:name": ({ "w:val": name = "" }) => {
        const level = /^heading (\d)$/i.exec(name)?.[1];
        if (level !== undefined) say({ heading: Number(level) });
        style.isTitle = /^title$/i.test(name);
      },
    },
  });
  for (const [id, level] of levels) Object.assign(styles.get(id)?.look ?? {}, { level });
  const whole = new Map<string, Look>();
  const lookOf = (id: string, deep: number): Look => {
    const known = whole.get(id);
    const own = styles.get(id);
    if (known || !own || deep > MOST_ABOVE) return known ?? {};
    const look = { ...lookOf(own.above, deep + 1), ...own.look };
    whole.set(id, look);
    return look;
  };
  const of = (id: string) => (styles.get(id)?.isTitle ? { ...lookOf(id, 0), heading: 1 } : lookOf(id, 0));
  const all = hiddenAs(defaults.look);
  return { of, all, plain: { ...all, ...hiddenAs(of(normal)) } };
}

/** The part of a look that says whether words are hidden. */
const hiddenAs = ({ isHidden }: Look): Look => (isHidden === undefined ? {} : { isHidden });

interface WordLevel extends Level {
  /** Its numbers are printed in a form that is not known here, and become decimal. */
  readonly isOther?: boolean;
}

/** A definition of levels, which lists share. */
interface Definition {
  readonly levels: Map<number, WordLevel>;
  /** The name of a style, if the levels are those of the definition that has this name. */
  link?: string;
}

interface List {
  /** The id of its definition. */
  readonly of: string;
  /** Levels that are other than in the definition. */
  readonly levels: Map<number, WordLevel>;
  /** Levels that begin with a number of their own. */
  readonly starts: Set<number>;
}

/** Takes the next item. Its label is empty if it has none. */
export type NextLabel = (list: string, level: number) => string;

/** The lists of a document. */
export interface Lists {
  /** Levels that belong to paragraph styles, by the ids of these. */
  readonly styled: ReadonlyMap<string, number>;
  /** Begins to count, as each text of a document does: its body, its notes, a box. */
  count(): NextLabel;
}

const FORMATS: ReadonlyMap<string, Level["format"]> = new Map([
  ["decimal", "1"],
  ["decimalZero", "01"],
  ["upperRoman", "I"],
  ["lowerRoman", "i"],
  ["upperLetter", "AA"],
  ["lowerLetter", "aa"],
  ["bullet", "bullet"],
  ["none", "none"],
]);
const DECIMAL: WordLevel = { format: "1", label: [], start: 1 };

/**
 * Reads the definitions of lists.
 *
 * @param lose told of each item whose number has another form in print
 */
export function listsIn(source: string, lose: () => void): Lists {
  const definitions = new Map<string, Definition>();
  const linked = new Map<string, Definition>();
  const lists = new Map<string, List>();
  const styled = new Map<string, number>();
  const definitionOf = (id: string) => linked.get(definitions.get(id)?.link ?? "") ?? definitions.get(id);
  let definition: Definition = { levels: new Map() };
  let list: List | undefined;
  let listId = "";
  let at = 0;
  const xml = openXml(source);
  const change = (more: Partial<WordLevel>) => {
    const own = list?.levels ?? definition.levels;
    const before = own.get(at) ?? (list && definitionOf(list.of)?.levels.get(at)) ?? DECIMAL;
    if (!xml.within("mc:Fallback")) own.set(at, { ...before, ...more });
  };
  const enter = ({ "w:ilvl": level }: Attributes) => {
    at = boundedNumber(level, 0);
  };
  xml.walk({
    on: {
      "w:abstractNum": ({ "w:abstractNumId": id = "" }) => {
        definition = { levels: new Map() };
        definitions.set(id, definition);
      },
      "w:numStyleLink": ({ "w:val": name = "" }) => (definition.link = name),
      "w:styleLink": ({ "w:val": name = "" }) => linked.set(name, definition),
      "w:num": ({ "w:numId": id = "" }) => (listId = id),
      "w:abstractNumId": ({ "w:val": of = "" }) => {
        list = { of, levels: new Map(), starts: new Set() };
        lists.set(listId, list);
      },
      "w:lvlOverride": enter,
      "w:startOverride": ({ "w:val": start }) => {
        list?.starts.add(at);
        change({ start: boundedNumber(start, 0) });
      },
      "w:lvl": enter,
      "w:start": ({ "w:val": start }) => change({ start: boundedNumber(start, 0) }),
      "w:numFmt": ({ "w:val": name = "" }) => change({ format: FORMATS.get(name) ?? "1", isOther: !FORMATS.has(name) }),
      "w:lvlText": ({ "w:val": text = "" }) => change({ label: labelIn(text) }),
      "w:lvlRestart": ({ "w:val": by }) => change({ restartedBy: boundedNumber(by, 0) }),
      "w:isLgl": (given) => change({ isLegal: isOn(given) }),
      "w:pStyle": ({ "w:val": style = "" }) => styled.set(style, at),
    },
  });
  return { styled, count: () => countedBy(lists, definitionOf, lose) };
}

/** The length of a label in its definition. Word has no longer ones. */
const MOST_LABEL = 255;

/** The pieces of a label such as `%1.%2`. */
function labelIn(text: string): Level["label"] {
  return text
    .slice(0, MOST_LABEL)
    .split(/%([1-9])/)
    .map((piece, at) => (at % 2 === 0 ? piece : Number(piece) - 1));
}

/** Counts items: lists of one definition count on from each other. */
function countedBy(
  lists: ReadonlyMap<string, List>,
  definitionOf: (id: string) => Definition | undefined,
  lose: () => void,
): NextLabel {
  const counts = new Map<Definition | undefined, Counting>();
  const begun = new Set<string>();
  return (id, level) => {
    const list = lists.get(id);
    // 0 takes a paragraph out of its list.
    if (!list) return id === "0" ? "" : BULLET;
    const definition = definitionOf(list.of);
    const levelAt = (at: number) => list.levels.get(at) ?? definition?.levels.get(at);
    const count = counts.get(definition) ?? counting();
    counts.set(definition, count);
    const own = levelAt(level);
    const isBegun = begun.has(`${id} ${level}`);
    begun.add(`${id} ${level}`);
    const label = count.next(level, levelAt, list.starts.has(level) && !isBegun ? own?.start : undefined);
    if (own?.isOther) lose();
    return signOf(own) ?? label;
  };
}

/**
 * The sign of items without numbers, if it is none of the usual ones: the box of a task, or a space
 * within an item.
 */
function signOf(level: WordLevel | undefined): string | undefined {
  if (level?.format !== "bullet") return undefined;
  const sign = level.label.join("").trim();
  if (sign === "") return sign;
  return /^[☐☑☒]$/.test(sign) ? `${BULLET} ${sign}` : undefined;
}
