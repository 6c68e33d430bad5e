import { checkpointLost, misuse, storeFull } from "../failure.ts";
import type { NewCheckpoint, Step } from "../port.ts";
import { answerFields, newAnswerRow } from "../rows/answers.ts";
import { fieldsOfCheckpoint } from "../rows/checkpoint.ts";
import { packedBytes, packText } from "../rows/pack.ts";
import type { PackedPages } from "../rows/pages.ts";
import { type Row, seal } from "../rows/row.ts";
import { afterStep, fieldsOf, type Session } from "../rows/session.ts";
import { packInTurns } from "../sql/checkpoints.ts";
import { hashesIn } from "../sql/contexts.ts";
import { packedRecords } from "../sql/journal.ts";
import type { Server } from "./connection.ts";
import { codeOf, isCut, leaseLost, RAISED } from "./failure.ts";

/** A session as the holder of its lease knows it: no other process can have written to it. */
export interface Leased {
  readonly session: Session;
  readonly fence: number;
  /** Bytes of the checkpoints that it reaches, by id. A commit that is kept changes it. */
  readonly reach: Map<string, number>;
}

/**
 * Keeps a step in one round trip, all of it or nothing. Returns the session as it is known
 * afterwards, and the bytes that it takes more. @throws RlmError `lease_lost`, `store_full`
 */
export async function commit(server: Server, known: Leased, step: Step): Promise<{ known: Leased; more: number }> {
  const { session, fence, reach } = known;
  const { checkpoint, records = [], drop = [], cache = [], settle = [], delivered = [], answers = [] } = step;
  const bytes = openBytes();
  const { written, bytes: journal } = packedRecords(session.id, session.last_seq + 1, records);
  const gone = new Set(drop.filter((id) => reach.has(id)));
  const next = afterStep(session, step, journal, gone.size);
  const { facts, settings, ...changed } = next;
  const pages = checkpoint && (await server.perform(packInTurns(checkpoint.pages, checkpoint.meta.linearBytes)));
  const made = checkpoint && pages ? checkpointOf(checkpoint, pages, next, bytes) : null;
  const named = {
    session: session.id,
    fence,
    before: session.last_seq,
    ...changed,
    sha256: bytes.add(seal(fieldsOf(next))),
    ...(made ? { checkpoint: made } : {}),
    records: written.map(({ kind, content, sha256 }) => [kind, bytes.packed(content.packed), bytes.add(sha256)]),
    drop,
    delivered,
    uses: [...hashesIn([step.records, step.facts, step.settings, checkpoint?.extras])],
    cache: cache.map(({ key, value, at }) => {
      const content = JSON.stringify(value);
      return [key, bytes.text(content), at, bytes.add(seal([key, content, at]))];
    }),
    answers: answers.map((answer) => {
      const { value, sha256, ...row } = newAnswerRow(answer);
      return [...answerFields(row), bytes.add(sha256), bytes.text(value)];
    }),
    settle: settle.map(({ run, n, call, spent }) => {
      return { run, n, call, usd: spent.nanodollars, tokens: spent.tokens, calls: spent.sub_calls };
    }),
  };
  const image = made ? made.stored_bytes + made.meta[1] + made.beside[1] : 0;
  const more = [...gone].reduce((sum, id) => sum - (reach.get(id) ?? 0), image + journal);
  if (step.space && step.space.taken + more > step.space.most) throw storeFull(step.space, more);
  const send = () =>
    server.run("SELECT commit_step($1, $2, $3, $4)", JSON.stringify(named), bytes.all(), facts, settings);
  await kept(server, { known, last_seq: next.last_seq, checkpoint: checkpoint ?? null }, send);
  for (const id of gone) reach.delete(id);
  if (checkpoint) reach.set(checkpoint.id, image);
  return { known: { session: next, fence, reach }, more };
}

interface Sending {
  readonly known: Leased;
  readonly last_seq: number;
  readonly checkpoint: NewCheckpoint | null;
}

/**
 * Sends a commit. If the connection breaks, its outcome is unknown: the fence and the last seq tell
 * whether it is kept, since one holder writes and seqs are dense. Without records its checkpoint
 * tells. A step without either does the same when it is done twice. If it is not kept, it is sent
 * again.
 */
async function kept(
  server: Server,
  { known, last_seq, checkpoint }: Sending,
  send: () => Promise<unknown>,
): Promise<void> {
  const { id, last_seq: before } = known.session;
  for (let attempt = 1; ; attempt++) {
    try {
      await send();
      return;
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      const code = codeOf(cause);
      if (code === RAISED.leaseLost) throw leaseLost(id);
      if (code === RAISED.baseMissing) throw checkpointLost(id, `its base ${checkpoint?.base} is missing`);
      if (code === RAISED.noJob) throw misuse(`a step of session ${id} settles a job that is not there`);
      if (!isCut(cause) || attempt > MOST_RESENT) throw error;
    }
    const row = await standOf(server, id, checkpoint?.id ?? null);
    if (row.fence !== known.fence) throw leaseLost(id);
    if (row.last_seq === last_seq && last_seq > before) return;
    if (last_seq === before && row.there === 1) return;
  }
}

const MOST_RESENT = 3;
const PATIENCE_MS = 30_000;

const STAND = `SELECT fence, last_seq,
  (EXISTS (SELECT 1 FROM checkpoints c WHERE c.id = $2 AND c.session = s.id))::int AS there FROM sessions s WHERE id = $1`;

/**
 * Fence and last seq of a session, and whether it has the checkpoint. Asks until the server answers
 * again.
 */
async function standOf(server: Server, id: string, checkpoint: string | null): Promise<Row> {
  const until = performance.now() + PATIENCE_MS;
  for (let waitMs = 100; ; waitMs = Math.min(2 * waitMs, 2000)) {
    try {
      return (await server.get(STAND, id, checkpoint)) ?? {};
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

function checkpointOf(checkpoint: NewCheckpoint, pages: PackedPages, { id, last_seq }: Session, bytes: Bytes) {
  const { meta, extras, sealed } = fieldsOfCheckpoint({ ...checkpoint, session: id, seq: last_seq }, pages);
  return {
    id: checkpoint.id,
    parent: checkpoint.parent,
    base: checkpoint.base,
    exec_id: checkpoint.exec_id,
    kind: checkpoint.kind,
    seq: last_seq,
    at: checkpoint.at,
    chain_length: checkpoint.chain.length,
    chain_bytes: checkpoint.chain.bytes,
    count: pages.count,
    stored_bytes: pages.bytes,
    meta: bytes.text(meta),
    beside: bytes.text(extras),
    parts: bytes.add(pages.seals),
    sha256: bytes.add(seal(sealed)),
    pages: pages.parts.map((part) => [bytes.add(part.numbers), bytes.add(part.bytes)]),
  };
}

/** The place of bytes among those of a commit. */
type BytesAt = readonly [offset: number, length: number];

/** All bytes of a commit, one after the other. */
interface Bytes {
  add(part: Uint8Array): BytesAt;
  /** Packs a text, and adds it. */
  text(content: string): BytesAt;
  /** Adds a text that is packed. */
  packed(content: string | Uint8Array): BytesAt;
  all(): Uint8Array;
}

function openBytes(): Bytes {
  const parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): BytesAt => {
    parts.push(part);
    length += part.byteLength;
    return [length - part.byteLength, part.byteLength];
  };
  return {
    add,
    text: (content) => add(packedBytes(packText(content))),
    packed: (content) => add(packedBytes(content)),
    all: () => Buffer.concat(parts),
  };
}
