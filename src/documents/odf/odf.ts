import { posix } from "node:path";
import type { Parts } from "../archives.ts";
import { type Growing, HIDDEN } from "../growing.ts";
import { textOfHtml } from "../html/html.ts";
import { boundedNumber } from "../labels.ts";
import type { Attributes } from "../markup.ts";
import { type Handlers, openXml, textsIn, walkXml } from "../markup.ts";
import { type BlockKind, block, refuseEncrypted, type Table, tableOf } from "../office.ts";
import { symbols } from "../symbols.ts";
import {
  begin,
  beginItem,
  beginNote,
  end,
  endNote,
  enter,
  flowInto,
  headingLabel,
  hideParagraph,
  labelIn,
  leave,
  type OdfLists,
  openList,
  openLists,
  openStory,
  PLAIN,
  put,
  putPlain,
  rowsOf,
  SHAPES,
  type Story,
  writeNotes,
} from "./story.ts";
import { listStyleHandlers, noStyles, styleHandlers, styleOf } from "./styles.ts";

/** Elements whose text is not a text of the document, or is told as another loss. */
const SILENT = new Set([
  // Labels and marks are made anew.
  "text:note-citation",
  "text:number",
  // When a comment was written, and who changed something.
  "dc:date",
  "meta:date-string",
  "meta:creator-initials",
  "loext:sender-initials",
  "office:change-info",
  // Numbers of pages, and what programs make indexes from.
  "text:page-number",
  "text:index-title-template",
  "text:index-entry-span",
  // People see a picture and not its description, and not a cell that another one covers.
  "svg:title",
  "svg:desc",
  "table:title",
  "table:desc",
  "table:covered-table-cell",
  "mc:Fallback",
  // Each of these is told.
  "text:deletion",
  "text:ruby-text",
  "text:script",
  "annotation",
  "office:binary-data",
  "office:forms",
]);

/** Words that are declared once, and that slides repeat. */
const REPEATED = ["presentation:header-decl", "presentation:footer-decl", "presentation:date-time-decl"];

/** Reads an OpenDocument text, presentation or drawing. @throws Unreadable */
export function readOdf(parts: Parts, text: Growing): void {
  refuseEncrypted(parts);
  const styles = noStyles();
  const common = parts.text("styles.xml");
  walkXml(common, { ...listStyleHandlers(styles), ...styleHandlers(styles, false) });
  const xml = openXml(parts.text("content.xml"));
  const write = (said: string, kind?: BlockKind) => {
    if (kind) block(text, table, said, kind);
    else if (said === "") text.gap();
    else text.add(said);
  };
  const story = openStory(write);
  const table = tableOf(xml, rowsOf(story), "table:table", ROW, CELL);
  const lists = openLists(styles, (format) => text.lose("list number", format));
  const loseDeleted = () => text.lose("deleted by a tracked change");
  const hiding = hidingIn(story, text);
  let pages = 0;
  let hasWords = false;
  const page = () => (xml.within("office:drawing") ? "page" : "slide");
  const on: Handlers = {
    ...listStyleHandlers(styles),
    ...styleHandlers(styles, true),
    ...paragraphHandlers(story, lists),
    ...listHandlers(story, lists, () => xml.within("draw:page")),
    ...noteHandlers(story),
    ...objectHandlers(parts, text, (words) => putPlain(story, words)),
    ...table.handlers,
    ...cellHandlers(story, table, write),
    "text:tracked-changes": () => enter(story, { flow: flowInto(loseDeleted) }),
    "/text:tracked-changes": () => leave(story),
    "text:deletion": loseDeleted,
    "text:ruby-text": () => text.lose("reading of characters"),
    "text:numbered-paragraph": () => text.lose("list number"),
    ...hiding.handlers,
    "draw:page"({ "draw:style-name": style }) {
      pages += 1;
      const isHidden = styleOf(styles, "drawing-page", style).isHidden === true;
      text.part(`${page()} ${pages}`, undefined, isHidden);
      if (isHidden) text.lose(HIDDEN.slide, pages);
      hasWords = false;
    },
    "/draw:page"() {
      if (!hasWords) text.lose(`${page()} without text`, pages);
    },
  };
  const signs = (words: string, font: string) => symbols(words, font, () => text.lose("character without a meaning"));
  const take = (said: string) => {
    const { note } = story.frame;
    if (xml.within("dc:creator")) {
      if (note) note.author += said;
      return note !== undefined;
    }
    if (story.frame.paragraph && hiding.takes(said)) return true;
    const isTaken = put(story, said, signs);
    hasWords ||= isTaken && said.trim() !== "";
    // Formats of numbers have signs.
    return isTaken || xml.within("office:automatic-styles");
  };
  const unread = (name: string) => (REPEATED.includes(name) ? text.lose("header or footer") : text.unread(name));
  xml.walk({ take, unread, on, silent: SILENT });
  writeNotes(story, text);
  loseHeaders(common, text);
}

/** Leaves out the words that nobody sees: those of a hidden section, paragraph or span, each a loss. */
function hidingIn(story: Story, text: Growing) {
  const sections: boolean[] = [];
  const lose = () => text.lose("hidden text");
  const isOn = ({ "text:is-hidden": isHidden }: Attributes) => isHidden === "true";
  const handlers: Handlers = {
    "text:section": (given) => sections.push(given["text:display"] === "none" || isOn(given)),
    "/text:section": () => sections.pop(),
    "text:hidden-text": (given) => isOn(given) && lose(),
    "text:hidden-paragraph"(given) {
      const { paragraph } = story.frame;
      if (!paragraph || !isOn(given)) return;
      if (paragraph.said.trim() !== "") lose();
      hideParagraph(paragraph);
    },
  };
  return {
    handlers,
    /** True if the words are left out. */
    takes(words: string): boolean {
      const isHidden = sections.includes(true) || story.frame.paragraph?.looks.at(-1)?.isHidden === true;
      if (isHidden && words.trim() !== "") lose();
      return isHidden;
    },
  };
}

const ROW = "table:table-row";
const CELL = "table:table-cell";
const COLUMNS = "table:number-columns-repeated";

function cellHandlers(story: Story, table: Table, write: (said: string, kind?: BlockKind) => void): Handlers {
  return {
    [CELL](given) {
      table.handlers[CELL]?.(given);
      table.cover(
        boundedNumber(given["table:number-columns-spanned"], 1),
        boundedNumber(given["table:number-rows-spanned"], 1),
      );
      table.span(boundedNumber(given[COLUMNS], 1), true);
      enter(story, { flow: flowInto(write) });
    },
    [`/${CELL}`](given) {
      leave(story);
      table.handlers[`/${CELL}`]?.(given);
    },
    [ROW](given) {
      table.handlers[ROW]?.(given);
      table.repeat(boundedNumber(given["table:number-rows-repeated"], 1));
    },
    "table:covered-table-cell": (given) => table.skip(boundedNumber(given[COLUMNS], 1)),
  };
}

/** Handlers of paragraphs, headings, and what stands in them. */
function paragraphHandlers(story: Story, lists: OdfLists): Handlers {
  const { styles } = lists;
  const beginIn = (given: Attributes, heading: number) => {
    const style = given["text:style-name"];
    const { list, font, isHidden } = styleOf(styles, "paragraph", style);
    const isNumbered = heading > 0 && given["text:is-list-header"] !== "true" && list !== "";
    const item = labelIn(lists, story.frame, style) ?? (isNumbered ? headingLabel(lists, given) : {});
    begin(story, { ...item, heading }, font, isHidden);
  };
  return {
    "text:h": (given) => beginIn(given, Math.min(Number(given["text:outline-level"]) || 1, 6)),
    "text:p": (given) => beginIn(given, 0),
    "/text:h": () => end(story),
    "/text:p": () => end(story),
    "text:span"({ "text:style-name": name }) {
      const looks = story.frame.paragraph?.looks;
      looks?.push({ ...(looks.at(-1) ?? PLAIN), ...styleOf(styles, "text", name) });
    },
    "/text:span": () => story.frame.paragraph?.looks.pop(),
    "text:tab": () => putPlain(story, "\t"),
    "text:line-break": () => putPlain(story, "\n"),
    "text:s": ({ "text:c": count }) => putPlain(story, " ".repeat(boundedNumber(count, 1, 100))),
  };
}

/** Handlers of lists. @param isOnSlide there the lists of one style in a shape are shown as one */
function listHandlers(story: Story, lists: OdfLists, isOnSlide: () => boolean): Handlers {
  const shapes = SHAPES.flatMap((name) => [
    [name, () => enter(story)] as const,
    [`/${name}`, () => leave(story)] as const,
  ]);
  return {
    ...Object.fromEntries(shapes),
    "text:list"(given) {
      openList(lists, story.frame, given, given["text:continue-numbering"] === "true" || isOnSlide());
    },
    "/text:list": () => story.frame.lists.pop(),
    "text:list-item": (given) => beginItem(story.frame, given, false),
    "text:list-header": (given) => beginItem(story.frame, given, true),
  };
}

function noteHandlers(story: Story): Handlers {
  return {
    "text:note": (given) => beginNote(story, given["text:note-class"] === "endnote" ? "^e" : "^"),
    "text:note-citation"({ "text:label": sign }) {
      const { note } = story.frame;
      // One with a sign of its own is not counted.
      if (note) note.sign = sign?.slice(0, MOST_SIGNS);
    },
    "/text:note": () => endNote(story),
    "office:annotation": () => beginNote(story, "comment ", String(story.notes.length + 1)),
    "/office:annotation": () => endNote(story),
  };
}

/** A mark that an author chose, such as `*`. */
const MOST_SIGNS = 20;

const HEADERS = ["header", "footer"].flatMap((name) => [name, `${name}-left`, `${name}-first`]);

/** Loses headers and footers that say more than the number of a page. */
function loseHeaders(source: string, text: Growing): void {
  for (const name of HEADERS.filter((name) => source.includes(name))) {
    const said = textsIn(source, `style:${name}`, `style:${name}`, "text:page-number");
    for (const one of said) if (one.trim() !== "") text.lose("header or footer");
  }
}

/**
 * Takes equations, and tells of objects that are not read.
 *
 * @param say told of the words of an equation
 */
function objectHandlers(parts: Parts, text: Growing, say: (words: string) => void): Handlers {
  const lose = (kind: string) => () => text.lose(kind);
  const read = new Map<string, string>();
  return {
    "draw:object"({ "xlink:href": href }) {
      // Without a reference it holds its content here.
      if (href === undefined) return;
      const words = read.get(href) ?? wordsOf(parts.text(posix.join(href, "content.xml")), text);
      read.set(href, words);
      say(words);
    },
    "draw:object-ole": lose("embedded object"),
    "draw:applet": lose("embedded object"),
    "draw:floating-frame": lose("embedded object"),
    "draw:plugin": lose("recording"),
    "draw:control": lose("form field"),
    "text:script": lose("macro"),
    "office:binary-data": lose("image"),
    math: lose("equation"),
    "draw:image"({ "xlink:href": href = "" }) {
      if (/^[a-z][a-z\d+.-]+:|^\.\.\//i.test(href)) text.lose("image");
    },
  };
}

/** The words of an equation: as its author wrote it, or as a line. Another object is a loss. */
function wordsOf(source: string, text: Growing): string {
  let kind = "embedded object";
  walkXml(source, { math: () => (kind = "equation"), "office:chart": () => (kind = "chart") });
  if (kind !== "equation") {
    text.lose(kind);
    return "";
  }
  const [typed] = textsIn(source, "annotation", "annotation");
  // Older programs write a prefix before each name.
  return (typed || textOfHtml(source.replace(/(<\/?)\w+:(?=m)/g, "$1"), text)).trim();
}
