import { type Context, type ContextFile, type Document, NO_PATH } from "./context.ts";
import type { Pause } from "./pauses.ts";

/** Tells whether the newest document of a path on disk has these bytes. */
export type IsThere = (path: string, bytes: ContextFile["bytes"]) => Promise<boolean>;

/** Compares files with the documents of a context. */
export function unchangedIn(context: Context | undefined, pause: Pause): IsThere {
  const newest = new Map<string, Document>();
  for (const document of context?.documents ?? []) newest.set(document.path, document);
  return async (path, bytes) => {
    const document = path === NO_PATH ? undefined : newest.get(path);
    if (!context || !document) return false;
    const { read, byteAt } = context.text;
    let at = byteAt(document.start);
    if (byteAt(document.end) - at !== bytes.length) return false;
    for (const piece of "pieces" in bytes ? bytes.pieces() : [bytes]) {
      if (!read(at, at + piece.length).equals(piece)) return false;
      at += piece.length;
      await pause(piece.length);
    }
    return true;
  };
}
