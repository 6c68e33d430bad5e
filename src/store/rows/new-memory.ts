import { closeSync, openSync, read } from "node:fs";

/**
 * Memory of zeros, of which threads of Node's pool make the pages ahead of who writes to them. The system makes a page
 * when it is first written to: for an image of 150 MB that takes as long as all else of its restore.
 */
export interface NewMemory {
  readonly bytes: Uint8Array;
  /**
   * Begins to make pages up to some MB beyond `end`. Returns what resolves once no thread writes zeros before `end`, or `null`
   * if none does.
   */
  ready(end: number): Promise<unknown> | null;
  /** Resolves once no thread writes to the memory. To be called before the memory is handed on, however its use ended. */
  end(): Promise<void>;
}

/** Bytes that a thread makes in one piece of work. */
const PIECE_BYTES = 2 * 2 ** 20;
/** Pieces that are made ahead: the pool has four threads. */
const PIECES_AHEAD = 8;
/** In less memory the work of the pool would cost more than it saves. */
const LEAST_BYTES = 16 * 2 ** 20;
/** A file of endless zeros, which Windows lacks. */
const ZEROS = "/dev/zero";

/**
 * @param isFull true if nearly all pages will be written to: others would take memory that nobody needs
 * @throws RangeError if there is not so much memory
 */
export function openNewMemory(length: number, isFull: boolean): NewMemory {
  const bytes = new Uint8Array(length);
  const zeros = isFull && length >= LEAST_BYTES ? opened(ZEROS) : null;
  /** The pieces that are being made, by their numbers. */
  const open = new Map<number, Promise<void>>();
  let begun = 0;

  function begin(file: number): void {
    const piece = begun++;
    const at = piece * PIECE_BYTES;
    const made = new Promise<void>((resolve) => {
      // Bytes that it does not write are zero already.
      read(file, bytes, at, Math.min(PIECE_BYTES, length - at), null, () => {
        open.delete(piece);
        resolve();
      });
    });
    open.set(piece, made);
  }

  return {
    bytes,
    ready(end) {
      if (zeros === null) return null;
      const first = Math.ceil(end / PIECE_BYTES);
      while (begun < first + PIECES_AHEAD && begun * PIECE_BYTES < length) begin(zeros);
      const before = [...open].flatMap(([piece, made]) => (piece < first ? [made] : []));
      return before.length > 0 ? Promise.all(before) : null;
    },
    async end() {
      await Promise.all(open.values());
      if (zeros !== null) closeSync(zeros);
    },
  };
}

function opened(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch {
    return null;
  }
}
