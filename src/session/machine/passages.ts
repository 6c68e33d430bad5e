import type { Context } from "../../context/index.ts";
import { packNumbers, unpackNumbers } from "./packed-numbers.ts";

export type Passages = ReturnType<typeof openPassages>;

/** A passage is known by its beginning: UTF-16 units. What is shorter is not found. */
const HEAD_UNITS = 64;
const MOST_STARTS = 20_000;
/** Units that are compared at once. */
const PIECE_UNITS = 4096;

/** Finds passages of P in prompts: those that begin where a range began that a cell was given before. */
export function openPassages(text: Pick<Context["text"], "slice" | "length">) {
  /** By the hash of what stands there; the newest last. */
  const known = new Map<number, number>();
  const mayBeKnown = openFilter();
  // A cell that asks no model pays for no hash.
  let fresh: number[] = [];
  /** `known` in its packed form; undefined if `known` has changed since. */
  let packed: string | undefined;

  /** A range of P that a cell was given begins here. */
  function note(start: number): void {
    fresh.push(start);
    if (fresh.length > 2 * MOST_STARTS) fresh = fresh.slice(-MOST_STARTS);
  }

  function learn(): void {
    if (fresh.length > 0) packed = undefined;
    for (const start of fresh.slice(-MOST_STARTS)) {
      // What a store gives may be no number at all.
      const isPlace = start >= 0 && start + HEAD_UNITS <= text.length;
      if (!isPlace) continue;
      const hash = hashOf(text.slice(start, start + HEAD_UNITS), 0);
      known.delete(hash);
      known.set(hash, start);
      mayBeKnown.add(hash);
    }
    fresh = [];
    for (const hash of known.keys()) {
      if (known.size <= MOST_STARTS) break;
      known.delete(hash);
    }
  }

  /** The known place whose text stands at this place of the prompt. */
  function placeAt(prompt: string, at: number, hash: number): number | undefined {
    const start = mayBeKnown.has(hash) ? known.get(hash) : undefined;
    if (start === undefined) return undefined;
    return prompt.startsWith(text.slice(start, start + HEAD_UNITS), at) ? start : undefined;
  }

  /** The length for which prompt and P are the same from here on. */
  function sameFor(prompt: string, at: number, start: number): number {
    let same = HEAD_UNITS;
    for (;;) {
      const piece = text.slice(start + same, start + same + PIECE_UNITS);
      if (piece === "" || !prompt.startsWith(piece, at + same)) return same + sameUnits(piece, prompt, at + same);
      same += piece.length;
    }
  }

  return {
    note,
    /** The passages of a prompt, as ranges of P: each goes on for as long as prompt and P are the same. */
    *in(prompt: string): Iterable<readonly [start: number, end: number]> {
      learn();
      if (known.size === 0) return;
      let at = 0;
      let hash = hashOf(prompt, at);
      while (at + HEAD_UNITS <= prompt.length) {
        const start = placeAt(prompt, at, hash);
        if (start === undefined) {
          hash = rolled(hash, prompt, at);
          at++;
          continue;
        }
        const units = sameFor(prompt, at, start);
        yield [start, start + units];
        at += units;
        hash = hashOf(prompt, at);
      }
    },
    /** The beginnings of the known ranges, the oldest first, for `restore`. */
    kept(): string {
      learn();
      packed ??= packNumbers([...known.values()]);
      return packed;
    },
    restore(kept: string): void {
      for (const start of unpackNumbers(kept)) note(start);
    },
  };
}

function sameUnits(piece: string, prompt: string, at: number): number {
  let same = 0;
  while (same < piece.length && piece.charCodeAt(same) === prompt.charCodeAt(at + same)) same++;
  return same;
}

const FACTOR = 0x01000193;
/** FACTOR to the power of HEAD_UNITS: what the unit that leaves the window has been multiplied with. */
const LEAVING = Array.from({ length: HEAD_UNITS }).reduce<number>((power) => Math.imul(power, FACTOR), 1);

/** A hash of the HEAD_UNITS units from here, which can be rolled on. */
function hashOf(text: string, at: number): number {
  let hash = 0;
  for (let i = at; i < at + HEAD_UNITS; i++) hash = (Math.imul(hash, FACTOR) + text.charCodeAt(i)) | 0;
  return hash;
}

/** The hash one unit further. */
function rolled(hash: number, text: string, at: number): number {
  const entering = text.charCodeAt(at + HEAD_UNITS);
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
