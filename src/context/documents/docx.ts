import type { Parts } from "./archives.ts";
import { decodedHtml } from "./decoded.ts";
import { damaged, type Growing } from "./growing.ts";
import { readHtml } from "./html.ts";
import { mainOf, relatedPart, relationsOf } from "./office.ts";
import { listsIn } from "./word-lists.ts";
import { readStory, type WordDocument } from "./word-story.ts";
import { stylesIn } from "./word-styles.ts";
import { isSaid, walkXml } from "./xml.ts";

/** @throws Unreadable */
export function readDocx(parts: Parts, text: Growing): void {
  const main = mainOf(parts, "word/document.xml");
  if (!parts.names.has(main)) throw damaged("it has no word/document.xml");
  const related = relationsOf(parts, main);
  const of = (type: string) => parts.text(relatedPart(parts, main, type));
  const lists = listsIn(of("numbering"), () => text.lose("list number"));
  const marks = noteMarks();
  const document: WordDocument = {
    ...{ text, lists, styles: stylesIn(of("styles"), lists.styled), mark: marks.mark },
    embed(id) {
      const part = related.get(id)?.target ?? "";
      const bytes = /\.x?html?$/i.test(part) ? parts.bytes(part) : undefined;
      if (bytes) readHtml(decodedHtml(bytes, text), text);
      else text.lose("embedded document");
    },
  };
  readStory(parts.text(main), text, document);
  for (const [type, element, kind] of NOTES) {
    const notes = notesIn(of(type), element, document);
    // Those to which nothing refers come last.
    for (const id of notes.keys()) marks.mark(kind, id);
    if (notes.size > 0) text.part(type);
    for (const [id, mark] of marks.of(kind)) {
      if (notes.has(id)) text.add(`[${mark}] ${notes.get(id)}\n`);
    }
  }
  for (const { type, target } of related.values()) {
    if (/^(header|footer)$/.test(type) && hasWords(parts.text(target))) text.lose("header or footer");
  }
}

const NOTES = [
  ["footnotes", "w:footnote", "^"],
  ["endnotes", "w:endnote", "^e"],
  ["comments", "w:comment", "comment "],
] as const;

/** The marks of notes: they are numbered in the order in which texts refer to them, as in print. */
function noteMarks() {
  const kinds = new Map<string, Map<string, string>>();
  const numbers = new Map<string, number>();
  const of = (kind: string) => kinds.get(kind) ?? new Map<string, string>();
  return {
    /** The marks of a kind by the ids of its notes. */
    of,
    mark(kind: string, id: string, sign?: string): string {
      const marks = of(kind);
      kinds.set(kind, marks);
      const known = marks.get(id);
      if (known !== undefined) return known;
      const isNumbered = sign === undefined && kind !== "comment ";
      const number = (numbers.get(kind) ?? 0) + 1;
      if (isNumbered) numbers.set(kind, number);
      const mark = `${kind}${isNumbered ? number : (sign ?? id)}`;
      marks.set(id, mark);
      return mark;
    },
  };
}

/** The notes of a part by their ids, each as one line. */
function notesIn(source: string, element: string, document: WordDocument): ReadonlyMap<string, string> {
  const notes = new Map<string, string>();
  let note = "";
  let id: string | undefined;
  const add = (more: string) => {
    note += more;
  };
  readStory(source, { add, gap: () => add("\n") }, document, {
    [element]: (given) => {
      note = "";
      // Those with a type are lines that part notes from the text.
      id = given["w:type"] === undefined ? given["w:id"] : undefined;
    },
    [`/${element}`]: () => {
      const said = note.trim().replace(/\n+/g, " ");
      if (id !== undefined && said !== "") notes.set(id, said);
    },
  });
  return notes;
}

/** True if a header or footer says something, in letters or as a picture of them. */
function hasWords(source: string): boolean {
  let has = isSaid(source, "w:t");
  walkXml(source, { "v:textpath": () => (has = true) });
  return has;
}
