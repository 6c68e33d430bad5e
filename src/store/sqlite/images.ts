import { applyPart, type GuestImage } from "../../../runtime/index.ts";
import { checkpointLost } from "../failure.ts";
import type { Checkpoint } from "../rows/checkpoint.ts";
import { readCheckpoint } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { readParts } from "./pages.ts";

/**
 * The image, put together from the whole one that its chain begins with and the changes since.
 *
 * @throws RlmError `checkpoint_lost`
 */
export function readImage(database: Database, id: string): GuestImage {
  const top = readCheckpoint(database, id);
  const chain = [top];
  for (let next = baseOf(database, id, top); next; next = baseOf(database, id, next)) chain.unshift(next);
  const memory = new Uint8Array(top.meta.linearBytes);
  for (const checkpoint of chain) apply(database, checkpoint, id, memory);
  return { id, meta: top.meta, memory };
}

/** Whether all parts of the checkpoint's own pages are whole. */
export function pagesAreWhole(database: Database, checkpoint: Checkpoint): boolean {
  let count = 0;
  for (const part of readParts(database, checkpoint, checkpoint.meta.linearBytes)) {
    if (!part) return false;
    count += part.numbers.length;
  }
  return count === checkpoint.pages;
}

function baseOf(database: Database, id: string, { base }: Checkpoint): Checkpoint | null {
  if (base === null) return null;
  try {
    return readCheckpoint(database, base);
  } catch (error) {
    throw checkpointLost(id, `its base ${base} is missing or damaged`, error);
  }
}

function apply(database: Database, checkpoint: Checkpoint, id: string, memory: Uint8Array): void {
  for (const part of readParts(database, checkpoint, memory.byteLength)) {
    if (!part) {
      const whose = checkpoint.id === id ? "its pages" : `pages of its base ${checkpoint.id}`;
      throw checkpointLost(id, `${whose} are damaged`);
    }
    applyPart(memory, part);
  }
}
