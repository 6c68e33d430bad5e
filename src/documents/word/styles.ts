import { boundedNumber, type Shift } from "../labels.ts";
import type { Attributes } from "../markup.ts";
import { type Handlers, openXml } from "../xml.ts";

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

/**
 * The looks of styles by their ids, each with what it takes from the styles above it.
 *
 * @param levels the levels of lists that belong to styles
 */
export function stylesIn(source: string, levels: ReadonlyMap<string, number>): (id: string) => Look {
  const styles = new Map<string, Style>();
  let style: Style = { look: {}, above: "", isTitle: false };
  const xml = openXml(source);
  const say = (more: Look) => {
    if (!xml.within(...FORMER)) Object.assign(style.look, more);
  };
  xml.walk({
    on: {
      ...lookHandlers(say),
      "w:style": ({ "w:styleId": id = "" }) => {
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
  return (id) => (styles.get(id)?.isTitle ? { ...lookOf(id, 0), heading: 1 } : lookOf(id, 0));
}
