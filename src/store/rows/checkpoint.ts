import type { ImageMeta } from "../../../runtime/index.ts";
import { checkpointLost, corrupt } from "../failure.ts";
import type { CheckpointRow, NewCheckpoint } from "../port.ts";
import { unpackText } from "./pack.ts";
import { blob, isSealed, number, type Row, text, textOrNull, value } from "./seal.ts";

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

/** What is written: pages are packed before the transaction begins. */
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

/** null if the row is damaged. */
export function decodeCheckpoint(row: Row): Checkpoint | null {
  const meta = unpackText(row, "meta");
  const extras = unpackText(row, "beside");
  const columns = (names: readonly string[]) => names.map((name) => value(row, name));
  if (meta === null || extras === null) return null;
  if (!isSealed(row, [...columns(BEFORE), meta, extras, ...columns(AFTER)])) return null;
  const kind = kindOf(text(row, "kind"));
  const parsed: ImageMeta = JSON.parse(meta);
  return {
    n: number(row, "n"),
    id: text(row, "id"),
    session: textOrNull(row, "session"),
    parent: textOrNull(row, "parent"),
    base: textOrNull(row, "base"),
    exec_id: textOrNull(row, "exec_id") ?? "",
    kind,
    seq: number(row, "seq"),
    meta: parsed,
    extras: JSON.parse(extras),
    chain: { length: number(row, "chain_length"), bytes: number(row, "chain_bytes") },
    pages: number(row, "pages"),
    stored_bytes: number(row, "stored_bytes"),
    at: number(row, "at"),
    parts: blob(row, "parts"),
  };
}

const BEFORE = ["n", "id", "session", "parent", "base", "exec_id", "kind", "seq"];
const AFTER = ["chain_length", "chain_bytes", "pages", "stored_bytes", "at", "parts"];

function kindOf(kind: string): Kind {
  if (kind === "step" || kind === "end" || kind === "baseline") return kind;
  throw corrupt(`a checkpoint's kind is ${kind}`);
}
