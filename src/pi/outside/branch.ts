import type { BranchEntry } from "../branch/entries.ts";
import { type EpochEntry, type OutsideEntries, readEntries } from "./entries.ts";
import { isTimed, keyOf, resultKey } from "./keys.ts";
import { callsOf, messageOf, type PiMessage } from "./message.ts";

/** What may make a stub of a message: its entry's bounds. */
export interface Mark {
  /** Tokens that the text must have. */
  readonly min: number;
  /** UTF-16 units that stay of it; null: none. */
  readonly preview: number | null;
}

/** What a branch says of its messages. Messages with equal keys are told apart by their order, from 0. */
export interface Outside {
  readonly entries: OutsideEntries;
  /** Marks by key and place among the messages with this key, in the order of their entries. */
  readonly marks: ReadonlyMap<string, readonly (readonly Mark[] | undefined)[]>;
  /** The newest fold: how many messages of a key are in it; null if nothing is folded. */
  readonly fold: { readonly counts: ReadonlyMap<string, number>; readonly by: EpochEntry } | null;
  /** How many messages of a key a compaction took away. */
  readonly gone: ReadonlyMap<string, number>;
  /** Keys with a time of messages behind which the model has answered, or failed to. */
  readonly answered: ReadonlySet<string>;
  /** Place of the newest compaction; -1 if there is none. */
  readonly compacted: number;
}

/** A message's place on the branch. A result stands with its call, whenever it came. */
interface Slot {
  readonly key: string;
  readonly at: number;
  /** Place among the slots with this key. */
  readonly n: number;
}

/** Reads a branch from its root to its leaf. */
export function readOutside(branch: readonly BranchEntry[]): Outside {
  const entries = readEntries(branch);
  const { slots, timed } = slotsOf(branch);
  const marks = new Map<string, Mark[][]>();
  const mark = ({ key, n }: Slot, made: Mark) => {
    const list = marks.get(key) ?? [];
    marks.set(key, list);
    const given = list[n] ?? [];
    list[n] = given;
    const last = given.at(-1);
    if (last?.min !== made.min || last.preview !== made.preview) given.push(made);
  };
  let fold: Outside["fold"] = null;
  for (const { at, epoch, keep } of withKept(entries)) {
    const { min, preview, through, results = [] } = epoch;
    const end = through === undefined ? -1 : placeBefore(timed.get(through), at);
    for (const slot of slots) {
      if (slot.at > end) break;
      if (!keep.has(slot.key)) mark(slot, { min, preview: null });
    }
    for (const key of results) {
      const slot = slots.findLast((slot) => slot.key === key && slot.at < at);
      if (slot) mark(slot, { min: 0, preview });
    }
    const folded = epoch.fold === undefined ? -1 : placeBefore(timed.get(epoch.fold), at);
    if (folded >= 0) fold = { counts: countsOf(slots.filter((slot) => slot.at <= folded)), by: epoch };
  }
  const compacted = branch.findLastIndex(({ type }) => type === "compaction");
  const kept = branch.findIndex(({ id }) => id !== undefined && id === branch[compacted]?.firstKeptEntryId);
  const gone = countsOf(slots.filter(({ at }) => at < kept));
  const last = branch.findLastIndex((entry) => messageOf(entry)?.role === "assistant");
  const answered = new Set(slots.flatMap(({ key, at }) => (at < last && timed.has(key) ? [key] : [])));
  return { entries, marks, fold, gone, answered, compacted };
}

/** Messages that Pi makes its next request of, as it does: behind a compaction, the summary and what it kept. */
export function nextMessages(branch: readonly BranchEntry[]): readonly PiMessage[] {
  const compacted = branch.findLastIndex(({ type }) => type === "compaction");
  const { summary, firstKeptEntryId } = branch[compacted] ?? {};
  const kept = branch.findIndex(({ id }) => id !== undefined && id === firstKeptEntryId);
  const first = compacted < 0 ? 0 : kept < 0 ? compacted : kept;
  const messages = branch.slice(first).flatMap((entry): PiMessage[] => {
    if (entry.type === "branch_summary") return [{ role: "branchSummary", summary: String(entry.summary) }];
    const message = messageOf(entry);
    return message ? [message] : [];
  });
  return compacted < 0 ? messages : [{ role: "compactionSummary", summary: String(summary) }, ...messages];
}

function slotsOf(branch: readonly BranchEntry[]) {
  const slots: Slot[] = [];
  /** Places of messages with a time, by key. */
  const timed = new Map<string, number[]>();
  const counts = new Map<string, number>();
  const add = (key: string, at: number) => {
    const n = counts.get(key) ?? 0;
    counts.set(key, n + 1);
    slots.push({ key, at, n });
  };
  for (const [at, entry] of branch.entries()) {
    const message = messageOf(entry);
    if (!message || message.role === "toolResult") continue;
    const key = keyOf(message);
    if (key !== null) {
      add(key, at);
      if (isTimed(key)) timed.set(key, [...(timed.get(key) ?? []), at]);
    }
    for (const { id } of callsOf(message)) add(resultKey(id), at);
  }
  return { slots, timed };
}

/** The last of these places that lies before another one; -1 if none does. */
function placeBefore(places: readonly number[] | undefined, at: number): number {
  return places?.findLast((place) => place < at) ?? -1;
}

/** Epochs with all that they keep, whichever of their entries says so. */
function withKept({ epochs }: OutsideEntries) {
  const keeps = new Map<number, Set<string>>();
  for (const { epoch } of epochs) {
    const keep = keeps.get(epoch.epoch) ?? new Set();
    keeps.set(epoch.epoch, keep);
    for (const key of epoch.keep ?? []) keep.add(key);
  }
  return epochs.map((entry) => ({ ...entry, keep: keeps.get(entry.epoch.epoch) ?? new Set<string>() }));
}

function countsOf(slots: readonly Slot[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { key, n } of slots) counts.set(key, n + 1);
  return counts;
}
