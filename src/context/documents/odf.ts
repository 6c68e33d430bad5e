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
import { block, refuseEncrypted, tableOf } from "./office.ts";
import { symbols } from "./symbols.ts";
import { type Handlers, openXml } from "./xml.ts";

/** Elements whose text is not a text of the document, or is told as another loss. */
const SILENT = [
  // Deletions are counted; labels and marks are made anew.
  ...["text:tracked-changes", "text:note-citation", "text:number"],
  // Who wrote a comment, and when.
  ...["dc:creator", "dc:date", "meta:date-string", "meta:creator-initials", "loext:sender-initials"],
  // Numbers of pages, and what programs make indexes from.
  ...["text:page-number", "text:index-title-template", "text:index-entry-span"],
  // People see a picture and not its description, and not a cell that another one covers.
  ...["svg:title", "svg:desc", "table:title", "table:desc", "table:covered-table-cell"],
  // Signs of the formats of numbers.
  "office:automatic-styles",
  ...["text:ruby-text", "text:script", "annotation", "office:binary-data", "mc:Fallback"],
];

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
  const { on, isSilent } = heeding({
    ...words.handlers,
    ...lists.handlers,
    ...notes.handlers,
    ...odfObjects(parts, text, paragraphs),
    ...odfForms(paragraphs),
    ...table.handlers,
    "table:table-cell"(given) {
      table.handlers["table:table-cell"]?.(given);
      table.span(boundedNumber(given["table:number-columns-repeated"], 1));
      paragraphs.holdIn();
    },
    "/table:table-cell"(given) {
      paragraphs.release();
      table.handlers["/table:table-cell"]?.(given);
    },
    "table:covered-table-cell": (given) => table.skip(boundedNumber(given["table:number-columns-repeated"], 1)),
    "text:ruby-text": () => text.lose("reading of characters"),
    "draw:page"() {
      text.part(`slide ${++slides}`);
      hasWords = false;
    },
    "/draw:page"() {
      if (!hasWords) text.lose("slide without text", slides);
    },
    ...Object.fromEntries(SHAPES.map((name) => [`draw:${name}`, lists.shape])),
  });
  const take = (said: string) => {
    if (isSilent()) return !xml.within("text:tracked-changes") || xml.within(...CHANGES);
    const isTaken = words.take(said);
    hasWords ||= isTaken && said.trim() !== "";
    return isTaken;
  };
  const deleted = () => text.lose("deleted by a tracked change");
  const unread = (name: string) => {
    if (xml.within("text:tracked-changes")) deleted();
    else if (REPEATED.includes(name)) text.lose("header or footer");
    else text.unread(name);
  };
  xml.walk({ take, unread, on: { ...on, ...styles.handlersFor(true), "text:deletion": deleted } });
  notes.write(text);
  for (let n = 0; n < headers; n++) text.lose("header or footer");
}

/** Parts of tracked changes whose text is known: deletions, which are counted, and who changed what. */
const CHANGES = ["text:deletion", "office:change-info"];

/** Shapes that hold text. */
const SHAPES = [
  "text-box",
  "custom-shape",
  "rect",
  "ellipse",
  "circle",
  "path",
  "polygon",
  "line",
  "connector",
  "caption",
];

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
    const item = lists.label(style) ?? (isNumbered ? lists.heading(given) : {});
    paragraphs.begin({ ...item, heading });
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

/** Leaves out what is in silent elements, which may have handlers of their own. */
function heeding(on: Handlers): { readonly on: Handlers; isSilent(): boolean } {
  let silent = 0;
  const heeded: Record<string, (given: Attributes) => void> = {};
  for (const [name, handle] of Object.entries(on)) {
    heeded[name] = (given) => {
      if (silent === 0) handle(given);
    };
  }
  for (const name of SILENT) {
    const own = heeded[name];
    heeded[name] = (given) => {
      own?.(given);
      silent += 1;
    };
    heeded[`/${name}`] = () => {
      silent -= 1;
    };
  }
  return { on: heeded, isSilent: () => silent > 0 };
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
