import {
  applyPart,
  freeBytes,
  type GuestImage,
  type ImagePages,
  isPacked,
  PAGE_BYTES,
  type PagesPart,
  problemOf,
} from "../../../runtime/index.ts";
import { checkpointLost } from "../failure.ts";
import { type Checkpoint, decodeCheckpoint } from "../rows/checkpoint.ts";
import { type NewMemory, openNewMemory } from "../rows/new-memory.ts";
import { openPacking, type PackedPages, PLACES, partsOf, wholePart } from "../rows/pages.ts";
import type { Row } from "../rows/row.ts";
import { get, type Plan, pause, run, spelled, sql, until } from "./sql.ts";

/**
 * All columns of a checkpoint `c`. A server gives the number after the row is sealed, so the seal
 * is not over it.
 */
export const CHECKPOINT = sql`c.*, ${spelled(sql`1`, sql`0`)} AS seals_number`;

export function* hasCheckpoint(id: string): Plan<boolean> {
  return (yield* get(sql`SELECT n FROM checkpoints WHERE id = ${id}`)) !== undefined;
}

/** @throws RlmError `checkpoint_lost` if it is missing or damaged */
export function* readCheckpoint(id: string): Plan<Checkpoint> {
  const row = yield* get(sql`SELECT ${CHECKPOINT} FROM checkpoints c WHERE id = ${id}`);
  if (!row) throw checkpointLost(id, "the store does not have it");
  const checkpoint = decodeCheckpoint(row);
  if (!checkpoint) throw checkpointLost(id, "it is damaged");
  return checkpoint;
}

/**
 * The image, put together from the whole one that its chain begins with and the changes since.
 * @throws RlmError `checkpoint_lost`
 */
export function* readImage(id: string): Plan<GuestImage> {
  const top = yield* readCheckpoint(id);
  const chain = [top];
  for (let next = yield* baseOf(id, top); next; next = yield* baseOf(id, next)) chain.unshift(next);
  const memory = memoryOf(top, Math.max(...chain.map(({ pages }) => pages)));
  const { length } = memory.bytes;
  const apply = (part: PagesPart) => applyPart(memory.bytes, part);
  const ready = ({ numbers }: PagesPart) => memory.ready(((numbers.at(-1) ?? 0) + 1) * PAGE_BYTES);
  try {
    for (const checkpoint of chain) {
      if (yield* readParts(checkpoint, length, apply, ready)) continue;
      const whose = checkpoint.id === id ? "its pages" : `pages of its base ${checkpoint.id}`;
      throw checkpointLost(id, `${whose} are damaged`);
    }
  } finally {
    yield* until(memory.end());
  }
  return { id, meta: top.meta, memory: memory.bytes };
}

/** Part of an image's pages from which on all of them are made ahead. */
const FULL = 0.9;

/**
 * @param pages the most that one of the chain's checkpoints has
 * @throws RlmError `checkpoint_lost` if there is not so much memory
 */
function memoryOf({ id, meta: { linearBytes } }: Checkpoint, pages: number): NewMemory {
  try {
    return openNewMemory(linearBytes, pages * PAGE_BYTES >= FULL * linearBytes);
  } catch (error) {
    throw checkpointLost(id, `there are no ${linearBytes} bytes of memory for it`, error);
  }
}

/** True if all parts of the checkpoint's own pages are whole. */
export function* pagesAreWhole(checkpoint: Checkpoint): Plan<boolean> {
  let count = 0;
  const { linearBytes } = checkpoint.meta;
  const areWhole = yield* readParts(checkpoint, linearBytes, ({ numbers }) => (count += numbers.length));
  return areWhole && count === checkpoint.pages;
}

/**
 * Hands over the parts of a checkpoint's pages, which are changes of memory of at most so many
 * bytes. Only one is in memory at a time. Returns false at the first that is missing or damaged.
 *
 * @param ready returns work that ends before a part is used
 */
export function* readParts(
  checkpoint: Checkpoint,
  linearBytes: number,
  use: (part: PagesPart) => void,
  ready: (part: PagesPart) => Promise<unknown> | null = () => null,
): Plan<boolean> {
  let last = -1;
  for (let part = 0; part < partsOf(checkpoint); part++) {
    const row = yield* get(sql`SELECT * FROM pages WHERE ${pageOf(checkpoint.n, part)}`);
    const read = row && wholePart(row, checkpoint, part);
    if (!read || problemOf(read, last, linearBytes) !== null) return false;
    const work = ready(read);
    if (work) yield* until(work);
    use(read);
    last = read.numbers.at(-1) ?? last;
    freePart(row, read);
  }
  return true;
}

/**
 * Frees what a row and its part take. Bytes as a row has them may lie in a buffer with those of
 * other rows.
 */
function freePart({ bytes }: Row, { changes }: PagesPart): void {
  if (!(bytes instanceof Uint8Array) || !isPacked(bytes)) return;
  freeBytes(changes);
  if (bytes.byteLength === bytes.buffer.byteLength) freeBytes(bytes);
}

/**
 * Packs the pages of an image, with turns for other work between its parts.
 *
 * @throws RlmError `store_failed`
 */
export function* packInTurns(pages: ImagePages, linearBytes: number): Plan<PackedPages> {
  const packing = openPacking(linearBytes);
  for (const part of pages) {
    packing.add(part);
    yield* pause();
  }
  return packing.packed();
}

/** Writes the pages of the checkpoint with this number. */
export function* insertPages(n: number, { parts }: PackedPages): Plan<void> {
  for (const [part, { numbers, bytes }] of parts.entries()) {
    yield* run(
      sql`INSERT INTO pages ${spelled(
        sql`(place, numbers, bytes) VALUES (${n * PLACES + part}, ${numbers}, ${bytes})`,
        sql`(checkpoint, part, numbers, bytes) VALUES (${n}, ${part}, ${numbers}, ${bytes})`,
      )}`,
    );
  }
}

/** Drops the pages of the checkpoint with this number. */
export function* dropPages(n: number): Plan<void> {
  yield* run(sql`DELETE FROM pages WHERE ${pagesOf(n)}`);
}

const pageOf = (n: number, part: number) =>
  spelled(sql`place = ${n * PLACES + part}`, sql`checkpoint = ${n} AND part = ${part}`);
const pagesOf = (n: number) =>
  spelled(sql`place >= ${n * PLACES} AND place < ${(n + 1) * PLACES}`, sql`checkpoint = ${n}`);

function* baseOf(id: string, { base, n }: Checkpoint): Plan<Checkpoint | null> {
  if (base === null) return null;
  try {
    const found = yield* readCheckpoint(base);
    // A base is older than what is based on it: the way down comes to its end.
    if (found.n < n) return found;
    throw checkpointLost(base, "it is newer than what is based on it");
  } catch (error) {
    throw checkpointLost(id, `its base ${base} is missing or damaged`, error);
  }
}
