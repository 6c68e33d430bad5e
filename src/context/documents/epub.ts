import { posix } from "node:path";
import type { Parts } from "./archives.ts";
import { damaged, type Growing } from "./growing.ts";
import { readHtml } from "./html.ts";
import { walkXml } from "./xml.ts";

/** Reads the chapters of an EPUB in the order of its spine. @throws Unreadable */
export function readEpub(parts: Parts, text: Growing): void {
  let main = "";
  walkXml(parts.text("META-INF/container.xml"), {
    rootfile: (file) => (main ||= parts.nameOf(file["full-path"] ?? "")),
  });
  if (!parts.names.has(main)) throw damaged("it has no package file");
  if (parts.text("META-INF/encryption.xml").includes("EncryptedData")) text.lose("encrypted part");
  const files = new Map<string, string>();
  const spine: string[] = [];
  walkXml(parts.text(main), {
    item: ({ id = "", href = "" }) => files.set(id, href),
    itemref: ({ idref = "" }) => spine.push(idref),
  });
  for (const [at, id] of spine.entries()) {
    const name = parts.nameOf(posix.join(posix.dirname(main), files.get(id) ?? ""));
    if (!parts.names.has(name)) {
      text.lose("damaged part", at + 1);
      continue;
    }
    text.part(`chapter ${at + 1}`);
    readHtml(parts.text(name), text);
  }
}
