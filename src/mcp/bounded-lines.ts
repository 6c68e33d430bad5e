import { Transform } from "node:stream";
import { parseJson } from "../platform/json.ts";

/** A message of a client is one line. One that is longer than this is skipped, bytes. */
export const LINE_BYTES = 10_000_000;

/** Ends a line that was cut, so that no reader takes it for a whole message. */
const CUT = Buffer.from("\0\n");
const NEWLINE = 0x0a;

/**
 * Hands lines on, and skips what is too long without keeping it.
 *
 * @param answer takes a line for the client: the error that a skipped request is answered with
 */
export function boundedLines(answer: (line: string) => void): Transform {
  let length = 0;
  let frame = openFrame();

  function ended(): void {
    if (length > LINE_BYTES) {
      const error = errorFor(frame.read());
      if (error) answer(`${JSON.stringify(error)}\n`);
    }
    length = 0;
    frame = openFrame();
  }

  /** Returns the part of a piece of a line that is handed on. */
  function bounded(piece: Buffer): readonly Buffer[] {
    const room = LINE_BYTES - length;
    length += piece.length;
    frame.add(piece);
    if (room < 0) return [];
    return piece.length > room ? [piece.subarray(0, room), CUT] : [piece];
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; ) {
        const end = chunk.indexOf(NEWLINE, at);
        const piece = chunk.subarray(at, end === -1 ? chunk.length : end);
        for (const part of bounded(piece)) this.push(part);
        at += piece.length;
        if (end === -1) break;
        if (length <= LINE_BYTES) this.push(chunk.subarray(end, end + 1));
        ended();
        at++;
      }
      done();
    },
  });
}

/** The error for a message that was skipped; null for one that wants no answer. */
function errorFor(message: unknown): object | null {
  const { id, method }: { id?: unknown; method?: unknown } = Object(message);
  const isRead = message !== undefined;
  if (isRead && (typeof method !== "string" || !(typeof id === "string" || typeof id === "number"))) return null;
  const text = `the message is longer than ${LINE_BYTES} bytes, the limit of a line, and was not read: name a path, or send less at once`;
  return { jsonrpc: "2.0", id: isRead ? id : null, error: { code: INVALID_REQUEST, message: text } };
}

const INVALID_REQUEST = -32_600;

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
    /** The message with 0 in the place of each list and object in it; undefined if it is not valid JSON. */
    read: () => parseJson(Buffer.from(kept).toString("utf8")),
  };
}
