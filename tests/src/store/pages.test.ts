import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { PAGE_BYTES } from "../../../runtime/index.ts";
import { pack } from "../../../src/store/rows/pack.ts";
import { type PackedPages, packPages } from "../../../src/store/rows/pages.ts";
import { pagesAreWhole, readCheckpoint, readImage } from "../../../src/store/sql/checkpoints.ts";
import { insertCheckpoint } from "../../../src/store/sqlite/checkpoints.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { checkpointOf, META, memoryOf, pagesOf } from "./sample.ts";

// Its seals may say what they like: what is not changes of this memory is not put onto it.
test.each([
  ["beyond its memory", packPages(pagesOf([64], 1), 65 * PAGE_BYTES)],
  ["with fewer words than their masks say", cut(4)],
  ["whose last word is no whole one", cut(1)],
  ["without the last of their masks", cut(2 * PAGE_BYTES + 4)],
])("an image with pages %s is refused", (_what, packed) => {
  const database = openDatabase(null);
  const insert = (id: string, pages: PackedPages) => {
    const writing = { ...checkpointOf(id, { pages: [] }), session: null, seq: 1 };
    insertCheckpoint(database, writing, pages);
  };
  insert("whole", packPages(pagesOf([1, 2], 1), META.linearBytes));
  expect(Buffer.compare(database.perform(readImage("whole")).memory, memoryOf(pagesOf([1, 2], 1)))).toBe(0);
  insert("other", packed);
  expect(() => database.perform(readImage("other"))).toThrow("checkpoint other: its pages are damaged");
  expect(database.perform(pagesAreWhole(database.perform(readCheckpoint("other"))))).toBe(false);
  database.close();
});

/** Two pages whose changes end too early, sealed as they are. */
function cut(end: number): PackedPages {
  const [part] = pagesOf([1, 2], 1);
  if (!part) throw new Error("there are no pages");
  const numbers = new Uint8Array(part.numbers.buffer);
  const bytes = pack(new Uint8Array(part.changes.buffer).slice(0, -end));
  const seals = Buffer.from(hash("sha256", numbers) + hash("sha256", bytes), "hex");
  return { parts: [{ numbers, bytes }], seals, count: 2, bytes: numbers.byteLength + bytes.byteLength };
}
