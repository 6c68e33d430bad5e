import type { ImageMeta } from "../../../runtime/index.ts";
import { checkpointLost } from "../failure.ts";
import type { CheckpointRow, NewCheckpoint } from "../port.ts";
import { EXTRAS, IMAGE_META, jsonIn } from "./forms.ts";
import { type Room, USUAL_BOUNDS } from "./pack.ts";
import type { PackedPages } from "./pages.ts";
import {
  anyColumn,
  bytesColumn,
  columnsOf,
  countColumn,
  instantColumn,
  isSealed,
  numberColumn,
  type Row,
  textColumn,
  textColumnOrNull,
  wordColumn,
} from "./row.ts";

/** A row of `checkpoints`, verified. Baselines have no session. */
export interface Checkpoint extends Omit<CheckpointRow, "session" | "kind"> {
  /** Ascends with every checkpoint of the store. */
  readonly n: number;
  readonly session: string | null;
  readonly kind: Kind;
  /** SHA-256 of each part of its pages: of the numbers, then of the bytes. */
  readonly parts: Uint8Array;
}

type Kind = CheckpointRow["kind"] | "baseline";

/** A checkpoint to write: pages are packed before the transaction begins. */
export type Writing = Pick<NewCheckpoint, "id" | "parent" | "base" | "meta" | "chain" | "at"> & {
  readonly session: string | null;
  readonly extras: NewCheckpoint["extras"] | null;
  readonly exec_id: string | null;
  readonly kind: Kind;
  readonly seq: number;
};

/** The checkpoint as the port shows it. */
export function shown(checkpoint: Checkpoint): CheckpointRow {
  const { n: _, parts, session, kind, ...rest } = checkpoint;
  if (session === null || kind === "baseline") throw checkpointLost(rest.id, "it is the image of a fresh guest");
  return { ...rest, session, kind };
}

/**
 * null if the row is damaged.
 *
 * @param row `seals_number` is 1 if the seal is over the number too
 * @param room for all that are read with it
 */
export function decodeCheckpoint(row: Row, room?: Room): Checkpoint | null {
  const meta = jsonIn(row, "meta", IMAGE_META, USUAL_BOUNDS, room);
  const extras = jsonIn(row, "beside", EXTRAS[String(row.kind)] ?? {}, USUAL_BOUNDS, room);
  if (!meta || !extras || !isImageMeta(meta.value)) return null;
  const columns = (names: readonly string[]) => names.map((name) => anyColumn(row, name));
  const before = columns(row.seals_number === 1 ? ["n", ...BEFORE] : BEFORE);
  if (!isSealed(row, [...before, meta.text, extras.text, ...columns(AFTER)])) return null;
  return {
    ...columnsOf(row, CHECKPOINT),
    exec_id: textColumnOrNull(row, "exec_id") ?? "",
    meta: meta.value,
    extras: extras.value,
    parts: bytesColumn(row, "parts"),
    chain: { length: countColumn(row, "chain_length"), bytes: countColumn(row, "chain_bytes") },
  };
}

const CHECKPOINT = {
  n: numberColumn,
  id: textColumn,
  session: textColumnOrNull,
  parent: textColumnOrNull,
  base: textColumnOrNull,
  seq: countColumn,
  at: instantColumn,
  kind: wordColumn("a checkpoint", ["step", "end", "baseline"]),
  pages: countColumn,
  stored_bytes: countColumn,
};

/** True for what has the form of an image, if its memory is one of 32 bits. */
function isImageMeta(meta: unknown): meta is ImageMeta {
  const { linearBytes: bytes }: { readonly linearBytes?: number } = Object(meta);
  return bytes !== undefined && Number.isInteger(bytes) && bytes > 0 && bytes <= 2 ** 32;
}

const BEFORE = ["id", "session", "parent", "base", "exec_id", "kind", "seq"];
const AFTER = ["chain_length", "chain_bytes", "pages", "stored_bytes", "at", "parts"];

/** The image of a fresh guest. */
export function baselineOf(id: string, meta: ImageMeta): Writing {
  const alone = { session: null, parent: null, base: null, exec_id: null, extras: null } as const;
  return { ...alone, id, meta, kind: "baseline", seq: 0, chain: { length: 0, bytes: 0 }, at: 0 };
}

/** The fields under the seal of a checkpoint, without its number. */
export function fieldsOfCheckpoint(writing: Writing, pages: PackedPages) {
  const { id, session, parent, base, exec_id, kind, seq, chain, at } = writing;
  const meta = JSON.stringify(writing.meta);
  const extras = JSON.stringify(writing.extras);
  const before = [id, session, parent, base, exec_id, kind, seq];
  const after = [chain.length, chain.bytes, pages.count, pages.bytes, at, pages.seals];
  return { meta, extras, before, after, sealed: [...before, meta, extras, ...after] };
}
