import { openByteWriter } from "./byte-writer.ts";
import { withLength } from "./numbers.ts";
import type { SortedPostings } from "./postings.ts";
import type { WordTable } from "./word-table.ts";

/**
 * Words with their postings, as they stand in the blocks of a segment. They are written in the
 * order of their numbers, in which the memory is read from one end to the other.
 */
export interface Records {
  /** Writes those of all words of the table. */
  write(postings: SortedPostings): void;
  /** The bytes of all records. Valid until the next `write`, as are the places in them. */
  bytes(): Buffer;
  start(word: number): number;
  end(word: number): number;
}

/** Opens the records of the words of a table. */
export function openRecords(table: WordTable): Records {
  const writer = openByteWriter();
  /** The ends of records, behind a 0. */
  let ends = new Uint32Array(1 << 14);

  function putPostings({ chunks, counts }: SortedPostings, first: number, last: number): void {
    let before = 0;
    for (let posting = first; posting < last; posting++) {
      const chunk = chunks[posting] ?? 0;
      const count = counts[posting] ?? 0;
      writer.number((chunk - before) * 2 + (count > 1 ? 1 : 0));
      if (count > 1) writer.number(count);
      before = chunk;
    }
  }

  function putWord(word: number, postings: SortedPostings): void {
    const from = table.start(word);
    const to = table.end(word);
    writer.number(to - from);
    writer.copy(table.bytes(), from, to);
    const list = writer.open();
    putPostings(postings, word === 0 ? 0 : (postings.ends[word - 1] ?? 0), postings.ends[word] ?? 0);
    writer.close(list);
    ends[word + 1] = writer.at();
  }

  return {
    write(postings) {
      const count = table.count();
      ends = withLength(ends, count + 1);
      writer.begin(0);
      for (let word = 0; word < count; word++) putWord(word, postings);
    },
    bytes: writer.room,
    start: (word) => ends[word] ?? 0,
    end: (word) => ends[word + 1] ?? 0,
  };
}
