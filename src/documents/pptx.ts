import { posix } from "node:path";
import type { Parts } from "./archives.ts";
import { type Growing, HIDDEN } from "./growing.ts";
import { BULLET, boundedNumber, counting, type NumberFormat, type Shift, shifting } from "./labels.ts";
import { type Handlers, openXml, walkXml } from "./markup.ts";
import { equations, NO_EQUATIONS } from "./math.ts";
import { mainOf, relationsOf, tableOf } from "./office.ts";
import { symbols } from "./symbols.ts";

export function readPptx(parts: Parts, text: Growing): void {
  const main = mainOf(parts, "ppt/presentation.xml");
  const related = relationsOf(parts, main);
  const known = new Map<string, readonly Markers[]>();
  /** Markers of a layout, and of its master. */
  const basesOf = (layout: string): readonly Markers[] => {
    const before = known.get(layout);
    if (before) return before;
    const master = targetsOf(parts, layout).get("slideMaster") ?? "";
    const bases = [layout, master].map((part) => markersIn(parts.text(part), text));
    known.set(layout, bases);
    return bases;
  };
  const ids: string[] = [];
  walkXml(parts.text(main), { "p:sldId": (slide) => ids.push(slide["r:id"] ?? "") });
  for (const [at, id] of ids.entries()) {
    const number = at + 1;
    const usual = related.size === 0 ? posix.join(posix.dirname(main), `slides/slide${number}.xml`) : "";
    const slide = related.get(id)?.target ?? usual;
    const targets = targetsOf(parts, slide);
    const notes = targets.get("notesSlide");
    const source = parts.text(slide);
    const isHidden = isHiddenSlide(source);
    text.part(`slide ${number}`, undefined, isHidden);
    if (isHidden) text.lose(HIDDEN.slide, number);
    const isDamaged = [slide, notes].some((part) => part !== undefined && !parts.names.has(part));
    const has = readSlide(source, text, basesOf(targets.get("slideLayout") ?? ""));
    const hasNotes = notes !== undefined && readSlide(parts.text(notes), text, [], "Notes:\n");
    if (isDamaged) text.lose("damaged part", number);
    else if (!has && !hasNotes) text.lose("slide without text", number);
  }
}

/** The beginning of a slide, in which its first element is. */
const HEAD_UNITS = 10_000;

/** True for a slide that a show leaves out. */
function isHiddenSlide(source: string): boolean {
  let isHidden = false;
  walkXml(source.slice(0, HEAD_UNITS), {
    "p:sld": ({ show }) => (isHidden = show === "0" || show === "false"),
  });
  return isHidden;
}

/** The parts that a part refers to, by the types of the relations. */
const targetsOf = (parts: Parts, of: string) =>
  new Map(Array.from(relationsOf(parts, of).values(), ({ type, target }) => [type, target]));

/**
 * Elements whose text nobody sees: the ids of the looks of tables, and what an animation changes.
 */
const SILENT = ["a:tableStyleId", "p:attrName"];

/**
 * True if the slide has text.
 *
 * @param bases what marks paragraphs by its layout, and by its master
 */
function readSlide(source: string, text: Growing, bases: readonly Markers[], lead = ""): boolean {
  const xml = openXml(source);
  const table = tableOf(xml, text, "a:tbl", "a:tr", "a:tc");
  const lists = listsOn(xml.within, text, bases);
  let paragraph = "";
  let has = false;
  const lose = () => text.lose("equation");
  const math = source.includes("oMath") ? equations((line) => put(line), lose) : NO_EQUATIONS;
  let shift: Shift = "";
  let shifted = shifting();
  // The fonts of a run: of its letters, and of signs in it.
  let font = "";
  let signs = "";
  // The number of the slide is a field, and cells that another one covers are not shown.
  let isNumber = false;
  let isCovered = false;
  // The pieces of text so far, and before the choice that was opened last.
  let pieces = 0;
  let piecesBefore = 0;
  const isForOlder = () => xml.within("mc:Fallback");
  const put = (said: string) => {
    if (isForOlder()) return;
    if (!math.take(said)) paragraph += said;
    pieces += 1;
  };
  const say = (words: string) => {
    const isSigns = signs !== "" && /^[\s\u0080-\u00ff\uf000-\uf0ff]+$/.test(words);
    const said = symbols(words, isSigns ? signs : font, () => text.lose("character without a meaning"));
    put(shifted(paragraph, said, shift));
  };
  const begin = () => {
    [font, signs, shift] = ["", "", ""];
  };
  const take = (said: string) => {
    // The same content for older programs is told if the newer ones have none.
    if (isForOlder()) return pieces > piecesBefore;
    const isLeft = (isNumber && xml.within("a:fld")) || (isCovered && xml.within("a:tc"));
    if (xml.within("m:t")) put(said);
    else if (!xml.within("a:t")) return xml.within(...SILENT);
    else if (!isLeft) say(said);
    return true;
  };
  const on: Handlers = {
    ...table.handlers,
    ...lists.handlers,
    ...math.handlers,
    "a:tc"({ hMerge, vMerge }) {
      table.handlers["a:tc"]?.({});
      isCovered = isTrue(hMerge) || isTrue(vMerge);
    },
    "p:cNvPr"({ hidden }) {
      if (isTrue(hidden)) text.lose(HIDDEN.shape);
    },
    "a:fld"({ type }) {
      begin();
      isNumber = type === "slidenum";
    },
    "mc:Choice": () => (piecesBefore = pieces),
    "a:r": begin,
    "a:rPr": ({ baseline = "0" }) => (shift = shiftOf(Number.parseFloat(baseline))),
    "a:latin": ({ typeface = "" }) => (font = typeface),
    "a:sym": ({ typeface = "" }) => (signs = typeface),
    "a:br": () => put("\n"),
    "/a:p"() {
      const said = paragraph.trim();
      paragraph = "";
      shifted = shifting();
      if (said === "") return;
      const { indent, label } = lists.next();
      if (!table.take(`${label}${said}`)) text.add(`${has ? "" : lead}${indent}${label}${said}\n`);
      has = true;
    },
  };
  xml.walk({ take, unread: text.unread, on });
  return has;
}

const isTrue = (given: string | undefined) => given === "1" || given === "true";

/** The place of words by how far their line is raised, in thousandths or percent. */
const shiftOf = (raised: number): Shift => (raised > 0 ? "^" : raised < 0 ? "_" : "");

/** The sign or number before paragraphs of a list. */
interface Marker {
  /** The kind of number, such as `alphaLcParenR` for `a)`; "" of the two below. */
  readonly type: string;
  readonly start: number;
}

const SIGN: Marker = { type: "", start: 1 };
const NONE: Marker = { type: "", start: 1 };

/**
 * Markers of paragraphs that do not say their own, by a name of the shape and the level: `body1 0`.
 */
type Markers = Map<string, Marker>;

/** Finds what marks paragraphs by a layout or master. */
function markersIn(source: string, text: Growing): Markers {
  const xml = openXml(source);
  const { handlers, markers } = listsOn(xml.within, text, []);
  xml.walk({ on: handlers });
  return markers;
}

/** The elements that say what marks the paragraphs of each level. */
const LEVELS = Array.from({ length: 9 }, (_, level) => `a:lvl${level + 1}pPr`);

/** The lists of the shapes of a slide, layout or master. */
function listsOn(within: (...names: readonly string[]) => boolean, text: Growing, bases: readonly Markers[]) {
  let count = counting();
  let level = 0;
  let own: Marker | undefined;
  // The marker of the last paragraph of each level.
  let last: Marker[] = [];
  const markers: Markers = new Map();
  // The shape's own name, and those of its placeholder in layouts and in masters.
  let shapes = 0;
  let names: string[] = [];
  const mark = (marker: Marker, usual = marker) => {
    if (within("a:pPr")) own = marker;
    const at = LEVELS.findIndex((name) => within(name));
    for (const key of names.map((name) => `${name} ${at}`)) {
      // The words of a master for all shapes count behind those of its placeholders.
      if (!markers.has(key)) markers.set(key, usual);
    }
  };
  // Those that a paragraph does not give itself are not shown.
  const sign = () => mark(SIGN, NONE);
  const shape = () => (names = [`${++shapes}`]);
  const begin = () => {
    count = counting();
    last = [];
  };
  const handlers: Handlers = {
    "p:sp": shape,
    "p:ph"({ type = "", idx = "0" }) {
      const [name = "body"] = /^(title|ctrTitle|dt|ftr|sldNum)$/.exec(type) ?? [];
      names.push(name + idx, name);
    },
    "p:titleStyle": () => (names = ["title", "ctrTitle"]),
    "p:bodyStyle": () => (names = ["body"]),
    "p:otherStyle": shape,
    "p:txBody": begin,
    "a:txBody"() {
      shape();
      begin();
    },
    "a:p": () => ([level, own] = [0, undefined]),
    "a:pPr"({ lvl }) {
      // A field has properties of its own.
      if (!within("a:fld")) level = boundedNumber(lvl, 0, LEVELS.length - 1);
    },
    "a:buNone": () => mark(NONE),
    "a:buChar": sign,
    "a:buBlip": sign,
    "a:buAutoNum": ({ type = "", startAt }) => mark({ type, start: boundedNumber(startAt, 1) }),
  };
  /** The indent and label of the paragraph that ends here. */
  const next = () => {
    const usual = [markers, ...bases].map((base, at) => base.get(`${names[at]} ${level}`));
    const marker = [own, ...usual].find((one) => one !== undefined) ?? NONE;
    const before = last[level];
    last = [...last.slice(0, level), marker];
    if (marker === NONE) return { indent: "", label: "" };
    const indent = "  ".repeat(level);
    if (marker === SIGN) return { indent, label: `${BULLET} ` };
    const goesOn = before?.type === marker.type && before.start === marker.start;
    const { format, label } = numberingOf(marker.type, level);
    if (format === undefined) text.lose("list number", marker.type);
    const shown = { format: format ?? "1", label, start: marker.start };
    return { indent, label: `${count.next(level, () => shown, goesOn ? undefined : marker.start)} ` };
  };
  return { handlers, markers, next };
}

const FORMATS: readonly (readonly [name: RegExp, format: NumberFormat])[] = [
  [/^arabic[A-Z]/, "1"],
  [/^alphaLc/, "a"],
  [/^alphaUc/, "A"],
  [/^romanLc/, "i"],
  [/^romanUc/, "I"],
];

const ENDS: readonly (readonly [name: RegExp, sign: string])[] = [
  [/Period$/, "."],
  [/Minus$/, "-"],
  [/Paren(R|Both)$/, ")"],
];

/**
 * The form of numbers, by the beginning and the end of the name of their kind; no format if it is
 * not one of these.
 */
function numberingOf(type: string, level: number) {
  const format = FORMATS.find(([name]) => name.test(type))?.[1];
  const before = type.endsWith("ParenBoth") ? "(" : "";
  const sign = ENDS.find(([name]) => name.test(type))?.[1] ?? "";
  return { format, label: [before, level, sign] };
}
