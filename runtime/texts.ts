import { isAscii } from "node:buffer";

/** A text that images leave out: it is written back when one is opened. */
export interface LibraryText {
  /** Identifies the text: for P it is the hash of the context. null if there is no text. */
  id(): string | null;
  /** @throws RlmError if there is no text */
  read(): {
    /** Valid. */
    readonly utf8: Uint8Array;
    /** UTF-16 units. */
    readonly length: number;
  };
}

/** The form of a text in the engine: a byte for each unit, or two. */
export type TextForm = "latin1" | "utf16le";

/** A text of the library, in the form in which the engine keeps it. */
export interface HostText {
  readonly encoding: "latin1" | "utf16le";
  /** Length in UTF-16 units. */
  readonly units: number;
  /** The number of bytes that it takes in guest memory. */
  readonly bytes: number;
  /** Writes it into memory of `bytes` bytes. */
  write(into: Uint8Array): void;
  /** True if memory of `bytes` bytes holds it. */
  isIn(memory: Uint8Array): boolean;
  toString(): string;
}

/** Reads as much of the text as it takes to know its encoding. */
export function hostText({ utf8, length: units }: ReturnType<LibraryText["read"]>): HostText {
  const view = Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length);
  const encoding: TextForm = utf8.length > units && isWide(view) ? "utf16le" : "latin1";
  return {
    encoding,
    units,
    bytes: encoding === "latin1" ? units : units * 2,
    write(into: Uint8Array): void {
      let at = 0;
      for (const piece of pieces(view, encoding)) {
        into.set(piece, at);
        at += piece.length;
      }
    },
    isIn(memory: Uint8Array): boolean {
      let at = 0;
      for (const piece of pieces(view, encoding)) {
        if (piece.compare(memory, at, at + piece.length) !== 0) return false;
        at += piece.length;
      }
      return at === memory.length;
    },
    toString: () => view.toString("utf8"),
  };
}

/**
 * True if a character is above U+00FF: the engine then keeps the whole text at two bytes a unit.
 */
function isWide(utf8: Buffer): boolean {
  for (let at = 0; at < utf8.length; at++) if ((utf8[at] ?? 0) >= FIRST_WIDE) return true;
  return false;
}

/** First byte of U+0100. */
const FIRST_WIDE = 0xc4;

/** Each piece is there until the next one is asked for. */
function* pieces(utf8: Buffer, encoding: TextForm): Iterable<Buffer> {
  const room = Buffer.allocUnsafe(2 * PIECE_BYTES);
  let start = 0;
  while (start < utf8.length) {
    let end = Math.min(start + PIECE_BYTES, utf8.length);
    // A piece must not end within a character.
    while (end < utf8.length && ((utf8[end] ?? 0) & 0xc0) === 0x80) end--;
    const piece = utf8.subarray(start, end);
    if (encoding === "latin1" && isAscii(piece)) yield piece;
    else yield room.subarray(0, room.write(piece.toString("utf8"), encoding));
    start = end;
  }
}

/** Strings of this size are young when they are collected. */
const PIECE_BYTES = 2 ** 14;
