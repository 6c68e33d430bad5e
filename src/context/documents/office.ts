import { posix } from "node:path";
import type { Growing } from "./growing.ts";
import { readHtml, walkXml } from "./markup.ts";
import { damaged, encrypted, type Parts } from "./zip.ts";

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
      .flatMap(({ target }) => notesIn(parts.text(target), element));
    if (notes.length > 0) text.part(type);
    for (const note of notes) text.add(`[${mark}${note.id}] ${note.text}\n`);
  }
  for (const { target } of related.filter(({ type }) => type === "header" || type === "footer")) {
    let has = false;
    walkXml(parts.text(target), { "w:t": () => (has = true) });
    if (has) text.lose("header or footer");
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
  const table = tableOf(text);
  let [paragraph, depth, level, left] = ["", 0, 0, 0];
  let [isItem, isWord] = [false, false];
  const put = (said: string) => {
    if (left === 0) paragraph += said;
  };
  const leave = (kind?: string) => () => {
    if (kind !== undefined && left === 0) text.lose(kind);
    left += 1;
  };
  const back = () => (left -= 1);
  const word = () => (isWord = true);
  const noWord = () => (isWord = false);
  walkXml(
    source,
    {
      ...table.handlers("w:tbl", "w:tr", "w:tc"),
      // A box of text in a paragraph has paragraphs of its own.
      "w:p"() {
        depth += 1;
        if (depth === 1) [paragraph, level, isItem] = ["", 0, false];
        else if (!paragraph.endsWith(" ")) put(" ");
      },
      "/w:p"() {
        depth -= 1;
        const said = paragraph.trim();
        if (depth > 0) paragraph = `${said} `;
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
      "w:del": leave("deleted by a tracked change"),
      "/w:del": back,
      // The same content for older programs, and at the place from which it was moved.
      ...{ "mc:Fallback": leave(), "/mc:Fallback": back, "w:moveFrom": leave(), "/w:moveFrom": back },
      ...{ "w:t": word, "/w:t": noWord, "m:t": word, "/m:t": noWord },
    },
    (said) => {
      if (isWord) put(said);
    },
  );
}

/** Writes a heading, an item of a list or a paragraph. */
function block(text: Growing, said: string, level: number, isItem: boolean): void {
  if (level > 0 || !isItem) text.gap();
  text.add(`${level > 0 ? `${"#".repeat(level)} ` : isItem ? "- " : ""}${said}\n`);
  if (level > 0) text.gap();
}

/** Rows of a table are `a | b`; a table in a cell is a part of the cell. */
function tableOf(text: Growing) {
  let depth = 0;
  let row: string[] = [];
  let cell: string | null = null;
  return {
    handlers: (table: string, tr: string, td: string) => ({
      [table]() {
        depth += 1;
        if (depth === 1) text.gap();
      },
      [`/${table}`]() {
        depth -= 1;
        if (depth === 0) text.gap();
      },
      [tr]() {
        if (depth === 1) row = [];
      },
      [`/${tr}`]() {
        if (depth === 1 && row.length > 0) text.add(`${row.join(" | ")}\n`);
      },
      [td]() {
        if (depth === 1) cell = "";
      },
      [`/${td}`]() {
        if (depth === 1 && cell !== null) row.push(cell.replaceAll("\n", " "));
        if (depth === 1) cell = null;
      },
    }),
    /** True if a cell is open: the paragraph is in it. */
    take(said: string): boolean {
      if (cell === null) return false;
      cell += `${cell === "" ? "" : " "}${said}`;
      return true;
    },
  };
}

function notesIn(source: string, element: string): { readonly id: string; readonly text: string }[] {
  const notes: { id: string; text: string }[] = [];
  let note: { id: string; text: string } | null = null;
  let isWord = false;
  walkXml(
    source,
    {
      // Those with a type are lines that part notes from the text.
      [element]: (found) => (note = found["w:type"] === undefined ? { id: found["w:id"] ?? "", text: "" } : null),
      [`/${element}`]() {
        if (note && note.text.trim() !== "") notes.push({ id: note.id, text: note.text.trim() });
        note = null;
      },
      "w:t": () => (isWord = true),
      "/w:t": () => (isWord = false),
      "/w:p"() {
        if (note) note.text += " ";
      },
    },
    (said) => {
      if (isWord && note) note.text += said;
    },
  );
  return notes;
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
  const table = tableOf(text);
  let [paragraph, isWord, isField, has] = ["", false, false, false];
  walkXml(
    source,
    {
      ...table.handlers("a:tbl", "a:tr", "a:tc"),
      // The number of the slide is a field.
      "a:fld": () => (isField = true),
      "/a:fld": () => (isField = false),
      "a:t": () => (isWord = !isField),
      "/a:t": () => (isWord = false),
      "a:br": () => (paragraph += "\n"),
      "/a:p"() {
        const said = paragraph.trim();
        paragraph = "";
        if (said === "") return;
        if (!table.take(said)) text.add(`${has ? "" : lead}${said}\n`);
        has = true;
      },
    },
    (said) => {
      if (isWord) paragraph += said;
    },
  );
  return has;
}

/** @throws Unreadable */
export function refuseEncrypted(parts: Parts): void {
  if (parts.text("META-INF/manifest.xml").includes("encryption-data")) throw encrypted();
}

/** Reads an OpenDocument text or presentation. @throws Unreadable */
export function readOdf(parts: Parts, text: Growing): void {
  refuseEncrypted(parts);
  const table = tableOf(text);
  const notes: string[] = [];
  // Paragraphs that are open: one in a frame or a note lies in another one.
  const open: { said: string; level: number }[] = [];
  let [lists, slides, left, note]: [number, number, number, string | null] = [0, 0, 0, null];
  let hasWords = false;
  const put = (said: string) => {
    const last = open.at(-1);
    if (last && left === 0) last.said += said;
  };
  const begin = (level: number) => () => open.push({ said: "", level });
  const finish = () => {
    const { said = "", level = 0 } = open.pop() ?? {};
    if (said.trim() === "" || left > 0) return;
    hasWords = true;
    if (note !== null) note += `${note === "" ? "" : " "}${said.trim()}`;
    else if (open.length > 0) put(` ${said.trim()}`);
    else if (!table.take(said)) block(text, said, level, lists > 0);
  };
  const beginNote = (mark: string) => () => {
    put(`[${mark}${notes.length + 1}]`);
    note = "";
  };
  const endNote = (mark: string) => () => {
    if (note) notes.push(`[${mark}${notes.length + 1}] ${note}`);
    note = null;
  };
  walkXml(
    parts.text("content.xml"),
    {
      ...table.handlers("table:table", "table:table-row", "table:table-cell"),
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
      "text:list": () => (lists += 1),
      "/text:list": () => (lists -= 1),
      "text:tab": () => put("\t"),
      "text:line-break": () => put("\n"),
      "text:s": (space) => put(" ".repeat(Math.min(Number(space["text:c"]) || 1, 100))),
      "text:tracked-changes"() {
        text.lose("deleted by a tracked change");
        left += 1;
      },
      "/text:tracked-changes": () => (left -= 1),
      ...{ "text:note-citation": () => (left += 1), "/text:note-citation": () => (left -= 1) },
      ...{ "text:note": beginNote("^"), "/text:note": endNote("^") },
      ...{ "office:annotation": beginNote("comment "), "/office:annotation": endNote("comment ") },
    },
    put,
  );
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
