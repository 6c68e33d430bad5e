import { isUtf8 } from "node:buffer";
import { LIMITS } from "../../../runtime/index.ts";
import { decodedChunks, shownEncoding } from "../../context/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { amount } from "../../platform/figures.ts";
import { shellWord } from "../../platform/shell-word.ts";
import { hasFields, propertiesIn, propertiesWritten, readJson, type WrittenJson } from "../../platform/written-json.ts";

/** A job's input, and where the user gave it. */
export interface Input {
  readonly at: string;
  readonly value: WrittenJson;
  /** The number of a table's row, from 1. */
  readonly row?: number;
}

/** A JSON value on each line; blank lines are passed over. @throws BadInput */
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
    const reason = messageOf(error)
      .replace(/,? ?(\.\.\.)?".*$/s, "")
      .slice(0, 100);
    throw new BadInput(at, `is not valid JSON${reason && `: ${reason}`}`, "Each line is one JSON value.");
  }
  const properties = propertiesIn(value);
  if (properties === null) throw tooDeep(at);
  if (propertiesWritten(text) === properties) return value;
  throw new BadInput(at, "has an object with two properties of one name", "`jq -c .` keeps the last of them.");
}

const tooDeep = (at: string) => new BadInput(at, "is nested too deeply");

/** A problem with the inputs that a user named. */
export class BadInput extends Error {
  /**
   * Place of one input, such as `line 3 of jobs.jsonl`; `null` if the problem concerns all of them.
   */
  readonly at: string | null;
  /** A sentence about the remedy. */
  readonly cure: string | null;
  /** A line to type that gets further. */
  readonly tryThis: string | null;

  constructor(at: string | null, problem: string, cure: string | null = null, tryThis: string | null = null) {
    super(problem);
    this.at = at;
    this.cure = cure;
    this.tryThis = tryThis;
  }

  /** Place, problem and remedy. */
  get sentence(): string {
    const problem = this.at === null ? this.message : `${this.at} ${this.message}`;
    return this.cure === null ? problem : `${problem}. ${this.cure}`;
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
 * The lines of a text without their ends, one at a time, so that a file of any size takes bounded
 * memory. Numbers are from 1.
 *
 * @param decoding absent: the text is UTF-8
 * @throws BadInput
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
      throw new BadInput(placeOf(number, name), problem, "Put long texts into files: --context-field F.");
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
  const setEncoding = (encoding: string) => {
    label = encoding;
    decoding?.encodingIs(encoding);
  };
  for await (const chunk of decodedChunks(chunks, decoding?.encoding, setEncoding)) {
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

/**
 * The text of a line, which is UTF-8 by now. A byte order mark stands at the beginning of a file
 * alone.
 */
function textOf(bytes: Uint8Array, { number, name, label, decoding }: LinePlace): string {
  const isWhole = label === "utf-8" ? isUtf8(bytes) : !DECODER.decode(bytes).includes(REPLACED);
  if (!isWhole && !decoding?.lossy) {
    const cure = decoding ? FLAGS : `iconv -f ENCODING -t UTF-8 ${shellWord(name)}`;
    throw new BadInput(placeOf(number, name), `is not ${shownEncoding(label)} text`, cure);
  }
  if (!isWhole) decoding?.lostIn(number);
  const text = DECODER.decode(bytes);
  if (number !== 1) return text;
  const begun = text.replace(/^\ufeff/, "");
  const wide = wideIn(begun, label);
  if (wide === undefined) return begun;
  const flag = wide === "utf-32" ? undefined : `Name its encoding: --encoding ${wide}.`;
  const cure = (decoding && flag) ?? `iconv -f ${shellWord(wide.toUpperCase())} -t UTF-8 ${shellWord(name)}`;
  throw new BadInput(placeOf(number, name), `seems to be ${wide.toUpperCase()} without a byte order mark`, cure);
}

/** The encoding of text that begins with a letter beside NUL, read as narrower than it is. */
function wideIn(text: string, label: string): string | undefined {
  const [first, second] = text;
  if ((first === "\0") === (second === "\0")) return first === "\0" ? "utf-32" : undefined;
  if (label.startsWith("utf-16") || text.charAt(2) === text.charAt(1)) return "utf-32";
  return first === "\0" ? "utf-16be" : "utf-16le";
}

const FLAGS = "Name its encoding, such as --encoding latin1, or read such bytes as U+FFFD with --lossy.";

/** The decoding of a table, and what is to be told of it. */
export interface TableDecoding extends LineDecoding {
  /** Adds a sentence for the user. */
  note(sentence: string): void;
  /**
   * Sentences for the user, once the table is read: its encoding if that is not UTF-8, its bad
   * bytes, and those that were added.
   */
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

/**
 * The items of the array that a `.json` file is, or the values of its lines if it has one on each.
 *
 * @throws BadInput
 */
export async function* jsonItems(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  decoding?: LineDecoding,
): AsyncIterable<Input> {
  const lines = await linesIn(chunks, name, decoding);
  const whole = lines.join("\n").trim();
  if (whole.startsWith("[")) {
    yield* itemsOf(readValue(whole, name), name);
    return;
  }
  const object = objectIn(whole);
  // On one line it may be a job, unless it has rows.
  if (object !== null && (whole.includes("\n") || Object.values(object).some(hasRows))) throw noArray(object, name);
  for (const [index, text] of lines.entries()) {
    if (text.trim() === "") continue;
    const at = placeOf(index + 1, name);
    yield { at, value: readValue(text, at) };
  }
}

/** All lines of a file: an array is read whole, so that it has a limit. */
async function linesIn(chunks: AsyncIterable<Uint8Array>, name: string, decoding: LineDecoding | undefined) {
  const lines: string[] = [];
  let units = 0;
  for await (const { text } of linesOf(chunks, name, LIMITS.contextBytes, decoding)) {
    units += text.length + 1;
    if (units > LIMITS.contextBytes) {
      const problem = `has more than ${LIMITS.contextBytes / 2 ** 20} MB, and an array is read whole`;
      throw new BadInput(name, problem, linesOfArray(name, ".[]"));
    }
    lines.push(text);
  }
  return lines;
}

function* itemsOf(array: WrittenJson, name: string): Iterable<Input> {
  if (!Array.isArray(array)) return;
  for (const [index, value] of array.entries()) {
    const at = `item ${index + 1} of ${name}`;
    if (Buffer.byteLength(JSON.stringify(value)) > LINE_BYTES) {
      throw new BadInput(at, "is longer than 1 MB", "Put long texts into files: --context-field F.");
    }
    yield { at, value };
  }
}

/** True for an array of objects. */
const hasRows = (value: WrittenJson | undefined) => Array.isArray(value) && hasFields(value[0]);

/** The object that the file is; null for other texts, such as lines of JSON. */
function objectIn(text: string): { readonly [name: string]: WrittenJson } | null {
  try {
    const value = readJson(text);
    return hasFields(value) ? value : null;
  } catch {
    return null;
  }
}

function noArray(object: { readonly [name: string]: WrittenJson }, name: string): BadInput {
  const fields = Object.keys(object);
  const field = fields.find((key) => hasRows(object[key])) ?? fields.find((key) => Array.isArray(object[key]));
  if (field === undefined) return new BadInput(name, "is an object, and --jobs takes an array");
  const cure = linesOfArray(name, `.[${JSON.stringify(field)}][]`);
  return new BadInput(name, `is an object, whose array is in ${JSON.stringify(field.slice(0, 80))}`, cure);
}

/** The line that makes JSON lines of an array. */
function linesOfArray(name: string, path: string): string {
  const lines = `${name.replace(/\.json$/i, "")}.jsonl`;
  return `jq -c ${shellWord(path)} ${shellWord(name)} > ${shellWord(lines)} makes a file for --jobs.`;
}
