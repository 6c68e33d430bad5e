/** Cuts the bytes of a Zstandard file at the ends of its frames, as they come. */
export interface FrameCutter {
  /** The same bytes in pieces, of which none goes over the end of a frame. */
  cut(bytes: Uint8Array): Uint8Array[];
}

/**
 * Begins to cut. A file may have several frames, as logs that were joined have, and Node unpacks
 * only the first of those that it is given at once. What is no frame is one piece.
 */
export function frameCutter(): FrameCutter {
  let frame = partsOfFrame();
  let part = begun(frame);
  let header = Buffer.alloc(0);
  return {
    cut(bytes) {
      const pieces: Uint8Array[] = [];
      let from = 0;
      for (let at = 0; at < bytes.length; ) {
        const taken = bytes.subarray(at, at + part.left);
        if (part.isRead) header = Buffer.concat([header, taken]);
        at += taken.length;
        part.left -= taken.length;
        if (part.left > 0) continue;
        const next = frame.next(header);
        header = Buffer.alloc(0);
        if (!next.done) {
          part = next.value;
          continue;
        }
        pieces.push(bytes.subarray(from, at));
        from = at;
        frame = partsOfFrame();
        part = begun(frame);
      }
      if (from < bytes.length) pieces.push(bytes.subarray(from));
      return pieces;
    },
  };
}

/** A part of a frame, of at least a byte. */
interface Part {
  /** Bytes of it that are still to come. */
  left: number;
  /** True if they say what follows. */
  readonly isRead: boolean;
}

type Frame = Generator<Part, void, Buffer>;

const read = (left: number): Part => ({ left, isRead: true });
const passed = (left: number): Part => ({ left, isRead: false });
const ENDLESS = passed(Number.POSITIVE_INFINITY);

const begun = (frame: Frame): Part => frame.next(Buffer.alloc(0)).value ?? ENDLESS;

const MAGIC = 0xfd2fb528;
/** Frames without content, in which programs keep facts of their own. The last four bits are free. */
const SKIPPED = 0x184d2a5;

/** The parts of a frame (RFC 8878, 3.1). It is given the bytes of each that is read. */
function* partsOfFrame(): Frame {
  const magic = (yield read(4)).readUInt32LE();
  if (magic >>> 4 === SKIPPED) {
    const size = (yield read(4)).readUInt32LE();
    if (size > 0) yield passed(size);
    return;
  }
  if (magic !== MAGIC) yield ENDLESS;
  const descriptor = (yield read(1)).readUInt8();
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const fields = (isSingle ? 0 : 1) + dictionary + contentSize;
  yield passed(fields);
  for (let isLast = false; !isLast; ) {
    const block = (yield read(3)).readUIntLE(0, 3);
    isLast = (block & 1) === 1;
    // A block may be one byte, and how often it is repeated.
    const size = ((block >> 1) & 3) === 1 ? 1 : block >> 3;
    if (size > 0) yield passed(size);
  }
  if ((descriptor & 4) !== 0) yield passed(4);
}
