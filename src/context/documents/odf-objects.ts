import { posix } from "node:path";
import type { Parts } from "./archives.ts";
import type { Growing } from "./growing.ts";
import type { OdfParagraphs } from "./odf-paragraphs.ts";
import { type Handlers, textsIn, walkXml } from "./xml.ts";

/** Takes equations, and tells of objects that are not read. */
export function odfObjects(parts: Parts, text: Growing, { say }: OdfParagraphs): Handlers {
  const lose = (kind: string) => () => text.lose(kind);
  const read = new Map<string, ObjectWords>();
  return {
    "draw:object"({ "xlink:href": href }) {
      // Without a reference it holds its content here.
      if (href === undefined) return;
      const object = read.get(href) ?? readObject(parts, href);
      read.set(href, object);
      if (object.lost !== undefined) text.lose(object.lost);
      say(object.words);
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

interface ObjectWords {
  /** An equation as its author wrote it, or else its signs; empty for another object. */
  readonly words: string;
  /** The kind of the loss, if its author's words are not known. */
  readonly lost?: string;
}

function readObject(parts: Parts, href: string): ObjectWords {
  const source = parts.text(posix.join(href, "content.xml"));
  let lost = "embedded object";
  walkXml(source, { math: () => (lost = "equation"), "office:chart": () => (lost = "chart") });
  const [typed] = textsIn(source, "annotation", "annotation", {});
  if (lost === "equation" && typed) return { words: typed.text.trim() };
  const signs = textsIn(source, "math", "math", {});
  return { words: signs.map((one) => one.text.replace(/\s+/g, " ").trim()).join(" "), lost };
}
