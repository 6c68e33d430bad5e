import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { FileText } from "../../src/context/text/file-text.ts";
import { countIn, PAGE_NUMBERS } from "../../src/context/text/tally.ts";
import { endOf, PAGE_BYTES } from "../../src/platform/checked-file.ts";
import { writeTable } from "./write-table.ts";

const NOTHING = Buffer.alloc(PAGE_BYTES);

/**
 * A text of gigabytes that takes a few KB on disk: of its pages all but some consist of zeros, for
 * which the disk keeps nothing. It is in one checked file, with its table.
 *
 * @param pages the pages that have other bytes, by their number, each of 64 KB
 * @param count of all pages
 */
export function sparseText(folder: string, pages: ReadonlyMap<number, Buffer>, count: number): FileText {
  const path = join(folder, "sparse");
  const file = openSync(path, "wx");
  const zeros = crc32(NOTHING);
  const sums: number[] = [];
  const before = new Float64Array(PAGE_NUMBERS * count);
  let units = 0;
  let newlines = 0;
  for (let page = 0; page < count; page++) {
    const bytes = pages.get(page);
    before.set([units, newlines, bytes === undefined ? 1 : 0], PAGE_NUMBERS * page);
    if (bytes) writeSync(file, bytes, 0, PAGE_BYTES, page * PAGE_BYTES);
    sums.push(bytes ? crc32(bytes) : zeros);
    const counted = bytes ? countIn(bytes) : { units: PAGE_BYTES, newlines: 0 };
    units += counted.units;
    newlines += counted.newlines;
  }
  const bytes = count * PAGE_BYTES;
  ftruncateSync(file, bytes);
  const end = endOf(sums, bytes);
  writeSync(file, end, 0, end.length, bytes);
  closeSync(file);
  const table = writeTable(folder, { bytes, units, newlines, before }, []);
  return { files: [{ path, bytes }], table: table.path, length: units };
}
