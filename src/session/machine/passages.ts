import type { Context } from "../../context/index.ts";
import type { Range } from "./ranges.ts";

/** P has a place every so many UTF-16 units. A passage is known by one of them: by as many units that begin there. */
export const PLACE_UNITS = 64;
/** If more places would be known, only every second one is, every third one and so on. */
const MOST_PLACES = 65_536;
/** Units that are compared at once. */
const PIECE_UNITS = 4096;
/** Units that a passage grows to its left at the most. */
const MOST_BEFORE = 65_536;

/**
 * Finds passages of P in prompts: those of 127 characters or more that lie in what cells were given, wherever they were cut.
 * Which ones it finds depends on all that was given, and not on the order in which it was.
 */
export function openPassages(text: Pick<Context["text"], "slice" | "length">) {
  const places = Math.floor(text.length / PLACE_UNITS);
  const { sameFor, sameBefore } = comparing(text);
  const given = openMarks(places);
  /** Every so many places are known: so many of them were given. */
  let every = 1;
  let count = 0;
  // A cell that asks no model pays for no hash.
  let fresh: number[] = [];
  let isStale = false;
  /** By the hash of the text there; of equal texts the first. */
  const known = new Map<number, number>();
  let mayBeKnown = openFilter();

  /** A cell was given this range of P. */
  function note(start: number, end: number): void {
    const last = Math.min(places, Math.ceil(end / PLACE_UNITS));
    for (let place = Math.ceil(Math.max(0, start) / PLACE_UNITS); place < last; place++) {
      if (!given.add(place) || place % every !== 0) continue;
      count++;
      if (count <= MOST_PLACES) fresh.push(place);
      else isStale = true;
    }
  }

  function learn(): void {
    for (; count > MOST_PLACES; count = Iterator.from(given.all(every)).reduce((sum) => sum + 1, 0)) every++;
    if (isStale) {
      known.clear();
      mayBeKnown = openFilter();
    }
    for (const place of isStale ? given.all(every) : fresh) know(place);
    fresh = [];
    isStale = false;
  }

  function know(place: number): void {
    const start = place * PLACE_UNITS;
    const hash = hashOf(text.slice(start, start + PLACE_UNITS), 0);
    if ((known.get(hash) ?? start) < start) return;
    known.set(hash, start);
    mayBeKnown.add(hash);
  }

  /** The known place whose text stands at this place of the prompt. */
  function placeAt(prompt: string, at: number, hash: number): number | undefined {
    const start = mayBeKnown.has(hash) ? known.get(hash) : undefined;
    if (start === undefined) return undefined;
    return prompt.startsWith(text.slice(start, start + PLACE_UNITS), at) ? start : undefined;
  }

  return {
    note,
    /** The passages of a prompt, as ranges of P: each goes on to both sides while prompt and P are the same. */
    *in(prompt: string): Iterable<Range> {
      if (prompt.length < PLACE_UNITS) return;
      learn();
      if (known.size === 0) return;
      let at = 0;
      let before = 0;
      let hash = hashOf(prompt, at);
      while (at + PLACE_UNITS <= prompt.length) {
        const start = placeAt(prompt, at, hash);
        if (start === undefined) {
          hash = rolled(hash, prompt, at);
          at++;
          continue;
        }
        const units = sameFor(prompt, at, start);
        yield [start - sameBefore(prompt, at, start, at - before), start + units];
        before = at;
        // Where P repeats itself, the text that was given may be another one, which goes on beyond this end.
        at += Math.max(units - PLACE_UNITS + 1, PLACE_UNITS / 2);
        hash = hashOf(prompt, at);
      }
    },
  };
}

/** Compares P with a prompt around a place at which they are the same. */
function comparing(text: Pick<Context["text"], "slice">) {
  return {
    /** The length for which prompt and P are the same from here on. */
    sameFor(prompt: string, at: number, start: number): number {
      let same = PLACE_UNITS;
      for (;;) {
        const piece = text.slice(start + same, start + same + PIECE_UNITS);
        if (piece === "" || !prompt.startsWith(piece, at + same)) return same + sameUnits(piece, prompt, at + same);
        same += piece.length;
      }
    },
    /** The length for which prompt and P are the same before here. @param most the units of the prompt since the place that was found before this one */
    sameBefore(prompt: string, at: number, start: number, most: number): number {
      const units = Math.min(most, start, MOST_BEFORE);
      const piece = text.slice(start - units, start);
      let same = 0;
      while (same < units && piece.charCodeAt(units - 1 - same) === prompt.charCodeAt(at - 1 - same)) same++;
      return same;
    },
  };
}

/** Opens a set of places, a bit for each. */
function openMarks(places: number) {
  let bits: Uint8Array | undefined;
  const has = (place: number) => ((bits?.[place >> 3] ?? 0) & (1 << (place & 7))) !== 0;
  return {
    /** Returns false if it is there already. */
    add(place: number): boolean {
      if (has(place)) return false;
      bits ??= new Uint8Array(Math.ceil(places / 8));
      bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
      return true;
    },
    /** Gives those of every so many places that are in the set. */
    *all(every: number): Iterable<number> {
      for (let place = 0; place < places; place += every) if (has(place)) yield place;
    },
  };
}

function sameUnits(piece: string, prompt: string, at: number): number {
  let same = 0;
  while (same < piece.length && piece.charCodeAt(same) === prompt.charCodeAt(at + same)) same++;
  return same;
}

const FACTOR = 0x01000193;
/** FACTOR to the power of PLACE_UNITS: what the unit that leaves the window has been multiplied with. */
const LEAVING = Array.from({ length: PLACE_UNITS }).reduce<number>((power) => Math.imul(power, FACTOR), 1);

/** A hash of the PLACE_UNITS units from here, which can be rolled on. */
function hashOf(text: string, at: number): number {
  let hash = 0;
  for (let i = at; i < at + PLACE_UNITS; i++) hash = (Math.imul(hash, FACTOR) + text.charCodeAt(i)) | 0;
  return hash;
}

/** The hash one unit further. */
function rolled(hash: number, text: string, at: number): number {
  const entering = text.charCodeAt(at + PLACE_UNITS);
  return (Math.imul(hash, FACTOR) + entering - Math.imul(LEAVING, text.charCodeAt(at))) | 0;
}

/** Says of most hashes at once that they are not known: 32 KB, made when it is first needed. */
function openFilter() {
  let bits: Uint8Array | undefined;
  const bitOf = (hash: number) => Math.imul(hash, 0x9e3779b1) >>> 14;
  return {
    add(hash: number) {
      bits ??= new Uint8Array(2 ** 15);
      const bit = bitOf(hash);
      bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7));
    },
    has(hash: number) {
      const bit = bitOf(hash);
      return bits !== undefined && ((bits[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
    },
  };
}
