import {
  type Checkpoint,
  type CheckpointRequest,
  countPages,
  type ImageDelta,
  PAGE_BYTES,
  type Sandbox,
} from "../../../runtime/index.ts";
import type { CheckpointRow, NewCheckpoint } from "../../store/index.ts";

/**
 * The images of one machine, one after the other, and which one the next is based on. A step is based on the checkpoint before
 * it. The end of an exec is based on the end before it, so that steps can go when the exec has ended. So is a step if the way back
 * has become long.
 */
export interface ImageChain {
  /** Returns the image to capture as the next step. The machine captures it by itself when its guest waits for calls. */
  step(): CheckpointRequest;
  /** Returns the image to capture as the exec's end, with the answers of these guest commands. */
  end(commands: readonly string[]): CheckpointRequest;
  /**
   * Captures an image of the machine, which must be at rest. It counts once `kept` is called.
   * @param image what the machine has captured for the newest `step()` or `end()`, or `null`
   */
  capture(sandbox: Pick<Sandbox, "checkpoint">, capturing: Capturing, image: Checkpoint | null): Promise<Captured>;
}

/** The checkpoint of a state in which only the extras have changed: it has no pages of its own. */
export function unchanged(
  row: CheckpointRow,
  capturing: Omit<Capturing, "commands">,
  id: string,
): Captured["checkpoint"] {
  const { meta, chain } = row;
  const next = { id, parent: row.id, base: row.id, exec_id: capturing.exec_id, kind: capturing.kind, at: capturing.at };
  return { ...next, meta, pages: [], chain: { length: chain.length + 1, bytes: chain.bytes } };
}

export interface Capturing {
  readonly kind: "step" | "end";
  readonly exec_id: string;
  /** The session's checkpoint. It is the parent unless this exec has kept a checkpoint since. */
  readonly after: string | null;
  /** Guest commands whose answers belong to this state. */
  readonly commands: readonly string[];
  readonly at: number;
  /** The id of an image that the machine has not captured by itself; absent: it gets one. */
  readonly id?: string | undefined;
}

export interface Captured extends Pick<Checkpoint, "answers" | "waiting"> {
  readonly checkpoint: Omit<NewCheckpoint, "extras">;
  /** The number of changed pages. */
  readonly pages: number;
  /** The checkpoint is in the store. */
  kept(): void;
}

interface Link {
  readonly id: string;
  readonly chain: NewCheckpoint["chain"];
  /** The way back to a whole image is long: none is based on it. */
  readonly isHeavy: boolean;
}

/**
 * The way back to a whole image is not longer than this, and the changes on it are not too many to apply quickly, bytes of
 * pages: docs/decisions/0007-whole-images.md has the measurement.
 */
const LONGEST_CHAIN = 32;
const NO_CHAIN: Link["chain"] = { length: 0, bytes: 0 };
const mostChanges = (linearBytes: number) => Math.max(8 * 2 ** 20, 2 * linearBytes);
const isHeavy = ({ chain }: Pick<Link, "chain">, { meta }: Pick<ImageDelta, "meta">) =>
  chain.length >= LONGEST_CHAIN || chain.bytes > mostChanges(meta.linearBytes);

/**
 * The chain of a machine that was just opened: fresh from a baseline, or from a checkpoint.
 * @param baseline the base of the next end if the checkpoint is a step, since a step that an end is based on could not be dropped
 */
export function openImageChain(
  origin: string,
  row: CheckpointRow | null,
  newId: () => string,
  baseline?: string,
): ImageChain {
  let newest: Link = { id: origin, chain: row?.chain ?? NO_CHAIN, isHeavy: row !== null && isHeavy(row, row) };
  const fresh: Link | null = baseline === undefined ? null : { id: baseline, chain: NO_CHAIN, isHeavy: false };
  let anchor = row?.kind === "step" ? fresh : newest;
  /** A step that was based on the anchor is heavy: so would others be. */
  let isFar = false;
  let lastKept: { readonly exec_id: string; readonly id: string } | undefined;

  function request(kind: Capturing["kind"], commands: readonly string[], id = newId()): CheckpointRequest {
    const from = kind === "step" && !newest.isHeavy ? newest : anchor;
    const wantsWhole = !from || from.isHeavy || (kind === "step" && from === anchor && isFar);
    return { id, base: wantsWhole ? null : from.id, kind, commands };
  }

  return {
    step: () => request("step", []),
    end: (commands) => request("end", commands),
    async capture(sandbox, { kind, exec_id, after, commands, at, ...capturing }, image) {
      const { delta, answers, waiting } = image ?? (await sandbox.checkpoint(request(kind, commands, capturing.id)));
      const { id } = delta;
      const pages = countPages(delta.pages);
      const from = [newest, anchor].find((link) => link?.id === delta.base);
      const chain = from
        ? { length: from.chain.length + 1, bytes: from.chain.bytes + pages * PAGE_BYTES }
        : { length: 0, bytes: 0 };
      const parent = lastKept?.exec_id === exec_id ? lastKept.id : after;
      const next = { id, parent, base: delta.base, exec_id, kind, meta: delta.meta, pages: delta.pages, chain, at };
      return {
        checkpoint: next,
        answers,
        waiting,
        pages,
        kept() {
          newest = { id, chain, isHeavy: isHeavy({ chain }, delta) };
          isFar = kind === "step" && (isFar || (newest.isHeavy && delta.base === anchor?.id));
          if (kind === "end") anchor = newest;
          lastKept = { exec_id, id };
        },
      };
    },
  };
}
