import { setImmediate } from "node:timers/promises";
import { type Context, isSmall, objectOf } from "../../context/index.ts";

/** Documents of P as `/rlm store` lists them. */
export interface ListedDocuments {
  readonly listed: readonly ListedDocument[];
  /** The number of documents that are not listed. */
  readonly left: number;
}

interface ListedDocument {
  /** The id of its text; of a document of a large P its own, by which tools find it too. */
  readonly id: string;
  readonly is: "P";
  readonly kind: "file";
  readonly tokens: number;
  readonly description: string;
  /** Its text, of a large P the beginning of it. */
  text(): string;
}

/** Documents of a large P that are listed, and characters of each in which words are looked for. */
const LISTED = 1000;
const LOOKED_AT = 64 * 1024;

/**
 * Documents of P as `/rlm store` shows them: what is sent of them is what the model reads with
 * tools. To name those of a large P by their texts, all of it would be read.
 */
export async function documentsOf(P: Context | null): Promise<ListedDocuments> {
  if (!P) return { listed: [], left: 0 };
  const { documents, text } = P;
  const isWhole = isSmall(P);
  const count = isWhole ? documents.length : Math.min(documents.length, LISTED);
  const listed: ListedDocument[] = [];
  for (let at = 0; at < count; at++) {
    const document = documents.at(at);
    if (!document) break;
    const { start, end } = document;
    const { id } = await objectOf({ of: "P", context: P, document }, () => setImmediate());
    listed.push({
      id,
      is: "P",
      kind: "file",
      tokens: Math.ceil((end - start) / 4),
      description: document.id,
      text: () => text.slice(start, isWhole ? end : Math.min(end, start + LOOKED_AT)),
    });
  }
  return { listed, left: documents.length - count };
}
