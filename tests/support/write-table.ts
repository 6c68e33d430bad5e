import type { Document } from "../../src/context/document.ts";
import { openDocumentRows } from "../../src/context/text/document-rows.ts";
import { writeRows } from "../../src/context/text/table.ts";
import type { Tallied } from "../../src/context/text/tally.ts";
import type { WrittenFile } from "../../src/platform/checked-file.ts";

/** Writes the table of a large context into a folder. @param documents by `start` */
export function writeTable(folder: string, tallied: Tallied, documents: readonly Document[]): WrittenFile {
  const rows = openDocumentRows();
  for (const document of documents) rows.add(document);
  return writeRows(folder, tallied, rows);
}
