import type { Meta } from "./meta.ts";
import { FULL, type Lines, rangeOf, scopeOf } from "./scope.ts";

/** An event of one file on a branch that changes what the model knows of it. */
export type Happened =
  /** The model has this answer. */
  | { readonly is: "read"; readonly meta: Meta }
  /** The model was sent something else of the file, and it is unknown what. */
  | { readonly is: "unproven" }
  | { readonly is: "refreshed"; readonly scope: string }
  /** The model's own edit or write. */
  | { readonly is: "edited" }
  | { readonly is: "edit failed" };

/** The state of the file of which the model has a scope. */
export interface Trust {
  readonly hash: string;
  /** The state that the lines were shown of: another one if a marker has said since that they are equal in this one. */
  readonly shownOf: string;
  /** Grows with each thing that happened. */
  readonly seq: number;
  /** Digest of the lines of a range. */
  readonly shown: string | null;
}

/** The model's knowledge of one file. */
export interface Known {
  readonly full: Trust | null;
  /** By scope. */
  readonly ranges: ReadonlyMap<string, Trust>;
  /** Lines that a refresh wants whole, though the whole file is known. */
  readonly blocked: readonly (Pick<Lines, "start" | "end"> & { readonly seq: number })[];
  /** The newest state of which anything was shown, and since when nothing else was; null if unknown. */
  readonly newest: { readonly hash: string; readonly since: number } | null;
  /** When the model changed the file last; -1 if it did not. */
  readonly edited: number;
}

const NOTHING: Known = { full: null, ranges: new Map(), blocked: [], newest: null, edited: -1 };

/** The model's knowledge of a file after all events, in order. */
export function knownOf(happened: readonly Happened[]): Known {
  return happened.reduce(after, NOTHING);
}

/**
 * True if the model has seen nothing of another state since. A text in pieces of two states is not one that it can rely on,
 * and showing some lines again does not put the others right.
 */
export function isOfOneState({ newest }: Known, { shownOf, seq }: Trust): boolean {
  return newest !== null && newest.hash === shownOf && newest.since <= seq;
}

/** The trust that an answer about these lines can rest on; of a range the fresher one of its own and the whole file's. */
export function candidateOf(known: Known, lines: Lines): Trust | null {
  const scope = scopeOf(lines);
  if (scope === FULL) return known.full;
  const exact = known.ranges.get(scope) ?? null;
  const full = isBlocked(known, scope) ? null : known.full;
  if (!exact || !full) return exact ?? full;
  return full.seq > exact.seq ? full : exact;
}

function after(known: Known, event: Happened, seq: number): Known {
  switch (event.is) {
    case "read":
      return afterRead(known, event.meta, seq);
    case "unproven":
      return { ...known, newest: null };
    case "refreshed":
      return afterRefresh(known, event.scope, seq);
    case "edited":
      return { ...known, edited: seq };
    case "edit failed":
      return { ...known, full: null, ranges: new Map(), newest: null };
  }
}

function afterRead(known: Known, meta: Meta, seq: number): Known {
  const { mode, scopeKey: scope, servedHash: hash, baseHash: base, shown } = meta;
  const { full, ranges, newest } = known;
  const isFull = scope === FULL;
  const asShown = (): Known => {
    const trust = { hash, shownOf: hash, seq, shown: isFull ? null : shown };
    const next = { ...known, newest: { hash, since: newest?.hash === hash ? newest.since : seq } };
    return isFull ? { ...next, full: trust } : { ...next, ranges: new Map(ranges).set(scope, trust) };
  };
  const rests = (trust: Trust | null) => (trust?.hash === base && trust && isOfOneState(known, trust) ? trust : null);
  // No marker stands for a text that is older than the model's own edit: the one that it stood for is no longer sent.
  const restsUnedited = (trust: Trust | null) => (trust && trust.seq > known.edited ? rests(trust) : null);
  switch (mode) {
    case "full":
    case "baseline_fallback":
      return isFull ? { ...asShown(), blocked: [] } : asShown();
    case "unchanged":
      return isFull && restsUnedited(full) && hash === base ? asShown() : known;
    case "diff":
      // The model has a diff then that fits nothing it has.
      return isFull && rests(full) ? asShown() : { ...known, newest: null };
    case "unchanged_range": {
      const on = restsUnedited(ranges.get(scope) ?? null) ?? (isBlocked(known, scope) ? null : restsUnedited(full));
      if (isFull || !on) return known;
      return { ...known, ranges: new Map(ranges).set(scope, { hash, shownOf: on.shownOf, seq, shown }) };
    }
  }
}

/** A range's refresh reaches every range that it touches: what a read shows may be cut shorter than what is asked for. */
function afterRefresh(known: Known, scope: string, seq: number): Known {
  const range = rangeOf(scope);
  if (!range) return scope === FULL ? { ...known, full: null, ranges: new Map(), newest: null } : known;
  const ranges = new Map([...known.ranges].filter(([other]) => !touches(other, range)));
  return { ...known, ranges, blocked: [...known.blocked, { ...range, seq }] };
}

function isBlocked({ ranges, blocked }: Known, scope: string): boolean {
  const shown = ranges.get(scope)?.seq ?? -1;
  return blocked.some((range) => range.seq > shown && touches(scope, range));
}

/** True if the two have a line in common. */
function touches(scope: string, range: Pick<Lines, "start" | "end">): boolean {
  const own = rangeOf(scope);
  return own !== null && own.start <= range.end && range.start <= own.end;
}
