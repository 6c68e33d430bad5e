import { boundedNumber, type Shift } from "./labels.ts";
import type { Attributes } from "./markup.ts";
import { type Handlers, openXml } from "./xml.ts";

/** The look of words and paragraphs, by a style or where they stand. What is absent is as above it. */
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

const SHIFTS: ReadonlyMap<string, Shift> = new Map([
  ["superscript", "^"],
  ["subscript", "_"],
]);
/** Half points by which words are moved up or down before they count as raised: less is to align them. */
const LEAST_MOVE = 3;

/** Handlers that say how words and paragraphs look. */
export function lookHandlers(say: (look: Look) => void): Handlers {
  return {
    "w:numId": ({ "w:val": list = "" }) => say({ list }),
    "w:ilvl": ({ "w:val": level }) => say({ level: boundedNumber(level, 0, 8) }),
    "w:vertAlign": ({ "w:val": place = "" }) => say({ shift: SHIFTS.get(place) ?? "" }),
    "w:position": ({ "w:val": move }) => {
      if (Math.abs(Number(move)) >= LEAST_MOVE) say({ shift: Number(move) > 0 ? "^" : "_" });
    },
    "w:vanish": (given) => say({ isHidden: isOn(given) }),
    "w:rFonts": ({ "w:ascii": font }) => font !== undefined && say({ font }),
  };
}

/** Elements that say how something looked before a tracked change. */
export const FORMER = ["w:pPrChange", "w:rPrChange", "w:numberingChange"] as const;

const MOST_ABOVE = 50;

/**
 * The looks of styles by their ids, each with what it takes from the styles above it.
 *
 * @param levels the levels of lists that belong to styles
 */
export function stylesIn(source: string, levels: ReadonlyMap<string, number>): (id: string) => Look {
  const styles = new Map<string, { look: Look; above: string }>();
  let style: { look: Look; above: string } = { look: {}, above: "" };
  const xml = openXml(source);
  xml.walk({
    on: {
      ...lookHandlers((more) => {
        if (!xml.within(...FORMER)) Object.assign(style.look, more);
      }),
      "w:style": ({ "w:styleId": id = "" }) => {
        style = { look: {}, above: "" };
        styles.set(id, style);
      },
      "w:basedOn": ({ "w:val": id = "" }) => (style.above = id),
      "w:name": ({ "w:val": name = "" }) => {
        const heading = /^title$/i.test(name) ? 1 : Number(/^heading (\d)$/i.exec(name)?.[1] ?? 0);
        if (heading > 0) style.look.heading = heading;
      },
    },
  });
  for (const [id, level] of levels) Object.assign(styles.get(id)?.look ?? {}, { level });
  const whole = new Map<string, Look>();
  const look = (id: string, deep: number): Look => {
    const own = styles.get(id);
    if (!own || deep > MOST_ABOVE) return {};
    const found = whole.get(id) ?? { ...look(own.above, deep + 1), ...own.look };
    whole.set(id, found);
    return found;
  };
  return (id) => look(id, 0);
}
