import type { Parts } from "./archives.ts";
import type { Growing } from "./growing.ts";
import { BULLET } from "./labels.ts";
import { block, refuseEncrypted, tableOf } from "./office.ts";
import { type Handlers, openXml, walkXml } from "./xml.ts";

/** Reads an OpenDocument text or presentation. @throws Unreadable */
export function readOdf(parts: Parts, text: Growing): void {
  refuseEncrypted(parts);
  const xml = openXml(parts.text("content.xml"));
  const table = tableOf(xml, text, "table:table", "table:table-row", "table:table-cell");
  const isLeft = () => xml.within("text:tracked-changes", "text:note-citation", "dc:creator", "dc:date");
  const notes: string[] = [];
  // Paragraphs that are open: one in a frame or a note lies in another one.
  const open: { said: string; level: number }[] = [];
  let [slides, note, hasWords]: [number, string | null, boolean] = [0, null, false];
  const put = (said: string) => {
    const last = open.at(-1);
    if (last && !isLeft()) last.said += said;
    return last !== undefined || isLeft();
  };
  const begin = (level: number) => () => open.push({ said: "", level });
  const finish = () => {
    const { said = "", level = 0 } = open.pop() ?? {};
    if (said.trim() === "" || isLeft()) return;
    hasWords = true;
    if (note !== null) note += `${note === "" ? "" : " "}${said.trim()}`;
    else if (open.length > 0) put(` ${said.trim()}`);
    else block(text, table, said, { heading: level, label: xml.within("text:list") ? BULLET : "" });
  };
  const beginNote = (mark: string) => () => {
    put(`[${mark}${notes.length + 1}]`);
    note = "";
  };
  const endNote = (mark: string) => () => {
    if (note) notes.push(`[${mark}${notes.length + 1}] ${note}`);
    note = null;
  };
  const on: Handlers = {
    ...table.handlers,
    "text:tracked-changes": () => text.lose("deleted by a tracked change"),
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
  };
  xml.walk({ take: put, unread: text.unread, on });
  if (notes.length > 0) text.part("notes");
  for (const said of notes) text.add(`${said}\n`);
  const lose = () => text.lose("header or footer");
  walkXml(parts.text("styles.xml"), { "style:header": lose, "style:footer": lose });
}
