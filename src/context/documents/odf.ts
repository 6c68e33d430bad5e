import type { Parts } from "./archives.ts";
import type { Growing } from "./growing.ts";
import { boundedNumber, type Shift } from "./labels.ts";
import type { Attributes } from "./markup.ts";
import { odfForms } from "./odf-forms.ts";
import { type OdfLists, openLists } from "./odf-lists.ts";
import { odfNotes } from "./odf-notes.ts";
import { odfObjects } from "./odf-objects.ts";
import { type OdfParagraphs, openParagraphs } from "./odf-paragraphs.ts";
import { type OdfStyles, openStyles } from "./odf-styles.ts";
import { block, refuseEncrypted, type Table, tableOf } from "./office.ts";
import { symbols } from "./symbols.ts";
import { type Handlers, openXml } from "./xml.ts";

/** Elements whose text is not a text of the document, or is told as another loss. */
const SILENT = new Set([
  // Labels and marks are made anew.
  ...["text:note-citation", "text:number"],
  // Who wrote a comment or changed something, and when.
  ...[
    "dc:creator",
    "dc:date",
    "meta:date-string",
    "meta:creator-initials",
    "loext:sender-initials",
    "office:change-info",
  ],
  // Numbers of pages, and what programs make indexes from.
  ...["text:page-number", "text:index-title-template", "text:index-entry-span"],
  // People see a picture and not its description, and not a cell that another one covers.
  ...["svg:title", "svg:desc", "table:title", "table:desc", "table:covered-table-cell", "mc:Fallback"],
  // Each of these is told.
  ...["text:deletion", "text:ruby-text", "text:script", "annotation", "office:binary-data"],
]);

/** Words that are declared once, and that slides repeat. */
const REPEATED = ["presentation:header-decl", "presentation:footer-decl", "presentation:date-time-decl"];

/** Reads an OpenDocument text or presentation. @throws Unreadable */
export function readOdf(parts: Parts, text: Growing): void {
  refuseEncrypted(parts);
  const styles = openStyles();
  const headers = readStyles(parts.text("styles.xml"), styles.handlersFor(false));
  const xml = openXml(parts.text("content.xml"));
  const paragraphs = openParagraphs((said, kind) => block(text, table, said, kind));
  const rows = {
    add: (row: string) => paragraphs.later(() => text.add(row)),
    gap: () => paragraphs.later(text.gap),
  };
  const table = tableOf(xml, rows, "table:table", "table:table-row", "table:table-cell");
  const lists = openLists({
    styles,
    depth: paragraphs.depth,
    isOnSlide: () => xml.within("draw:page"),
    lose: (format) => text.lose("list number", format),
  });
  const words = odfWords(styles, lists, paragraphs, () => text.lose("character without a meaning"));
  const notes = odfNotes(paragraphs);
  let [slides, hasWords] = [0, false];
  const deleted = () => text.lose("deleted by a tracked change");
  const on = {
    ...styles.handlersFor(true),
    ...words.handlers,
    ...lists.handlers,
    ...notes.handlers,
    ...odfObjects(parts, text, paragraphs),
    ...odfForms(paragraphs),
    ...table.handlers,
    ...cellHandlers(table, paragraphs),
    "text:tracked-changes": () => paragraphs.holdIn(deleted),
    "/text:tracked-changes": paragraphs.release,
    "text:deletion": deleted,
    "text:ruby-text": () => text.lose("reading of characters"),
    "draw:page"() {
      text.part(`slide ${++slides}`);
      hasWords = false;
    },
    "/draw:page"() {
      if (!hasWords) text.lose("slide without text", slides);
    },
  };
  const take = (said: string) => {
    const isTaken = words.take(said);
    hasWords ||= isTaken && said.trim() !== "";
    // Formats of numbers have signs.
    return isTaken || xml.within("office:automatic-styles");
  };
  const unread = (name: string) => (REPEATED.includes(name) ? text.lose("header or footer") : text.unread(name));
  xml.walk({ take, unread, on, silent: SILENT });
  notes.write(text);
  for (let n = 0; n < headers; n++) text.lose("header or footer");
}

const ROW = "table:table-row";
const CELL = "table:table-cell";
const COLUMNS = "table:number-columns-repeated";

function cellHandlers(table: Table, paragraphs: OdfParagraphs): Handlers {
  return {
    [CELL](given) {
      table.handlers[CELL]?.(given);
      table.span(boundedNumber(given[COLUMNS], 1), true);
      paragraphs.holdIn();
    },
    [`/${CELL}`](given) {
      paragraphs.release();
      table.handlers[`/${CELL}`]?.(given);
    },
    [ROW](given) {
      table.handlers[ROW]?.(given);
      table.repeat(boundedNumber(given["table:number-rows-repeated"], 1));
    },
    "table:covered-table-cell": (given) => table.skip(boundedNumber(given[COLUMNS], 1)),
  };
}

/** The look of words. */
interface Look {
  readonly shift: Shift;
  readonly font: string;
}

/** Paragraphs, headings, and what stands in them. */
interface OdfWords {
  readonly handlers: Handlers;
  /** False if no paragraph takes the words. */
  take(said: string): boolean;
}

/** @param lose told of each character without a meaning */
function odfWords(styles: OdfStyles, lists: OdfLists, paragraphs: OdfParagraphs, lose: () => void): OdfWords {
  const looks: Look[] = [];
  const look = () => looks.at(-1) ?? { shift: "", font: "" };
  const begin = (given: Attributes, heading: number) => {
    const style = given["text:style-name"] ?? "";
    const { list, font = "" } = styles.style("paragraph", style);
    const isNumbered = heading > 0 && given["text:is-list-header"] !== "true" && list !== "";
    const item = lists.label(style) ?? (isNumbered ? lists.heading(given) : undefined);
    paragraphs.begin(item || heading > 0 ? { ...item, heading } : {});
    looks.push({ shift: "", font });
  };
  const end = () => {
    paragraphs.end();
    looks.pop();
  };
  return {
    handlers: {
      "text:h": (given) => begin(given, Math.min(Number(given["text:outline-level"]) || 1, 6)),
      "text:p": (given) => begin(given, 0),
      "/text:h": end,
      "/text:p": end,
      "text:span"({ "text:style-name": name = "" }) {
        const { shift, font } = styles.style("text", name);
        looks.push({ shift: shift ?? look().shift, font: font ?? look().font });
      },
      "/text:span": () => looks.pop(),
      "text:tab": () => paragraphs.putPlain("\t"),
      "text:line-break": () => paragraphs.putPlain("\n"),
      "text:s": ({ "text:c": count }) => paragraphs.putPlain(" ".repeat(boundedNumber(count, 1, 100))),
    },
    take(said) {
      const { shift, font } = look();
      return paragraphs.put(symbols(said, font, lose), shift);
    },
  };
}

const HEADERS = ["header", "footer"].flatMap((name) => [name, `${name}-left`, `${name}-first`]);

/** Reads the styles. @returns the number of headers and footers that say more than the number of a page */
function readStyles(source: string, styles: Handlers): number {
  const xml = openXml(source);
  let [said, count] = ["", 0];
  const take = (words: string) => {
    if (!xml.within("text:page-number")) said += words;
    return true;
  };
  const on: Record<string, (given: Attributes) => void> = { ...styles };
  for (const name of HEADERS) {
    on[`style:${name}`] = () => {
      said = "";
    };
    on[`/style:${name}`] = () => {
      if (said.trim() !== "") count += 1;
    };
  }
  xml.walk({ take, on });
  return count;
}
