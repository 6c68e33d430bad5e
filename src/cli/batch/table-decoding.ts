import { shownEncoding } from "../../context/index.ts";
import { amount } from "../../platform/figures.ts";
import type { LineDecoding } from "./jsonl.ts";

/** The decoding of a table, and what is to be told of it. */
export interface TableDecoding extends LineDecoding {
  /** Adds a sentence for the user. */
  note(sentence: string): void;
  /** Sentences for the user, once the table is read: its encoding if that is not UTF-8, its bad bytes, and those that were added. */
  notes(): readonly string[];
}

const LISTED = 10;

/** @param name the table, as the user typed it */
export function tableDecoding(
  name: string,
  { encoding, lossy }: Pick<LineDecoding, "encoding" | "lossy">,
): TableDecoding {
  let label = "utf-8";
  let count = 0;
  const first: number[] = [];
  const added: string[] = [];
  return {
    encoding,
    lossy,
    encodingIs(found) {
      label = found;
    },
    lostIn(line) {
      count += 1;
      if (first.length < LISTED) first.push(line);
    },
    note(sentence) {
      added.push(sentence);
    },
    notes() {
      const read = [...added, ...(label === "utf-8" ? [] : [`${name} is read as ${shownEncoding(label)}`])];
      if (count === 0) return read;
      const lines = `${first.join(", ")}${count > first.length ? ", …" : ""}`;
      const have = amount(count, "line has", "lines have");
      return [...read, `${name}: ${have} bytes that are not ${shownEncoding(label)}, read as U+FFFD: ${lines}`];
    },
  };
}
