import { posix } from "node:path";
import type { Parts } from "../archives.ts";
import { decodedHtml } from "../decoded.ts";
import { damaged, encrypted, type Growing } from "../growing.ts";
import { walkXml } from "../markup.ts";
import { UNREAD_PART } from "../office.ts";
import { readHtml, textOfHtml } from "./html.ts";

/** A part that the package of an EPUB lists. */
interface Item {
  readonly name: string;
  readonly type: string;
  readonly isContents: boolean;
}

/** Reads the chapters of an EPUB in the order of its spine. @throws Unreadable */
export function readEpub(parts: Parts, text: Growing): void {
  const { items, spine } = packageIn(parts);
  const locked = lockedIn(parts);
  const documents = [...items.values()].filter(({ type, isContents }) => type.includes("html") && !isContents);
  if (documents.length > 0 && documents.every(({ name }) => locked.has(name))) throw encrypted();
  // A book whose spine is lost has its chapters in the order of its list.
  const chapters = spine.some((id) => items.has(id)) ? spine.map((id) => items.get(id)) : documents;
  for (const [at, item] of chapters.entries()) {
    const content = item && parts.bytes(item.name);
    if (!content) text.lose("damaged part", at + 1);
    else if (locked.has(item.name)) text.lose("encrypted part", at + 1);
    else if (!DOCUMENT.test(item.type)) text.lose(UNREAD_PART, item.name);
    else {
      text.part(`chapter ${at + 1}`);
      readHtml(decodedHtml(content, text), text);
    }
  }
  const unopened = new Set(parts.unopened());
  for (const { name } of documents) {
    if (unopened.has(name) && hasText(parts.text(name))) text.lose(UNREAD_PART, name);
  }
}

const DOCUMENT = /html|svg|xml$|^$/;

/** The parts that an EPUB lists, by their ids, and the ids of its chapters. @throws Unreadable */
function packageIn(parts: Parts) {
  let main = "";
  walkXml(parts.text("META-INF/container.xml"), {
    rootfile: (file) => (main ||= parts.nameOf(file["full-path"] ?? "")),
  });
  if (!parts.names.has(main)) throw damaged("it has no package file");
  const items = new Map<string, Item>();
  const spine: string[] = [];
  walkXml(parts.text(main), {
    item({ id = "", href = "", "media-type": type = "", properties = "" }) {
      const name = parts.nameOf(posix.join(posix.dirname(main), href.replace(/#.*/, "")));
      items.set(id, { name, type, isContents: properties.split(" ").includes("nav") });
    },
    itemref: ({ idref = "" }) => spine.push(idref),
  });
  return { items, spine };
}

/** The parts that cannot be read, and fonts that are only made hard to copy. */
function lockedIn(parts: Parts): ReadonlySet<string> {
  const locked = new Set<string>();
  walkXml(parts.text("META-INF/encryption.xml"), {
    CipherReference: ({ URI = "" }) => locked.add(parts.nameOf(URI)),
  });
  return locked;
}

const hasText = (source: string) => textOfHtml(source, { lose() {}, unread() {} }).trim() !== "";
