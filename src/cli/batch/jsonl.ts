import { isUtf8 } from "node:buffer";
import { decodedChunks, shownEncoding } from "../../context/index.ts";
import { canonicalJson } from "../../platform/canonical-json.ts";
import { messageOf } from "../../platform/errors.ts";
import { readJson, type WrittenJson } from "../../platform/written-json.ts";
import { quoted } from "../flags/usage.ts";

/** A job's input, and where the user gave it. */
export interface Input {
  readonly at: string;
  readonly value: WrittenJson;
  /** The number of a table's row, from 1. */
  readonly row?: number;
}

/** A JSON value on each line; blank lines are passed over. @throws BadLine */
export async function* jsonLines(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  most = LINE_BYTES,
  decoding?: LineDecoding,
) {
  for await (const { number, text } of linesOf(chunks, name, most, decoding)) {
    if (text.trim() === "") continue;
    const at = placeOf(number, name);
    yield { at, value: readValue(text, at) };
  }
}

export function readValue(text: string, at: string): WrittenJson {
  let value: WrittenJson;
  try {
    value = readJson(text);
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(at);
    // V8 quotes the text, which may be long and have control characters.
    const reason = messageOf(error).replace(/,? ?(\.\.\.)?".*$/s, "");
    throw new BadLine(at, `is not valid JSON: ${reason.slice(0, 100)}`, "Each line is one JSON value.");
  }
  if (canonicalJson(value) !== null) return value;
  throw tooDeep(at);
}

const tooDeep = (at: string) => new BadLine(at, "is nested too deeply");

/** The problem of one line of the user's input. `at` is its place: `line 3 of jobs.jsonl`. */
export class BadLine extends Error {
  readonly at: string;
  readonly cure: string | null;

  constructor(at: string, problem: string, cure: string | null = null) {
    super(problem);
    this.at = at;
    this.cure = cure;
  }
}

/** Bytes of one job's input. */
export const LINE_BYTES = 2 ** 20;

/** The way in which the bytes of a table become text, if the user can say so. */
export interface LineDecoding {
  /** The encoding of a table without a byte order mark; absent: UTF-8. */
  readonly encoding?: string | undefined;
  /** Reads bytes that are not of the encoding as U+FFFD. */
  readonly lossy: boolean;
  /** Told once with the encoding of the table. */
  encodingIs(label: string): void;
  /** Told of each line with bytes that became U+FFFD. */
  lostIn(line: number): void;
}

/**
 * The lines of a text without their ends, one at a time, so that a file of any size takes bounded memory. Numbers are from 1.
 * @param decoding absent: the text is UTF-8
 * @throws BadLine
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  most = LINE_BYTES,
  decoding?: LineDecoding,
) {
  let label = "utf-8";
  let held: Uint8Array[] = [];
  let bytes = 0;
  let number = 1;
  const take = (part: Uint8Array): void => {
    bytes += part.length;
    if (bytes > most) {
      const problem = `is longer than ${most / 2 ** 20} MB`;
      throw new BadLine(placeOf(number, name), problem, "Put long texts into files: --context-field F.");
    }
    held.push(part);
  };
  const finish = () => {
    const line = { number, text: textOf(Buffer.concat(held), { number, name, label, decoding }) };
    held = [];
    bytes = 0;
    number += 1;
    return line;
  };
  const told = (encoding: string) => {
    label = encoding;
    decoding?.encodingIs(encoding);
  };
  for await (const chunk of decodedChunks(chunks, decoding?.encoding, told)) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, end));
      yield finish();
      from = end + 1;
    }
    take(chunk.subarray(from));
  }
  if (bytes > 0) yield finish();
}

const NEWLINE = 10;

export const placeOf = (number: number, name: string) => `line ${number} of ${name}`;

interface LinePlace {
  readonly number: number;
  readonly name: string;
  readonly label: string;
  readonly decoding: LineDecoding | undefined;
}

const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
const REPLACED = "\ufffd";

/** The text of a line, which is UTF-8 by now. A byte order mark stands at the beginning of a file alone. */
function textOf(bytes: Uint8Array, { number, name, label, decoding }: LinePlace): string {
  const isWhole = label === "utf-8" ? isUtf8(bytes) : !DECODER.decode(bytes).includes(REPLACED);
  if (!isWhole && !decoding?.lossy) {
    const cure = decoding ? FLAGS : `iconv -f ENCODING -t UTF-8 ${quoted(name)}`;
    throw new BadLine(placeOf(number, name), `is not ${shownEncoding(label)} text`, cure);
  }
  if (!isWhole) decoding?.lostIn(number);
  const text = DECODER.decode(bytes);
  return number === 1 ? text.replace(/^\ufeff/, "") : text;
}

const FLAGS = "Name its encoding, such as --encoding latin1, or read such bytes as U+FFFD with --lossy.";
