import { type PagesPart, problemOf } from "../../../runtime/index.ts";
import { type PackedPages, partsOf, type SealedParts, wholePart } from "../rows/pages.ts";
import type { Database } from "./database.ts";
import { PLACES } from "./schema.ts";

export function insertPages(database: Database, checkpoint: number, pages: PackedPages): void {
  pages.parts.forEach(({ numbers, bytes }, part) => {
    database.run(
      "INSERT INTO pages (place, numbers, bytes) VALUES (?, ?, ?)",
      ...[checkpoint * PLACES + part, numbers, bytes],
    );
  });
}

export function deletePages(database: Database, checkpoint: number): void {
  database.run("DELETE FROM pages WHERE place >= ? AND place < ?", checkpoint * PLACES, (checkpoint + 1) * PLACES);
}

/**
 * Parts of the checkpoint's pages, which are changes of memory of at most so many bytes; null in place of the first that is
 * missing or damaged, and then no more.
 */
export function* readParts(
  database: Database,
  checkpoint: SealedParts & { readonly n: number },
  linearBytes: number,
): Iterable<PagesPart | null> {
  let last = -1;
  for (let part = 0; part < partsOf(checkpoint); part += 1) {
    const read = readPart(database, checkpoint, part);
    const isWhole = read !== null && problemOf(read, last, linearBytes) === null;
    yield isWhole ? read : null;
    if (!isWhole) return;
    last = read.numbers.at(-1) ?? last;
  }
}

function readPart(
  database: Database,
  checkpoint: SealedParts & { readonly n: number },
  part: number,
): PagesPart | null {
  const row = database.get("SELECT numbers, bytes FROM pages WHERE place = ?", checkpoint.n * PLACES + part);
  return wholePart(row, checkpoint, part);
}
