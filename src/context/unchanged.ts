import { type Context, type ContextFile, NO_PATH } from "./context.ts";
import type { Pause } from "./pauses.ts";
import { type Lookup, openLookup } from "./text/lookup.ts";

/** Tells whether the newest document of a path on disk has these bytes or, of a file that is not read, as many. */
export type IsThere = (path: string, bytes: ContextFile["bytes"] | Unread) => Promise<boolean>;

/** The bytes of a file that is not read, since the context has no room for it. */
interface Unread {
  readonly length: number;
}

/** Reading a document's names takes about as long as reading this much of a text. */
const DOCUMENT_COST_BYTES = 1024;

/** Compares files with the documents of a context. */
export function unchangedIn(context: Context | undefined, pause: Pause): IsThere {
  if (!context) return async () => false;
  const { documents, text } = context;
  let newest: Promise<Lookup> | undefined;
  async function newestOfPaths(): Promise<Lookup> {
    const all = openLookup((n) => documents.at(n)?.path ?? NO_PATH);
    let n = 0;
    for (const { path } of documents) {
      all.put(path, n++);
      await pause(DOCUMENT_COST_BYTES);
    }
    return all;
  }

  return async (path, bytes) => {
    newest ??= newestOfPaths();
    const n = path === NO_PATH ? undefined : (await newest).find(path);
    const document = n === undefined ? undefined : documents.at(n);
    if (!document) return false;
    let at = text.byteAt(document.start);
    if (text.byteAt(document.end) - at !== bytes.length) return false;
    for (const piece of piecesOf(bytes)) {
      if (!text.read(at, at + piece.length).equals(piece)) return false;
      at += piece.length;
      await pause(piece.length);
    }
    return true;
  };
}

function piecesOf(bytes: ContextFile["bytes"] | Unread): Iterable<Uint8Array> {
  if (bytes instanceof Uint8Array) return [bytes];
  return "pieces" in bytes ? bytes.pieces() : [];
}
