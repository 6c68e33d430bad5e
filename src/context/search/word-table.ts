import { larger } from "./numbers.ts";
import { hashOf, openSlots, type Slots } from "./slots.ts";

/** Distinct words, numbered in the order in which they are added. A word is its UTF-8. */
export interface WordTable extends Pick<Slots, "count" | "hash" | "clear"> {
  /** The number of the word that these bytes are; a new word is added. */
  numberOf(bytes: Buffer, from: number, to: number): number;
  /** The bytes of all words, one after the other. Valid until a word is added. */
  bytes(): Buffer;
  /** The places in these bytes at which a word begins and ends. */
  start(word: number): number;
  end(word: number): number;
}

const ROOM = 1 << 14;

/** Opens a table without words. */
export function openWordTable(seed: number): WordTable {
  const slots = openSlots();
  let room = Buffer.from(new ArrayBuffer(16 * ROOM));
  /** The ends of words, behind a 0. */
  let ends = new Uint32Array(ROOM);

  function isAt(word: number, bytes: Buffer, from: number, to: number): boolean {
    const start = ends[word] ?? 0;
    const length = to - from;
    if ((ends[word + 1] ?? 0) - start !== length) return false;
    for (let n = 0; n < length; n++) if (room[start + n] !== bytes[from + n]) return false;
    return true;
  }

  return {
    count: slots.count,
    hash: slots.hash,
    clear: slots.clear,
    numberOf(bytes, from, to) {
      const hash = hashOf(bytes, from, to, seed);
      for (let word = slots.first(hash); word >= 0; word = slots.next()) if (isAt(word, bytes, from, to)) return word;
      const word = slots.add();
      let filled = ends[word] ?? 0;
      while (filled + to - from > room.length) room = Buffer.from(room.buffer.transfer(2 * room.length));
      for (let at = from; at < to; at++) room[filled++] = bytes[at] ?? 0;
      if (word + 1 === ends.length) ends = larger(ends);
      ends[word + 1] = filled;
      return word;
    },
    bytes: () => room,
    start: (word) => ends[word] ?? 0,
    end: (word) => ends[word + 1] ?? 0,
  };
}
