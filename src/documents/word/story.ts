import type { Growing } from "../growing.ts";
import { BULLET, boundedNumber, type Shifting, shifting } from "../labels.ts";
import type { Attributes } from "../markup.ts";
import { type Handlers, openXml, type Xml } from "../markup.ts";
import { type Equations, equations } from "../math.ts";
import { block, type Lines, type Table, tableOf } from "../office.ts";
import { symbols } from "../symbols.ts";
import type { Lists, NextLabel, Styles } from "./styles.ts";
import { FORMER, isOn, type Look, lookHandlers } from "./styles.ts";

/** The styles, lists and marks of notes that the texts of a document have in common. */
export interface WordDocument {
  /** Told of losses. */
  readonly text: Growing;
  readonly styles: Styles;
  readonly lists: Lists;
  /**
   * The mark of a note, where a text refers to it.
   *
   * @param hasSign true if a sign of the author's own follows
   */
  mark(kind: string, id: string, hasSign?: boolean): string;
  /** The text of a document that is embedded at this place. */
  embed(id: string): string;
}

/**
 * Elements whose text is none of the document: codes of fields, places of pictures, and what is
 * told as another loss.
 */
const SILENT = [
  "w:instrText",
  "w:delText",
  "w:delInstrText",
  "w:fldData",
  "wp:posOffset",
  "wp:align",
  "wp14:pctWidth",
  "wp14:pctHeight",
  "wp14:pctPosHOffset",
  "wp14:pctPosVOffset",
  "o:OLEObject",
  "x:ClientData",
];
/** Fields that show something and have no result, by the loss that it is. */
const UNSAID: readonly (readonly [code: RegExp, kind: string])[] = [
  [/^\s*(AUTONUM|LISTNUM)/i, "list number"],
  [/^\s*EQ\b/i, "equation"],
  [/^\s*(MACROBUTTON|GOTOBUTTON)\b/i, "form field"],
];
/**
 * Elements whose words people do not see: they were deleted or moved, are spoken, or stand there
 * for older programs.
 */
const LEFT_OUT = ["w:del", "w:moveFrom", "w:rt", "mc:Fallback"];

/** A paragraph that is open. One of a box lies in another one. */
interface Paragraph {
  said: string;
  /** The words that were added last. */
  last: string;
  readonly shift: Shifting;
  /** The look by its style, and its own. */
  style: Look;
  readonly own: Look;
  /** The state of its end. Without an end the paragraph continues in the next one. */
  end: "seen" | "hidden" | "joined";
}

/** A text of a document that is being read: its body, or notes. */
interface Story {
  readonly document: WordDocument;
  readonly lines: Lines;
  readonly xml: Xml;
  readonly table: Table;
  readonly math: Equations;
  readonly open: Paragraph[];
  /** The counts of items: each box has its own. */
  readonly counts: NextLabel[];
  /** The look of the words that are read. */
  run: Look;
  /** The words of paragraphs that continue in the next one. */
  carried: string;
  /** True for each open field that has still to come to its result, which people see. */
  readonly fields: boolean[];
  /** The number of these. */
  codes: number;
  /** True once the last choice, which stands there again for older programs, has said something. */
  isSaid: boolean;
}

/** Reads the body of a document, or its notes. @param on further handlers */
export function readStory(source: string, lines: Lines, document: WordDocument, on: Handlers = {}): void {
  const xml = openXml(source);
  const table = tableOf(xml, lines, "w:tbl", "w:tr", "w:tc");
  const math = equations(
    (line) => put(story, line),
    () => document.text.lose("equation"),
  );
  const story: Story = {
    document,
    lines,
    xml,
    table,
    math,
    open: [],
    counts: [document.lists.count()],
    run: {},
    carried: "",
    fields: [],
    codes: 0,
    isSaid: false,
  };
  const take = (words: string) => {
    // The same content for older programs: it is told if the newer ones have none.
    if (xml.within("mc:Fallback")) return story.isSaid;
    const isSaid = xml.within("w:t", "m:t");
    if (isSaid) say(story, words);
    else if (xml.within("w:instrText")) loseUnsaid(story, words);
    return isSaid || xml.within(...SILENT);
  };
  xml.walk({
    take,
    unread: document.text.unread,
    on: {
      ...math.handlers,
      ...tableHandlers(story),
      ...paragraphHandlers(story),
      ...wordHandlers(story),
      ...fieldHandlers(story),
      ...noteHandlers(story),
      ...on,
    },
  });
  put(story, story.carried);
}

/** Loses what a field shows without a result: the number of an item, an equation, a button. */
function loseUnsaid({ document }: Story, code: string): void {
  const unsaid = UNSAID.find(([pattern]) => pattern.test(code));
  if (unsaid) document.text.lose(unsaid[1]);
}

const isLeftOut = ({ xml }: Story) => xml.within(...LEFT_OUT);

/** Adds words, unless people do not see them. */
function put(story: Story, words: string): void {
  if (words !== "" && !isLeftOut(story)) add(story, words);
}

/** Adds words to what is open: an equation, a paragraph, or the text itself. */
function add(story: Story, words: string): void {
  const paragraph = story.open.at(-1);
  story.isSaid = true;
  if (story.math.take(words)) return;
  if (paragraph) {
    paragraph.said += words;
    paragraph.last = words;
  } else if (words.trim() !== "") block(story.lines, story.table, words.trim(), {});
}

/** Adds words as they look: raised, in a font of symbols, or not at all. */
function say(story: Story, words: string, font?: string): void {
  const { open, run, codes, fields, document } = story;
  const { style = {}, last = "", shift } = open.at(-1) ?? {};
  if (isLeftOut(story) || words === "") return;
  // The result of a field within the code of another one, which people see as the result of that.
  if (codes > 0 && fields.at(-1) === false) return;
  if (codes > 0 || (run.isHidden ?? style.isHidden)) {
    if (words.trim() !== "") document.text.lose("hidden text");
    return;
  }
  const lose = () => document.text.lose("character without a meaning");
  const signs = symbols(words, font ?? run.font ?? style.font ?? "", lose);
  add(story, shift?.(last, signs, run.shift ?? style.shift ?? "") ?? signs);
}

function paragraphHandlers(story: Story): Handlers {
  const { xml, open, counts, document, lines, table } = story;
  const change = (work: (paragraph: Paragraph) => void) => {
    const paragraph = open.at(-1);
    if (paragraph && !xml.within(...FORMER)) work(paragraph);
  };
  const join = (paragraph: Paragraph) => {
    paragraph.end = "joined";
  };
  const look = (more: Look) => {
    change((paragraph) => {
      if (!xml.within("w:pPr")) Object.assign(story.run, more);
      else if (!xml.within("w:rPr")) Object.assign(paragraph.own, more);
      else if (more.isHidden) paragraph.end = "hidden";
    });
  };
  const lose = () => document.text.lose("deleted by a tracked change");
  const remove = () => {
    if (xml.within("w:pPr")) change(join);
    else if (xml.within("w:trPr")) story.table.repeat(0, lose);
    return !xml.within("w:pPr", "w:trPr", "m:ctrlPr");
  };
  const embed = ({ "r:id": id = "" }: Attributes) => {
    const words = document.embed(id).trim();
    if (words !== "") block(lines, table, words, {});
  };
  return {
    ...lookHandlers(look),
    "w:p": () => {
      // The code of a field does not go over paragraphs. If its end is missing, it ends here.
      if (open.length === 0) {
        story.fields.length = 0;
        story.codes = 0;
      }
      open.push({
        said: story.carried,
        last: "",
        shift: shifting(),
        style: document.styles.plain,
        own: {},
        end: "seen",
      });
      story.carried = "";
    },
    "/w:p": () => finish(story),
    "w:pStyle": ({ "w:val": id = "" }) =>
      change((paragraph) => (paragraph.style = { ...document.styles.all, ...document.styles.of(id) })),
    // A large letter begins the next paragraph.
    "w:framePr": ({ "w:dropCap": cap = "none" }) => cap !== "none" && change(join),
    "w:numPr": () => {
      if (open.at(-1)?.style.list === undefined) look({ list: "" });
    },
    "w:del": () => remove() && lose(),
    "w:moveFrom": remove,
    "w:txbxContent": () => counts.push(document.lists.count()),
    "/w:txbxContent": () => counts.pop(),
    "w:altChunk": embed,
    "w:subDoc": embed,
  };
}

/** Ends a paragraph: it becomes lines, or a part of the one in which its box lies. */
function finish(story: Story): void {
  const { said = "", style = {}, own = {}, end = "seen" } = story.open.pop() ?? {};
  if (end === "joined") story.carried = said;
  if (end === "joined" || isLeftOut(story)) return;
  const words = said.trim();
  if (words === "" && end === "hidden") return;
  const list = own.list ?? style.list;
  const level = own.level ?? style.level ?? 0;
  const next = story.counts.at(-1);
  const label = list === undefined ? "" : (next?.(list, level) ?? "");
  // People see the number of an item that is empty, as in the first column of a table.
  if (words === "" && (label === "" || label === BULLET)) return;
  const host = story.open.at(-1);
  if (host) put(story, `${host.last.endsWith(" ") ? "" : " "}${`${label} ${words}`.trim()} `);
  else block(story.lines, story.table, words, { heading: style.heading ?? 0, label, level });
}

/** Handlers of tables. */
function tableHandlers({ xml, table }: Story): Handlers {
  const columns = (work: (columns: number) => void, otherwise: number) => (given: Attributes) => {
    if (!xml.within(...FORMER)) work(boundedNumber(given["w:val"], otherwise));
  };
  return {
    ...table.handlers,
    "w:gridSpan": columns(table.span, 1),
    "w:gridBefore": columns(table.skip, 0),
  };
}

/** Handlers of what stands between words. */
function wordHandlers(story: Story): Handlers {
  const { xml, document } = story;
  const char = (font: string, code: string) => {
    const number = Number.parseInt(code, 16);
    if (number > 0 && number <= 0x10ffff) say(story, String.fromCodePoint(number), font);
  };
  const begin = () => (story.run = {});
  return {
    "w:r": begin,
    "m:r": begin,
    "w:rStyle": ({ "w:val": id = "" }) => {
      if (!xml.within(...FORMER)) story.run = { ...document.styles.of(id) };
    },
    "w:tab": () => put(story, xml.within("w:tabs") ? "" : "\t"),
    "w:ptab": () => put(story, "\t"),
    "w:br": () => put(story, "\n"),
    "w:cr": () => put(story, "\n"),
    "w:noBreakHyphen": () => put(story, "-"),
    "w:sym": ({ "w:font": font = "", "w:char": code = "" }) => char(font, code),
    // A sign beyond the first plane, such as an emoji.
    "w16se:symEx": ({ "w16se:char": code = "" }) => char("", code),
    // A picture that stands outside of the file alone.
    "a:blip": (picture) => {
      if (picture["r:link"] !== undefined && picture["r:embed"] === undefined) document.text.lose("image");
    },
    // Letters that are drawn as a picture.
    "v:textpath": ({ string = "" }) => put(story, ` ${string} `),
    "mc:AlternateContent": () => {
      if (xml.depth("mc:AlternateContent") === 1) story.isSaid = false;
    },
    "w:rt": () => document.text.lose("reading of characters"),
  };
}

/** Handlers of fields, of which people see the result, and of the boxes and lists of a form. */
function fieldHandlers(story: Story): Handlers {
  const { fields } = story;
  let isChecked = false;
  let entries: string[] = [];
  let chosen = 0;
  const check = (box: Attributes) => {
    isChecked = isOn(box);
  };
  return {
    "w:fldChar": ({ "w:fldCharType": type }) => {
      const isCode = type === "begin" || fields.pop();
      if (isCode) story.codes += type === "begin" ? 1 : -1;
      if (type === "begin") fields.push(true);
      else if (type === "separate") fields.push(false);
    },
    "w:fldSimple": ({ "w:instr": code = "" }) => loseUnsaid(story, code),
    "w:checkBox": () => (isChecked = false),
    "w:default": check,
    "w:checked": check,
    "/w:checkBox": () => put(story, isChecked ? "☒" : "☐"),
    "w:ddList": () => {
      entries = [];
      chosen = 0;
    },
    "w:result": ({ "w:val": number }) => (chosen = boundedNumber(number, 0)),
    "w:listEntry": ({ "w:val": entry = "" }) => entries.push(entry),
    "/w:ddList": () => put(story, entries[chosen] ?? ""),
  };
}

/** Handlers of references to notes. */
function noteHandlers(story: Story): Handlers {
  const { document } = story;
  const refer = (kind: string) => (note: Attributes) => {
    const { "w:id": id = "", "w:customMarkFollows": sign = "0" } = note;
    if (!isLeftOut(story)) add(story, `[${document.mark(kind, id, isOn({ "w:val": sign }))}]`);
  };
  return {
    "w:footnoteReference": refer("^"),
    "w:endnoteReference": refer("^e"),
    "w:commentReference": refer("comment "),
  };
}
