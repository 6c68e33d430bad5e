import { posix } from "node:path";
import type { Parts } from "./archives.ts";
import type { Growing } from "./growing.ts";
import type { OdfParagraphs } from "./odf-paragraphs.ts";
import { type Handlers, textsIn, walkXml } from "./xml.ts";

/** Takes equations, and tells of objects that are not read. */
export function odfObjects(parts: Parts, text: Growing, { say }: OdfParagraphs): Handlers {
  const lose = (kind: string) => () => text.lose(kind);
  return {
    "draw:object"({ "xlink:href": href }) {
      // Without a reference it holds its content here.
      if (href !== undefined) say(objectWords(parts, href, text));
    },
    "draw:object-ole": lose("embedded object"),
    "draw:applet": lose("embedded object"),
    "draw:floating-frame": lose("embedded object"),
    "draw:plugin": lose("recording"),
    "text:script": lose("macro"),
    "office:binary-data": lose("image"),
    math: lose("equation"),
    "draw:image"({ "xlink:href": href = "" }) {
      if (/^[a-z][a-z\d+.-]+:|^\.\.\//i.test(href)) text.lose("image");
    },
  };
}

/** An equation as its author wrote it, or else its signs; empty for another object. */
function objectWords(parts: Parts, href: string, text: Growing): string {
  const source = parts.text(posix.join(href, "content.xml"));
  let kind = "embedded object";
  walkXml(source, { math: () => (kind = "equation"), "office:chart": () => (kind = "chart") });
  const [typed] = textsIn(source, "annotation", "annotation", {});
  if (kind === "equation" && typed) return typed.text.trim();
  text.lose(kind);
  const signs = textsIn(source, "math", "math", {});
  return signs.map((one) => one.text.replace(/\s+/g, " ").trim()).join(" ");
}
