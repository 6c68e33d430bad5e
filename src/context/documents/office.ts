import { posix } from "node:path";
import type { Parts } from "./archives.ts";
import { damaged, encrypted, type Growing } from "./growing.ts";
import { openXml, readHtml, textsIn, walkXml } from "./markup.ts";

/** Names of parts that are not text, in files of office suites. */
const SILENT: readonly (readonly [RegExp, string])[] = [
  [/(^|\/)(media|Pictures)\/./, "image"],
  [/(^|\/)charts\/chart[^/]*\.xml$/, "chart"],
  [/(^|\/)embeddings\/.|^Object \d+\/content\.xml$/, "embedded object"],
  [/(^|\/)vbaProject\.bin$|^Basic\/.*\.xml$/i, "macro"],
  [/^(xl|ppt)\/(threadedComments|comments)/, "part with comments"],
  [/\/diagrams\/data[^/]*\.xml$/, "diagram"],
];

/** Counts the parts that give no text. */
export function loseSilent({ names }: Parts, text: Growing): void {
  for (const name of names) {
    const kind = SILENT.find(([pattern]) => pattern.test(name))?.[1];
    if (kind !== undefined) text.lose(kind);
  }
}

/** The parts that a part refers to, by their ids. Those outside of the file are left out. */
export function relationsOf(parts: Parts, of: string): Map<string, { readonly type: string; readonly target: string }> {
  const found = new Map<string, { type: string; target: string }>();
  const { dir, base } = posix.parse(of);
  walkXml(parts.text(`${dir}/_rels/${base}.rels`), {
    Relationship({ Id = "", Type = "", Target = "", TargetMode }) {
      if (TargetMode === "External") return;
      const target = Target.startsWith("/") ? posix.normalize(Target.slice(1)) : posix.join(dir, Target);
      found.set(Id, { type: posix.basename(Type), target });
    },
  });
  return found;
}

/** @throws Unreadable */
export function readDocx(parts: Parts, text: Growing): void {
  const main = "word/document.xml";
  if (!parts.names.has(main)) throw damaged("it has no word/document.xml");
  readWords(parts.text(main), text, headingsIn(parts.text("word/styles.xml")));
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
    if (/^(header|footer)$/.test(type) && /<w:t[ >]/.test(parts.text(target))) text.lose("header or footer");
  }
}

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
  for (const _ of source.matchAll(/<w:del[ >]/g)) text.lose("deleted by a tracked change");
  xml.walk((said) => put(xml.within("w:t", "m:t") ? said : ""), {
    ...table.handlers,
    // A box of text in a paragraph has paragraphs of its own.
    "w:p"() {
      if (xml.depth("w:p") === 1) [paragraph, level, isItem] = ["", 0, false];
      else if (!paragraph.endsWith(" ")) put(" ");
    },
    "/w:p"() {
      const said = paragraph.trim();
      if (xml.depth("w:p") > 1) paragraph = `${said} `;
      else if (said !== "" && !table.take(said)) block(text, said, level, isItem);
    },
    "w:pStyle": (style) => (level = headings.get(style["w:val"] ?? "") ?? 0),
    "w:numPr": () => (isItem = true),
    "w:tab": () => put("\t"),
    "w:br": () => put("\n"),
    "w:noBreakHyphen": () => put("-"),
    "w:footnoteReference": (note) => put(`[^${note["w:id"]}]`),
    "w:endnoteReference": (note) => put(`[^e${note["w:id"]}]`),
    "w:commentReference": (note) => put(`[comment ${note["w:id"]}]`),
  });
}

/** Writes a heading, an item of a list or a paragraph. */
function block(text: Growing, said: string, level: number, isItem: boolean): void {
  if (level > 0 || !isItem) text.gap();
  text.add(`${level > 0 ? `${"#".repeat(level)} ` : isItem ? "- " : ""}${said}\n`);
  if (level > 0) text.gap();
}

/** Rows of a table are `a | b`; a table in a cell is a part of the cell. */
function tableOf(xml: ReturnType<typeof openXml>, text: Growing, table: string, tr: string, td: string) {
  let row: string[] = [];
  let cell: string | null = null;
  const outermost = (work: () => void) => () => {
    if (xml.depth(table) === 1) work();
  };
  return {
    handlers: {
      [table]: outermost(text.gap),
      [`/${table}`]: outermost(text.gap),
      [tr]: outermost(() => (row = [])),
      [`/${tr}`]: outermost(() => text.add(row.length > 0 ? `${row.join(" | ")}\n` : "")),
      [td]: outermost(() => (cell = "")),
      [`/${td}`]: outermost(() => {
        if (cell !== null) row.push(cell.replaceAll("\n", " "));
        cell = null;
      }),
    },
    /** True if a cell is open: the paragraph is in it. */
    take(said: string): boolean {
      if (cell === null) return false;
      cell += `${cell === "" ? "" : " "}${said}`;
      return true;
    },
  };
}

export function readPptx(parts: Parts, text: Growing): void {
  const main = "ppt/presentation.xml";
  const related = relationsOf(parts, main);
  const slides: string[] = [];
  walkXml(parts.text(main), { "p:sldId": (slide) => slides.push(related.get(slide["r:id"] ?? "")?.target ?? "") });
  for (const [at, slide] of slides.entries()) {
    text.part(`slide ${at + 1}`);
    const has = readSlide(parts.text(slide), text);
    const notes = [...relationsOf(parts, slide).values()].find(({ type }) => type === "notesSlide");
    const hasNotes = notes && readSlide(parts.text(notes.target), text, "Notes:\n");
    if (!has && !hasNotes) text.lose("slide without text", at + 1);
  }
}

/** True if the slide has text. */
function readSlide(source: string, text: Growing, lead = ""): boolean {
  const xml = openXml(source);
  const table = tableOf(xml, text, "a:tbl", "a:tr", "a:tc");
  let [paragraph, has] = ["", false];
  const put = (said: string) => {
    // The number of the slide is a field.
    if (xml.within("a:t") && !xml.within("a:fld")) paragraph += said;
  };
  xml.walk(put, {
    ...table.handlers,
    "a:br": () => (paragraph += "\n"),
    "/a:p"() {
      const said = paragraph.trim();
      paragraph = "";
      if (said === "") return;
      if (!table.take(said)) text.add(`${has ? "" : lead}${said}\n`);
      has = true;
    },
  });
  return has;
}

/** @throws Unreadable */
export function refuseEncrypted(parts: Parts): void {
  if (parts.text("META-INF/manifest.xml").includes("encryption-data")) throw encrypted();
}

/** Reads an OpenDocument text or presentation. @throws Unreadable */
export function readOdf(parts: Parts, text: Growing): void {
  refuseEncrypted(parts);
  const content = parts.text("content.xml");
  const xml = openXml(content);
  const table = tableOf(xml, text, "table:table", "table:table-row", "table:table-cell");
  const isLeft = () => xml.within("text:tracked-changes", "text:note-citation", "dc:creator", "dc:date");
  const notes: string[] = [];
  // Paragraphs that are open: one in a frame or a note lies in another one.
  const open: { said: string; level: number }[] = [];
  let [slides, note, hasWords]: [number, string | null, boolean] = [0, null, false];
  const put = (said: string) => {
    const last = open.at(-1);
    if (last && !isLeft()) last.said += said;
  };
  const begin = (level: number) => () => open.push({ said: "", level });
  const finish = () => {
    const { said = "", level = 0 } = open.pop() ?? {};
    if (said.trim() === "" || isLeft()) return;
    hasWords = true;
    if (note !== null) note += `${note === "" ? "" : " "}${said.trim()}`;
    else if (open.length > 0) put(` ${said.trim()}`);
    else if (!table.take(said)) block(text, said, level, xml.within("text:list"));
  };
  const beginNote = (mark: string) => () => {
    put(`[${mark}${notes.length + 1}]`);
    note = "";
  };
  const endNote = (mark: string) => () => {
    if (note) notes.push(`[${mark}${notes.length + 1}] ${note}`);
    note = null;
  };
  if (content.includes("<text:tracked-changes")) text.lose("deleted by a tracked change");
  xml.walk(put, {
    ...table.handlers,
    "draw:page"() {
      text.part(`slide ${++slides}`);
      hasWords = false;
    },
    "/draw:page"() {
      if (!hasWords) text.lose("slide without text", slides);
    },
    "text:h": (heading) => begin(Math.min(Number(heading["text:outline-level"]) || 1, 6))(),
    "text:p": begin(0),
    ...{ "/text:h": finish, "/text:p": finish },
    "text:tab": () => put("\t"),
    "text:line-break": () => put("\n"),
    "text:s": (space) => put(" ".repeat(Math.min(Number(space["text:c"]) || 1, 100))),
    ...{ "text:note": beginNote("^"), "/text:note": endNote("^") },
    ...{ "office:annotation": beginNote("comment "), "/office:annotation": endNote("comment ") },
  });
  if (notes.length > 0) text.part("notes");
  for (const said of notes) text.add(`${said}\n`);
  const lose = () => text.lose("header or footer");
  walkXml(parts.text("styles.xml"), { "style:header": lose, "style:footer": lose });
}

/** Reads the chapters of an EPUB in the order of its spine. @throws Unreadable */
export function readEpub(parts: Parts, text: Growing): void {
  let main = "";
  walkXml(parts.text("META-INF/container.xml"), { rootfile: (file) => (main ||= file["full-path"] ?? "") });
  if (!parts.names.has(main)) throw damaged("it has no package file");
  if (parts.text("META-INF/encryption.xml").includes("EncryptedData")) text.lose("encrypted part");
  const files = new Map<string, string>();
  const spine: string[] = [];
  const item = ({ id = "", href = "" }: Readonly<Record<string, string>>) => files.set(id, href);
  const itemref = ({ idref = "" }: Readonly<Record<string, string>>) => spine.push(idref);
  walkXml(parts.text(main), { item, itemref, "opf:item": item, "opf:itemref": itemref });
  for (const [at, id] of spine.entries()) {
    const name = posix.join(posix.dirname(main), unescaped(files.get(id) ?? ""));
    if (!parts.names.has(name)) {
      text.lose("damaged part", at + 1);
      continue;
    }
    text.part(`chapter ${at + 1}`);
    readHtml(parts.text(name), text);
  }
}

function unescaped(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
