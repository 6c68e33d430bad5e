import type { Parts } from "./archives.ts";
import { damaged, type Growing } from "./growing.ts";
import { BULLET } from "./labels.ts";
import { block, mainOf, relatedPart, relationsOf, tableOf } from "./office.ts";
import { type Handlers, isSaid, openXml, textsIn, walkXml } from "./xml.ts";

/** @throws Unreadable */
export function readDocx(parts: Parts, text: Growing): void {
  const main = mainOf(parts, "word/document.xml");
  if (!parts.names.has(main)) throw damaged("it has no word/document.xml");
  readWords(parts.text(main), text, headingsIn(parts.text(relatedPart(parts, main, "styles"))));
  const related = [...relationsOf(parts, main).values()];
  for (const [type, element, mark] of NOTES) {
    const notes = related
      .filter((part) => part.type === type)
      .flatMap(({ target }) => textsIn(parts.text(target), element, "w:t", { paragraph: "w:p" }))
      // Those with a type are lines that part notes from the text.
      .filter((note) => note.attributes["w:type"] === undefined && note.text.trim() !== "");
    if (notes.length > 0) text.part(type);
    for (const note of notes) text.add(`[${mark}${note.attributes["w:id"]}] ${note.text.trim()}\n`);
  }
  for (const { type, target } of related) {
    if (/^(header|footer)$/.test(type) && isSaid(parts.text(target), "w:t")) text.lose("header or footer");
  }
}

/** Elements whose text is no text of the document: codes of fields, places of pictures, and what is told as another loss. */
const SILENT = ["w:instrText", "w:delText", "w:delInstrText", "w:fldData", "wp:posOffset", "wp:align"];

const NOTES = [
  ["footnotes", "w:footnote", "^"],
  ["endnotes", "w:endnote", "^e"],
  ["comments", "w:comment", "comment "],
] as const;

/** Levels of headings by the ids of their styles. */
function headingsIn(styles: string): Map<string, number> {
  const levels = new Map<string, number>();
  let id = "";
  walkXml(styles, {
    "w:style": (style) => (id = style["w:styleId"] ?? ""),
    "w:name": ({ "w:val": name = "" }) => {
      const level = /^title$/i.test(name) ? 1 : Number(/^heading (\d)$/i.exec(name)?.[1] ?? 0);
      if (level > 0) levels.set(id, level);
    },
  });
  return levels;
}

function readWords(source: string, text: Growing, headings: ReadonlyMap<string, number>): void {
  const xml = openXml(source);
  const table = tableOf(xml, text, "w:tbl", "w:tr", "w:tc");
  let [paragraph, level, isItem] = ["", 0, false];
  const put = (said: string) => {
    // The same content for older programs, and at the place from which it was moved.
    if (!xml.within("w:del", "mc:Fallback", "w:moveFrom")) paragraph += said;
  };
  const take = (said: string) => {
    if (xml.within("w:t", "m:t")) put(said);
    return xml.within("w:t", "m:t", ...SILENT);
  };
  const on: Handlers = {
    ...table.handlers,
    // A box of text in a paragraph has paragraphs of its own.
    "w:p"() {
      if (xml.depth("w:p") === 1) [paragraph, level, isItem] = ["", 0, false];
      else if (!paragraph.endsWith(" ")) put(" ");
    },
    "/w:p"() {
      const said = paragraph.trim();
      if (xml.depth("w:p") > 1) paragraph = `${said} `;
      else if (said !== "") block(text, table, said, { heading: level, label: isItem ? BULLET : "" });
    },
    "w:del": () => text.lose("deleted by a tracked change"),
    "w:pStyle": (style) => (level = headings.get(style["w:val"] ?? "") ?? 0),
    "w:numPr": () => (isItem = true),
    "w:tab": () => put("\t"),
    "w:br": () => put("\n"),
    "w:noBreakHyphen": () => put("-"),
    "w:footnoteReference": (note) => put(`[^${note["w:id"]}]`),
    "w:endnoteReference": (note) => put(`[^e${note["w:id"]}]`),
    "w:commentReference": (note) => put(`[comment ${note["w:id"]}]`),
  };
  xml.walk({ take, unread: text.unread, on });
}
