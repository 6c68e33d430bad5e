import type { Parts } from "./archives.ts";
import type { Growing } from "./growing.ts";
import { mainOf, relationsOf, tableOf } from "./office.ts";
import { type Handlers, openXml, walkXml } from "./xml.ts";

export function readPptx(parts: Parts, text: Growing): void {
  const main = mainOf(parts, "ppt/presentation.xml");
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
  const take = (said: string) => {
    // The number of the slide is a field.
    if (xml.within("a:t") && !xml.within("a:fld")) paragraph += said;
    return xml.within("a:t");
  };
  const on: Handlers = {
    ...table.handlers,
    "a:br": () => (paragraph += "\n"),
    "/a:p"() {
      const said = paragraph.trim();
      paragraph = "";
      if (said === "") return;
      if (!table.take(said)) text.add(`${has ? "" : lead}${said}\n`);
      has = true;
    },
  };
  xml.walk({ take, unread: text.unread, on });
  return has;
}
