import { isInRun, openAsciiWords } from "./ascii-words.ts";
import { larger } from "./numbers.ts";
import { hashWith, mixed, openSlots } from "./slots.ts";
import { indexForm } from "./tokens.ts";
import type { WordTable } from "./word-table.ts";

/**
 * The words of a text as numbers of a table. A run is what stands between ASCII characters other
 * than letters, digits, `_` and `-`; its words are looked for once in a text.
 */
interface Runs {
  /** Begins a text. Its bytes do not change as long as it is read. */
  begin(bytes: Buffer): void;
  /** Gives each word of the bytes `from..to`, as often as `tokensOf` has it. Returns how many. */
  each(from: number, to: number): number;
}

const ROOM = 1 << 14;

/** Opens what finds words, puts them into a table, and gives their numbers to `use`. */
export function openRuns(table: WordTable, seed: number, use: (word: number) => void): Runs {
  const slots = openSlots();
  const words = openRunWords(table, use);
  let bytes: Buffer = Buffer.alloc(0);
  /** Pairs: the place at which a run was first, and its end. */
  let places = new Uint32Array(2 * ROOM);

  function isAt(run: number, from: number, to: number): boolean {
    const start = places[2 * run] ?? 0;
    if ((places[2 * run + 1] ?? 0) - start !== to - from) return false;
    // Runs that differ do so at their ends more often.
    for (let n = to - from - 1; n >= 0; n--) if (bytes[start + n] !== bytes[from + n]) return false;
    return true;
  }

  function runOf(from: number, to: number, isAscii: boolean, hash: number): number {
    for (let run = slots.first(hash); run >= 0; run = slots.next()) if (isAt(run, from, to)) return run;
    const run = slots.add();
    if (2 * run === places.length) places = larger(places);
    places[2 * run] = from;
    places[2 * run + 1] = to;
    words.add(bytes, from, to, isAscii);
    return run;
  }

  return {
    begin(text) {
      bytes = text;
      slots.clear();
      words.clear();
    },
    each(from, to) {
      let count = 0;
      for (let at = from; at < to; ) {
        let hash = seed;
        let all = 0;
        let end = at;
        for (; end < to; end++) {
          const byte = bytes[end] ?? 0;
          if (!isInRun(byte)) break;
          all |= byte;
          hash = hashWith(hash, byte);
        }
        if (end > at) count += words.each(runOf(at, end, all < 0x80, mixed(hash)));
        at = end + 1;
      }
      return count;
    },
  };
}

/** The words of runs, in the order in which they are added. */
interface RunWords {
  add(bytes: Buffer, from: number, to: number, isAscii: boolean): void;
  /** Gives the words of a run. Returns how many. */
  each(run: number): number;
  clear(): void;
}

function openRunWords(table: WordTable, use: (word: number) => void): RunWords {
  /** The words of all runs, and the ends of the words of each, behind a 0. */
  let words = new Uint32Array(4 * ROOM);
  let ends = new Uint32Array(ROOM);
  let filled = 0;
  let runs = 0;

  function put(bytes: Buffer, from: number, to: number): void {
    if (filled === words.length) words = larger(words);
    words[filled++] = table.numberOf(bytes, from, to);
  }
  const putAscii = openAsciiWords(put);

  function putOthers(text: string): void {
    const form = Buffer.from(indexForm(text));
    let start = 0;
    for (let at = 0; at <= form.length; at++) {
      if (at < form.length && isInWord(form[at] ?? 0)) continue;
      if (at > start) put(form, start, at);
      start = at + 1;
    }
  }

  return {
    add(bytes, from, to, isAscii) {
      if (isAscii) putAscii(bytes, from, to);
      else putOthers(bytes.toString("utf8", from, to));
      runs += 1;
      if (runs === ends.length) ends = larger(ends);
      ends[runs] = filled;
    },
    each(run) {
      const first = ends[run] ?? 0;
      const last = ends[run + 1] ?? 0;
      for (let at = first; at < last; at++) use(words[at] ?? 0);
      return last - first;
    },
    clear() {
      filled = 0;
      runs = 0;
    },
  };
}

/** True for a byte of a word in an index form: a letter, a digit, or no ASCII. */
const isInWord = (byte: number) => byte >= 0x80 || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39);
