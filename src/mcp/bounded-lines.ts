import { Transform } from "node:stream";
import { parseJson } from "../platform/json.ts";
import { type MessageError, messageError, refusalsOf } from "./malformed.ts";

/** A message of a client is one line. One that is longer than this is skipped, bytes. */
export const LINE_BYTES = 10_000_000;

const NEWLINE = 0x0a;

/**
 * Hands on the lines that hold a message. What is malformed or too long is answered in its place; of a line that is too long
 * nothing is kept.
 *
 * @param answer writes lines for the client, and calls `done` when they are written: no more is read before that
 */
export function boundedLines(answer: (lines: string, done: () => void) => void): Transform {
  let pieces: Buffer[] = [];
  let length = 0;
  let frame = openFrame();

  function add(piece: Buffer): void {
    length += piece.length;
    frame.add(piece);
    if (length > LINE_BYTES) pieces = [];
    else pieces.push(piece);
  }

  /** The line that has ended, if it is to be handed on, and the errors that it is answered with. */
  function ended(): { readonly line: string; readonly errors: readonly MessageError[] } {
    const line = Buffer.concat(pieces)
      .toString("utf8")
      .replace(/^\ufeff/, "");
    const errors =
      length > LINE_BYTES ? tooLong(frame.read()) : line.trim() === "" ? [] : refusalsOf(parseJson(line), "refused");
    pieces = [];
    length = 0;
    frame = openFrame();
    return { line, errors };
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let answers = "";
      for (let at = 0; at < chunk.length; ) {
        const end = chunk.indexOf(NEWLINE, at);
        add(chunk.subarray(at, end === -1 ? chunk.length : end));
        if (end === -1) break;
        const { line, errors } = ended();
        if (errors.length === 0) this.push(`${line}\n`);
        for (const error of errors) answers += `${JSON.stringify(error)}\n`;
        at = end + 1;
      }
      if (answers === "") done();
      else answer(answers, () => done());
    },
  });
}

/** The error for a message that was skipped, if it wants an answer. */
function tooLong(message: unknown): readonly MessageError[] {
  const { id, method }: { id?: unknown; method?: unknown } = Object(message);
  const isRead = message !== undefined;
  if (isRead && (typeof method !== "string" || !(typeof id === "string" || typeof id === "number"))) return [];
  const text = `the message is longer than ${LINE_BYTES} bytes, the limit of a line, and was not read: name a path, or send less at once`;
  return [messageError(id, text)];
}

const FRAME_BYTES = 4_000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
// Braces and brackets differ in one bit.
const isOpen = (byte: number) => (byte | 0x20) === 0x7b;
const isClose = (byte: number) => (byte | 0x20) === 0x7d;

/** The frame of a JSON-RPC message, its id and method, gathered from bytes as they come. What is within it is left out. */
function openFrame() {
  const kept: number[] = [];
  let depth = 0;
  let isText = false;
  let isEscaped = false;

  /** The byte that stands for this one in the frame; null: none does. */
  function placeOf(byte: number): number | null {
    if (isText) {
      isText = isEscaped || byte !== QUOTE;
      isEscaped = !isEscaped && byte === BACKSLASH;
    } else if (byte === QUOTE) isText = true;
    else if (isOpen(byte)) return ++depth === 1 ? byte : depth === 2 ? ZERO : null;
    else if (isClose(byte)) return --depth === 0 ? byte : null;
    return depth === 1 ? byte : null;
  }

  return {
    add(piece: Buffer): void {
      // An iterator would take several times as long.
      for (let at = 0; at < piece.length; at++) {
        const place = placeOf(piece[at] ?? 0);
        if (place !== null && kept.length < FRAME_BYTES) kept.push(place);
      }
    },
    /** The message with 0 instead of each list and object in it; undefined if it is not valid JSON. */
    read: () => parseJson(Buffer.from(kept).toString("utf8")),
  };
}
