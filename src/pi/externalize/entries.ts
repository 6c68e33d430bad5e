import * as v from "valibot";
import type { BranchEntry } from "./message.ts";

/** The kind of entry on Pi's branch that says what is outside. */
export const OUTSIDE_ENTRY = "rlm_externalize";

const text = v.string();
const key = text;
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** The largest number of an epoch: the next one must be a number too. */
const MOST_EPOCHS = 1_000_000_000;

const EpochSchema = v.object({
  v: v.literal(1),
  /** From 1; several entries of one number are one epoch. */
  epoch: v.pipe(count, v.maxValue(MOST_EPOCHS)),
  cause: v.picklist(["threshold", "manual", "valve", "model"]),
  /** Everything up to this message goes out. */
  through: v.exactOptional(key),
  /** Everything up to this message is folded. */
  fold: v.exactOptional(key),
  /** Keys of messages that stay although they lie before `through`. */
  keep: v.exactOptional(v.array(key)),
  /** Results that go out although they lie behind it, with the beginning of their text. */
  results: v.exactOptional(v.array(key)),
  /** Tokens: smaller texts stay. */
  min: count,
  /** Tokens of the fold message at the most. */
  manifest: count,
  /** UTF-16 units of text that stay of `results`. */
  preview: count,
  /**
   * For people: tokens of the model's window, and of the request before and after; objects that are
   * outside then.
   */
  window: count,
  before: count,
  after: count,
  objects: count,
});

const SwitchSchema = v.object({ v: v.literal(1), off: v.boolean() });
const ClearSchema = v.object({ v: v.literal(1), clear: v.literal(true) });

/**
 * The kind of entry that says how many tokens Pi keeps free for an answer of a model: they decide
 * when texts go out.
 */
export const RESERVE_ENTRY = "rlm_reserve";

const ReserveSchema = v.object({ v: v.literal(1), model: text, tokens: count });

/**
 * Tokens that Pi keeps free for an answer of this model, as it told last on the branch; null if it
 * did not.
 */
export function reserveOn(branch: readonly BranchEntry[], model: string): number | null {
  for (const { customType, data } of branch.toReversed())
    if (customType === RESERVE_ENTRY && v.is(ReserveSchema, data) && data.model === model) return data.tokens;
  return null;
}

export type EpochEntry = Readonly<v.InferOutput<typeof EpochSchema>>;

/** The entries of a branch together. */
export interface OutsideEntries {
  /** Epochs since the newest `clear`, with the places of their entries on the branch. */
  readonly epochs: readonly { readonly at: number; readonly epoch: EpochEntry }[];
  /**
   * Place of the newest entry on the branch: what was sent before may be another text. -1 if there
   * is none.
   */
  readonly newest: number;
  /** The number that the next epoch has: one more than any epoch's before, cleared or not. */
  readonly next: number;
  /** After `/rlm off`. */
  readonly isOff: boolean;
  /** Entries that another version wrote: they are passed over. */
  readonly unknown: number;
}

/** Reads the entries of a branch, from its root to its leaf. */
export function readEntries(branch: readonly BranchEntry[]): OutsideEntries {
  let epochs: { readonly at: number; readonly epoch: EpochEntry }[] = [];
  let newest = -1;
  let number = 0;
  let isOff = false;
  let unknown = 0;
  for (const [at, { type, customType, data }] of branch.entries()) {
    if (type !== "custom" || customType !== OUTSIDE_ENTRY) continue;
    const read = v.safeParse(v.union([EpochSchema, SwitchSchema, ClearSchema]), data);
    if (!read.success) {
      unknown++;
      continue;
    }
    newest = at;
    if ("off" in read.output) isOff = read.output.off;
    else if ("clear" in read.output) epochs = [];
    else {
      epochs.push({ at, epoch: read.output });
      number = Math.max(number, read.output.epoch);
    }
  }
  return { epochs, newest, next: Math.min(number + 1, MOST_EPOCHS), isOff, unknown };
}

/** Pi 1.x sends every entry to its clients, whole. */
const MOST_BYTES = 2000;

/**
 * The entry as several of at most 2 KB, that with `through` last: without it the others put nothing
 * out.
 */
export function inParts(entry: EpochEntry): readonly EpochEntry[] {
  const { through, fold, keep = [], results = [], ...facts } = entry;
  const ends = { ...(through === undefined ? {} : { through }), ...(fold === undefined ? {} : { fold }) };
  const room = MOST_BYTES - Buffer.byteLength(JSON.stringify({ ...facts, ...ends, keep: [], results: [] }));
  const parts: { keep: string[]; results: string[]; bytes: number }[] = [{ keep: [], results: [], bytes: 0 }];
  const put = (list: "keep" | "results", item: string) => {
    const bytes = Buffer.byteLength(JSON.stringify(item)) + 1;
    let part = parts.at(-1);
    if (!part || (part.bytes > 0 && part.bytes + bytes > room)) {
      part = { keep: [], results: [], bytes: 0 };
      parts.push(part);
    }
    part[list].push(item);
    part.bytes += bytes;
  };
  for (const item of keep) put("keep", item);
  for (const item of results) put("results", item);
  return parts.map((part, n) => ({
    ...facts,
    ...(n === parts.length - 1 ? ends : {}),
    ...(part.keep.length > 0 ? { keep: part.keep } : {}),
    ...(part.results.length > 0 ? { results: part.results } : {}),
  }));
}
