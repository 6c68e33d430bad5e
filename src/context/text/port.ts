import type { Lines } from "./lines.ts";
import type { TableDocuments } from "./table.ts";
import type { Tallied } from "./tally.ts";

/** Structured-cloneable form of P, which crosses threads without a copy of the text. */
export type TextData = MemoryText | FileText;

/** A text in shared memory. */
export interface MemoryText {
  /** P as valid UTF-8. */
  readonly bytes: Uint8Array;
  /**
   * `anchors[i]`: UTF-16 units of all characters that begin before byte `i * 2048`. Empty when P is
   * ASCII.
   */
  readonly anchors: Uint32Array;
  /** UTF-16 units. */
  readonly length: number;
}

/**
 * The form in which a large P crosses threads. Each thread opens the files for itself, and shares
 * what the system holds of them in memory.
 */
export interface FileText {
  /** Checked files, in their order: P is their concatenation. */
  readonly files: readonly TextFile[];
  /** Absolute path of the table. */
  readonly table: string;
  /** The sources of the context, for people. */
  readonly context?: string;
  /** UTF-16 units. */
  readonly length: number;
}

/** A checked file with a part of P. */
export interface TextFile {
  /** Absolute path. */
  readonly path: string;
  readonly bytes: number;
}

/** P: UTF-8 inside, UTF-16 units (the indices of a JavaScript string) outside. */
export interface Text<Data extends TextData = TextData> extends Disposable {
  readonly data: Data;
  /** Bytes of UTF-8. */
  readonly bytes: number;
  /**
   * The UTF-8 of the bytes `from..to` (clamped). Of a text in memory it is a view; of one in files a
   * copy, for which `room` may be used.
   *
   * @throws RlmError `context_lost` if a page of a file is damaged
   */
  read(from: number, to: number, room?: Buffer): Buffer;
  /** UTF-16 units. */
  readonly length: number;
  /**
   * The slice that `String.prototype.slice` returns for non-negative offsets in UTF-16 units,
   * inside surrogate pairs too.
   */
  slice(start: number, end: number): string;
  /** UTF-16 offset of a byte offset that lies on a character boundary (clamped). */
  unitAt(byte: number): number;
  /** Byte offset of the character that contains the UTF-16 unit (clamped). */
  byteAt(unit: number): number;
  readonly lines: Lines;
  /** Present if the text lies in files. */
  readonly large?: LargeText;
}

/** The table and the lookups of a text in files. */
export interface LargeText {
  documents(): TableDocuments;
  tallied(): Tallied;
  /**
   * The first place at or after a UTF-16 unit at which a well-formed part stands, in UTF-16 units;
   * -1: none.
   *
   * @param between is called again and again meanwhile, and may throw to end it
   */
  indexOf(part: string, from: number, between?: () => void): number;
}
