import { fates } from "./apply.ts";
import { readOutside } from "./branch.ts";
import { isOurs } from "./compaction.ts";
import type { EpochEntry, OutsideEntries } from "./entries.ts";
import { type ObjectIds, objectText } from "./keys.ts";
import { type BranchEntry, messageOf } from "./message.ts";

import { describedObject, ownText, plain } from "./stub.ts";

/** The conversation of a branch as people see it. */
export interface Overview {
  readonly objects: SaidObject[];
  readonly epochs: readonly PastEpoch[];
  readonly compactions: readonly PastCompaction[];
  readonly isOff: boolean;
}

/**
 * Sizes are those of the request, tokens. Times are ms since the epoch of Unix; null if Pi has not
 * kept them.
 */
export interface PastEpoch extends Pick<EpochEntry, "epoch" | "cause" | "before" | "after" | "objects" | "window"> {
  readonly at: number | null;
}

export interface PastCompaction {
  readonly by: "belay" | "pi";
  /** Tokens before it; `null` if Pi has not kept them. */
  readonly before: number | null;
  readonly at: number | null;
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
  /** The whole text. */
  text(): string;
}

/**
 * Every text that was said on the branch, in its order, epochs since the newest `/rlm clear`, the
 * oldest first, and compactions.
 *
 * @param isRaw texts are sent as they were said, whatever the entries say, because `/rlm off` holds
 */
export function overviewOf(branch: readonly BranchEntry[], ids: ObjectIds, isRaw = false): Overview {
  const read = readOutside(branch);
  const outside = isRaw ? { ...read, stubBounds: () => [], isFolded: () => false } : read;
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
    const text = objectText(message);
    if (key === null || !text) return [];
    const state = said[at]?.isGone ? "folded" : ({ raw: "in", stub: "out", folded: "folded" } as const)[is];
    const described = describedObject(message, { key, call, ids });
    // An answer of calls alone is told by its first one.
    const isBare = ownText(message).trim() === "";
    const description = isBare
      ? plain(`${message.role}: ${text}`, described.description.length + CALL_UNITS)
      : described.description;
    return [{ ...described, description, is: state, text: () => text }];
  });
  return { objects, epochs: epochsOn(branch, entries), compactions: compactionsOn(branch), isOff: entries.isOff };
}

const CALL_UNITS = 60;

/** Several entries may be one epoch: the last one has what it came to. */
function epochsOn(branch: readonly BranchEntry[], { epochs }: OutsideEntries): readonly PastEpoch[] {
  const all = new Map<number, PastEpoch>();
  for (const { at: place, epoch: entry } of epochs) {
    const { epoch, after, objects, window } = entry;
    const first = all.get(epoch);
    const { cause, before } = first ?? entry;
    all.set(epoch, { epoch, cause, before, after, objects, window, at: first?.at ?? timeOf(branch[place]) });
  }
  return [...all.values()];
}

function compactionsOn(branch: readonly BranchEntry[]): readonly PastCompaction[] {
  return branch
    .filter(({ type }) => type === "compaction")
    .map((entry) => ({
      by: isOurs(entry) ? "belay" : "pi",
      before: typeof entry.tokensBefore === "number" ? entry.tokensBefore : null,
      at: timeOf(entry),
    }));
}

function timeOf(entry: BranchEntry | undefined): number | null {
  const time = typeof entry?.timestamp === "string" ? Date.parse(entry.timestamp) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}
