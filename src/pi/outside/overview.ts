import type { BranchEntry } from "../branch/entries.ts";
import { fates } from "./apply.ts";
import { readOutside } from "./branch.ts";
import type { EpochEntry } from "./entries.ts";
import { type ObjectIds, objectText } from "./keys.ts";
import { messageOf } from "./message.ts";
import { describedObject } from "./stub.ts";

/** The conversation of a branch as people see it. */
export interface Overview {
  /** Every text that was said on the branch, in its order. */
  readonly objects: readonly SaidObject[];
  /** Epochs since the newest `/rlm clear`, the oldest first. */
  readonly epochs: readonly EpochEntry[];
  /** How often Pi's branch was compacted. */
  readonly compactions: number;
  readonly isOff: boolean;
}

/** A text of the conversation. */
export interface SaidObject {
  /** `rlm-obj-` and 12 hex digits. */
  readonly id: string;
  readonly kind: string;
  /** Estimated. */
  readonly tokens: number;
  /** `in`: it is sent as it is. `out`: as a stub. `folded`: a list or a summary stands for it. */
  readonly is: "in" | "out" | "folded";
  readonly description: string;
}

/** @param isRaw texts are sent as they were said, whatever the entries say, because `/rlm off` holds */
export function overviewOf(branch: readonly BranchEntry[], ids: ObjectIds, isRaw = false): Overview {
  const read = readOutside(branch);
  const outside = isRaw ? { ...read, marks: () => [], isFolded: () => false } : read;
  const { entries, compacted } = outside;
  const kept = branch.findIndex(({ id }) => id !== undefined && id === branch[compacted]?.firstKeptEntryId);
  const said = branch.flatMap((entry, at) => {
    const message = messageOf(entry);
    return message ? [{ message, isGone: at < (kept < 0 ? compacted : kept) }] : [];
  });
  // Everything that was said is here, also what a compaction took away.
  const all = fates(
    said.map(({ message }) => message),
    { ...outside, gone: () => 0 },
    ids,
  );
  const objects = all.flatMap(({ message, key, call, is }, at): readonly SaidObject[] => {
    if (key === null || !objectText(message)) return [];
    const state = said[at]?.isGone ? "folded" : ({ raw: "in", stub: "out", folded: "folded" } as const)[is];
    return [{ ...describedObject(message, { key, call, ids }), is: state }];
  });
  const epochs = new Map(entries.epochs.map(({ epoch }) => [epoch.epoch, epoch]));
  const compactions = branch.filter(({ type }) => type === "compaction").length;
  return { objects, epochs: [...epochs.values()], compactions, isOff: entries.isOff };
}
