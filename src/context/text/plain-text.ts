import { readSync } from "node:fs";

/** A file that is searched where it lies, as it crosses threads. They share its descriptor. */
export interface PlainFile {
  readonly descriptor: number;
  /** Bytes before the text: its byte order mark. */
  readonly mark: number;
  /** Bytes of the text. */
  readonly bytes: number;
}

/** A text in a file of the user's. It may not be UTF-8, and may change. */
export interface PlainText {
  readonly data: PlainFile;
  readonly bytes: number;
  /**
   * The bytes `from..to` (clamped), for which `room` may be used. There are fewer if the file has
   * become shorter.
   */
  read(from: number, to: number, room?: Buffer): Buffer;
}

/** Opens a text for reading. The descriptor stays open. */
export function openPlainText(data: PlainFile): PlainText {
  const { descriptor, mark, bytes: size } = data;
  return {
    data,
    bytes: size,
    read(from, to, room) {
      const start = Math.max(from, 0);
      const length = Math.max(Math.min(to, size) - start, 0);
      const bytes = room && room.length >= length ? room.subarray(0, length) : Buffer.allocUnsafeSlow(length);
      let filled = 0;
      while (filled < length) {
        const more = readSync(descriptor, bytes, filled, length - filled, mark + start + filled);
        if (more === 0) break;
        filled += more;
      }
      return bytes.subarray(0, filled);
    },
  };
}
