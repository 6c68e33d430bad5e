import type { Parts } from "../archives.ts";
import { decodedHtml } from "../decoded.ts";
import { damaged, type Growing, withAuthor } from "../growing.ts";
import { textOfHtml } from "../html/html.ts";
import { isSaid, walkXml } from "../markup.ts";
import { contentTypes, mainOf, relatedPart, relationsOf } from "../office.ts";
import { readStory, type WordDocument } from "./story.ts";
import { listsIn, stylesIn } from "./styles.ts";

/** @throws Unreadable */
export function readDocx(parts: Parts, text: Growing): void {
  const main = mainOf(parts, "word/document.xml");
  if (!parts.names.has(main)) throw damaged("it has no word/document.xml");
  const related = relationsOf(parts, main);
  const of = (type: string) => parts.text(relatedPart(parts, main, type));
  const lists = listsIn(of("numbering"), () => text.lose("list number"));
  const marks = noteMarks();
  const typeOf = contentTypes(parts);
  const document: WordDocument = {
    text,
    lists,
    styles: stylesIn(of("styles"), lists.styled),
    mark: marks.mark,
    embed(id) {
      const part = related.get(id)?.target ?? "";
      const isHtml = /\.x?html?$/i.test(part) || /\bx?html\b/.test(typeOf(part));
      const bytes = isHtml ? parts.bytes(part) : undefined;
      if (bytes) return textOfHtml(decodedHtml(bytes, text), text);
      text.lose("embedded document");
      return "";
    },
  };
  readStory(parts.text(main), text, document);
  for (const [type, element, kind] of NOTES) {
    const notes = notesIn(of(type), element, document);
    // Those to which nothing refers come last.
    for (const id of notes.keys()) marks.mark(kind, id);
    if (notes.size > 0) text.part(type);
    for (const { mark, of, id } of marks.all.values()) {
      const said = of === kind ? notes.get(id) : undefined;
      if (said !== undefined) text.add(`[${mark}] ${said}\n`);
    }
  }
  for (const { type, target } of related.values()) {
    if (/^(header|footer)$/.test(type) && hasWords(parts.text(target))) text.lose("header or footer");
  }
}

/** The kind of notes whose marks are their ids. */
const COMMENT = "comment ";
const NOTES = [
  ["footnotes", "w:footnote", "^"],
  ["endnotes", "w:endnote", "^e"],
  ["comments", "w:comment", COMMENT],
] as const;

/** A mark, and the kind and id of its note. */
interface Mark {
  readonly mark: string;
  readonly of: string;
  readonly id: string;
}

/** The marks of notes: they are numbered in the order in which texts refer to them, as in print. */
function noteMarks() {
  const all = new Map<string, Mark>();
  const numbers = new Map<string, number>();
  return {
    all,
    mark(of: string, id: string, hasSign = false): string {
      const key = `${of} ${id}`;
      const known = all.get(key);
      if (known) return known.mark;
      // In print those with signs are not counted.
      const counted = hasSign ? `${of}*` : of;
      const number = (numbers.get(counted) ?? 0) + 1;
      numbers.set(counted, number);
      const mark = `${counted}${of === COMMENT ? id : number}`;
      all.set(key, { mark, of, id });
      return mark;
    },
  };
}

/** The notes of a part by their ids, each as one line. */
function notesIn(source: string, element: string, document: WordDocument): ReadonlyMap<string, string> {
  const notes = new Map<string, string>();
  let note = "";
  let id: string | undefined;
  let author: string | undefined;
  const add = (more: string) => {
    note += more;
  };
  readStory(source, { add, gap: () => add("\n") }, document, {
    [element]: (given) => {
      note = "";
      // Those with a type are lines that part notes from the text.
      id = given["w:type"] === undefined ? given["w:id"] : undefined;
      author = given["w:author"];
    },
    [`/${element}`]: () => {
      const said = note.trim().replace(/\n+/g, " ");
      if (id !== undefined && said !== "") notes.set(id, withAuthor(said, author));
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
