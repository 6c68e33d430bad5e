import { posix } from "node:path";
import type { Parts } from "../archives.ts";
import type { Growing } from "../growing.ts";
import { textOfHtml } from "../html/html.ts";
import { type Handlers, textsIn, walkXml } from "../xml.ts";

/** Takes equations, and tells of objects that are not read. @param say told of the words of an equation */
export function objectHandlers(parts: Parts, text: Growing, say: (words: string) => void): Handlers {
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
  if (kind !== "equation") text.lose(kind);
  if (kind !== "equation") return "";
  const [typed] = textsIn(source, "annotation", "annotation");
  // Older programs write a prefix before each name.
  return (typed || textOfHtml(source.replace(/(<\/?)\w+:(?=m)/g, "$1"), text)).trim();
}
