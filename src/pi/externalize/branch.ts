import { binarySearch } from "../../platform/binary-search.ts";
import { type EpochEntry, type OutsideEntries, readEntries } from "./entries.ts";
import { isTimed, keyOf, resultKey } from "./keys.ts";
import { type BranchEntry, callsOf, messageOf, once, type PiMessage } from "./message.ts";

import { type Cover, type StubBounds, stubBoundsBy } from "./stub-bounds.ts";

/**
 * The state of a branch's messages. Messages with equal keys are told apart by their order, from 0.
 */
export interface Outside {
  readonly entries: OutsideEntries;
  /** The bounds within which a message becomes a stub, in the order of their entries. */
  stubBounds(key: string, n: number): readonly StubBounds[];
  isFolded(key: string, n: number): boolean;
  /** The entry of the newest fold; null if nothing is folded. */
  readonly fold: EpochEntry | null;
  /** The number of messages of a key that a compaction took away. */
  gone(key: string): number;
  /** True if the key has a time, and the model has answered behind such a message, or failed to. */
  isAnswered(key: string): boolean;
  /** Place of the newest compaction; -1 if there is none. */
  readonly compacted: number;
  /** The same messages under other entries. */
  under(entries: OutsideEntries): Outside;
}

/** Reads a branch from its root to its leaf. */
export function readOutside(branch: readonly BranchEntry[]): Outside {
  return outsideOf(placesOn(branch), readEntries(branch));
}

function outsideOf(places: Places, entries: OutsideEntries): Outside {
  const { of, kept, compacted, answer } = places;
  const covers = coversOf(places, entries);
  const stubBounds = stubBoundsBy(covers);
  const folding = covers.findLast(({ folded }) => folded >= 0);
  return {
    entries,
    stubBounds(key, n) {
      const at = of.get(key)?.[n];
      return at === undefined ? [] : stubBounds(key, n, at);
    },
    isFolded: (key, n) => (of.get(key)?.[n] ?? Number.POSITIVE_INFINITY) <= (folding?.folded ?? -1),
    fold: folding?.epoch ?? null,
    gone: (key) => of.get(key)?.filter((at) => at < kept).length ?? 0,
    isAnswered: (key) => isTimed(key) && (of.get(key)?.[0] ?? Number.POSITIVE_INFINITY) < answer,
    compacted,
    under: (others) => outsideOf(places, others),
  };
}

/**
 * Messages that Pi makes its next request of, as it does: behind a compaction, the summary and what
 * it kept.
 */
export function nextMessages(branch: readonly BranchEntry[]): readonly PiMessage[] {
  const compacted = branch.findLastIndex(({ type }) => type === "compaction");
  const { summary, firstKeptEntryId } = branch[compacted] ?? {};
  const kept = branch.findIndex(({ id }) => id !== undefined && id === firstKeptEntryId);
  const first = compacted < 0 ? 0 : kept < 0 ? compacted : kept;
  const messages = branch.slice(first).flatMap((entry): PiMessage[] => {
    if (entry.type === "branch_summary") return [{ role: "branchSummary", summary: textOf(entry.summary) }];
    const message = messageOf(entry);
    return message ? [message] : [];
  });
  return compacted < 0 ? messages : [{ role: "compactionSummary", summary: textOf(summary) }, ...messages];
}

/** The text that a field should hold. */
const textOf = (value: unknown) => (typeof value === "string" ? value : "");

interface Places {
  readonly of: Map<string, number[]>;
  readonly compacted: number;
  readonly kept: number;
  readonly answer: number;
}

/**
 * Places of the messages of a branch, by key, in their order; a result stands with its call,
 * whenever it came. Beside them those of the newest compaction, of the first entry that it kept,
 * and of the last answer; -1 if there is none.
 */
function placesOn(branch: readonly BranchEntry[]): Places {
  const of = new Map<string, number[]>();
  let answer = -1;
  for (const [at, entry] of branch.entries()) {
    const message = messageOf(entry);
    if (!message) continue;
    if (message.role === "assistant") answer = at;
    for (const key of keysOf(message)) {
      const places = of.get(key);
      if (places) places.push(at);
      else of.set(key, [at]);
    }
  }
  const compacted = branch.findLastIndex(({ type }) => type === "compaction");
  const kept = branch.findIndex(({ id }) => id !== undefined && id === branch[compacted]?.firstKeptEntryId);
  return { of, compacted, kept, answer };
}

/** Keys of what stands with a message: its own, and those of its calls' results. */
const keysOf = once((message): readonly string[] => {
  if (message.role === "toolResult") return [];
  const key = keyOf(message);
  return [...(key === null ? [] : [key]), ...callsOf(message).map(({ id }) => resultKey(id))];
});

function coversOf({ of }: Places, { epochs }: OutsideEntries): readonly Cover[] {
  const parts = [...Map.groupBy(epochs, ({ epoch }) => epoch.epoch)];
  /** Each mention of a key, by epoch. */
  const keeps = new Map(
    parts.map(([epoch, all]) => [
      epoch,
      Map.groupBy(
        all.flatMap(({ epoch: { keep = [] } }) => keep),
        (key) => key,
      ),
    ]),
  );
  const placeOf = (key: string | undefined, before: number) =>
    key !== undefined && isTimed(key) ? (of.get(key)?.findLast((place) => place < before) ?? -1) : -1;
  return epochs.map(({ at, epoch }) => {
    const end = placeOf(epoch.through, at);
    return {
      epoch,
      end,
      folded: placeOf(epoch.fold, at),
      keeps(key, n) {
        const named = keeps.get(epoch.epoch)?.get(key)?.length ?? 0;
        const places = of.get(key) ?? [];
        // A key that comes again is named as often as messages of it stay: the newest.
        return named > 0 && n >= binarySearch(places.length, (one) => (places[one] ?? 0) > end) - named;
      },
      results: new Map(epoch.results?.map((key) => [key, newestResults(of.get(key) ?? [], key, at)])),
    };
  });
}

const isResultKey = (key: string) => key.startsWith(resultKey(""));

/**
 * Which results of a key an entry at this place names: those of the newest answer, whose calls may
 * have one id.
 */
function newestResults(places: readonly number[], key: string, at: number): readonly number[] {
  // A prompt or an answer is never out by itself, whatever an entry says.
  const end = isResultKey(key) ? binarySearch(places.length, (n) => (places[n] ?? 0) >= at) : 0;
  const first = binarySearch(end, (n) => places[n] === places[end - 1]);
  return Array.from({ length: end - first }, (_, n) => first + n);
}
