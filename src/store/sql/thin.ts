import { applyPart, openChanges, PAGE_BYTES, type PagesPart } from "../../../runtime/index.ts";
import { type Checkpoint, decodeCheckpoint, fieldsOfCheckpoint } from "../rows/checkpoint.ts";
import type { PackedPages } from "../rows/pages.ts";
import { numberColumn, type Row, seal } from "../rows/row.ts";
import { fieldsOf } from "../rows/session.ts";
import { CHECKPOINT, dropPages, insertPages, packInTurns, readParts } from "./checkpoints.ts";
import type { Dialect } from "./dialect.ts";
import { CHECKPOINT_BYTES, readSession } from "./sessions.ts";
import { all, get, oneOf, type Plan, raw, run, sql } from "./sql.ts";

/**
 * Takes earlier ends from a session, but its head, whole images, which take much memory to join,
 * and those that a fork began at. One that another image is based on is joined with that one, so
 * that all images stay as they are. Returns the ids that were taken, and the bytes that the session
 * takes more.
 */
export function* thin(id: string, ids: readonly string[], own: Pick<Dialect, "dropUnneeded">) {
  const session = yield* readSession(id);
  // The newest first: the bases of one are behind it, and are joined with it.
  const rows = yield* all(sql`SELECT ${CHECKPOINT}, ${raw(CHECKPOINT_BYTES)} AS bytes FROM reach r
    JOIN checkpoints c ON c.n = r.checkpoint WHERE r.session = ${id} AND c.id ${oneOf(ids)} AND c.id <> ${session.head}
    AND c.base IS NOT NULL AND NOT EXISTS (SELECT 1 FROM reach o JOIN sessions f ON f.id = o.session AND f.forked_from = c.id
      WHERE o.checkpoint = c.n) ORDER BY c.n DESC`);
  const going = new Map<string | null, Checkpoint>();
  for (const row of rows) {
    const checkpoint = decodeCheckpoint(row);
    if (checkpoint) going.set(checkpoint.id, checkpoint);
  }
  const numbers = [...going.values()].map(({ n }) => n);
  yield* run(sql`DELETE FROM reach WHERE session = ${id} AND checkpoint ${oneOf(numbers)}`);
  let more = rows.reduce((sum, row) => sum - (going.has(String(row.id)) ? numberColumn(row, "bytes") : 0), 0);
  for (const checkpoint of going.values()) {
    more += yield* joined(checkpoint, going);
    yield* own.dropUnneeded(checkpoint.id);
  }
  const left = { ...session, checkpoints: session.checkpoints - going.size };
  yield* run(
    sql`UPDATE sessions SET checkpoints = ${left.checkpoints}, sha256 = ${seal(fieldsOf(left))} WHERE id = ${id}`,
  );
  return { gone: [...going.values()].map((one) => one.id), more };
}

/**
 * Joins a checkpoint and its bases among `going` with the one that is based on it. Returns the
 * bytes that this one takes more.
 */
function* joined(last: Checkpoint, going: ReadonlyMap<string | null, Checkpoint>): Plan<number> {
  const [row] = yield* all(sql`SELECT ${CHECKPOINT} FROM checkpoints c WHERE base = ${last.id}`);
  const top = row && decodeCheckpoint(row);
  if (!top) return 0;
  const chain: Checkpoint[] = [];
  for (let next: Checkpoint | undefined = last; next && (yield* isFree(next)); ) {
    chain.push(next);
    const base = going.get(next.base);
    next = base && base.n < next.n ? base : undefined;
  }
  const first = chain.at(-1);
  const pages = first ? yield* sumOf([...chain, top], top.meta.linearBytes) : null;
  if (!first || !pages) return 0;
  yield* rewrite(row, { ...top, base: first.base }, pages);
  return pages.bytes - top.stored_bytes;
}

/** True if no session reaches the checkpoint, and one other is based on it. */
function* isFree({ id, n }: Checkpoint): Plan<boolean> {
  const row = yield* get(sql`SELECT (SELECT count(*) FROM checkpoints WHERE base = ${id}) AS above,
    (SELECT count(*) FROM reach WHERE checkpoint = ${n}) AS reached`);
  return row?.above === 1 && row.reached === 0;
}

/** The changes of all these together, whose order does not matter; null if a part is damaged. */
function* sumOf(checkpoints: readonly Checkpoint[], linearBytes: number): Plan<PackedPages | null> {
  const most = checkpoints.reduce((sum, { pages }) => sum + pages, 0) * PAGE_BYTES;
  const sum = new Int32Array(Math.min(most, linearBytes) / 4);
  /** Places in the sum, by pages: only the pages that have changed are there. */
  const places = new Map<number, number>();
  const add = (part: PagesPart) => {
    for (const page of part.numbers) if (!places.has(page)) places.set(page, places.size);
    applyPart(new Uint8Array(sum.buffer), { ...part, numbers: part.numbers.map((page) => places.get(page) ?? 0) });
  };
  for (const checkpoint of checkpoints) if (!(yield* readParts(checkpoint, linearBytes, add))) return null;
  const changes = openChanges();
  const zero = new Int32Array(PAGE_WORDS);
  for (const page of Uint32Array.from(places.keys()).sort())
    changes.add(page, zero, 0, sum, (places.get(page) ?? 0) * PAGE_WORDS);
  return yield* packInTurns(changes.flush(), linearBytes);
}

const PAGE_WORDS = PAGE_BYTES / 4;

/**
 * Writes a checkpoint with other pages on another base. Its chain is told longer than it is now,
 * which does no harm.
 */
function* rewrite({ seals_number }: Row, { n, ...checkpoint }: Checkpoint, pages: PackedPages): Plan<void> {
  const { sealed } = fieldsOfCheckpoint({ ...checkpoint, extras: Object(checkpoint.extras) }, pages);
  yield* run(sql`UPDATE checkpoints SET base = ${checkpoint.base}, pages = ${pages.count}, stored_bytes = ${pages.bytes},
    parts = ${pages.seals}, sha256 = ${seal(seals_number === 1 ? [n, ...sealed] : sealed)} WHERE n = ${n}`);
  yield* dropPages(n);
  yield* insertPages(n, pages);
}
