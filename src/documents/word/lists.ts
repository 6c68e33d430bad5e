import { BULLET, boundedNumber, type Counting, counting, type Level } from "../labels.ts";
import type { Attributes } from "../markup.ts";
import { openXml } from "../xml.ts";
import { isOn } from "./styles.ts";

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

/** Reads the definitions of lists. @param lose told of each item whose number has another form in print */
export function listsIn(source: string, lose: () => void): Lists {
  const definitions = new Map<string, Definition>();
  const linked = new Map<string, Definition>();
  const lists = new Map<string, List>();
  const styled = new Map<string, number>();
  const levelsOf = (id: string) => (linked.get(definitions.get(id)?.link ?? "") ?? definitions.get(id))?.levels;
  let definition: Definition = { levels: new Map() };
  let list: List | undefined;
  let listId = "";
  let at = 0;
  const xml = openXml(source);
  const change = (more: Partial<WordLevel>) => {
    const own = list?.levels ?? definition.levels;
    const before = own.get(at) ?? (list && levelsOf(list.of)?.get(at)) ?? DECIMAL;
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
  return { styled, count: () => countedBy(lists, levelsOf, lose) };
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
  levelsOf: (definition: string) => ReadonlyMap<number, WordLevel> | undefined,
  lose: () => void,
): NextLabel {
  const counts = new Map<string, Counting>();
  const begun = new Set<string>();
  return (id, level) => {
    const list = lists.get(id);
    // 0 takes a paragraph out of its list.
    if (!list) return id === "0" ? "" : BULLET;
    const shared = levelsOf(list.of);
    const levelAt = (at: number) => list.levels.get(at) ?? shared?.get(at);
    const count = counts.get(list.of) ?? counting();
    counts.set(list.of, count);
    const own = levelAt(level);
    const isBegun = begun.has(`${id} ${level}`);
    begun.add(`${id} ${level}`);
    const label = count.next(level, levelAt, list.starts.has(level) && !isBegun ? own?.start : undefined);
    if (own?.isOther) lose();
    return signOf(own) ?? label;
  };
}

/** The sign of items without numbers, if it is none of the usual ones: the box of a task, or a space within an item. */
function signOf(level: WordLevel | undefined): string | undefined {
  if (level?.format !== "bullet") return undefined;
  const sign = level.label.join("").trim();
  if (sign === "") return sign;
  return /^[☐☑☒]$/.test(sign) ? `${BULLET} ${sign}` : undefined;
}
