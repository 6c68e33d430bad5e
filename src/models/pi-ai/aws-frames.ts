import { isUtf8 } from "node:buffer";

/** Lengths of the frame and of its headers, and a checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** No frame of AWS is longer. */
const MOST_BYTES = 24 * 2 ** 20;

/**
 * Takes the bytes of a stream of Amazon Bedrock as they come, and tells of a frame whose body is not
 * UTF-8. It does not judge frames of another form.
 */
export function watchFrames(garbled: () => void): (chunk: Uint8Array) => void {
  let pieces: Uint8Array[] = [];
  let length = 0;
  let wanted = PRELUDE_BYTES;
  return (chunk) => {
    if (wanted > MOST_BYTES) return;
    pieces.push(chunk);
    length += chunk.byteLength;
    if (length < wanted) return;
    let bytes = Buffer.concat(pieces);
    for (wanted = frameBytes(bytes); bytes.length >= wanted && wanted <= MOST_BYTES; wanted = frameBytes(bytes)) {
      const body = bytes.subarray(PRELUDE_BYTES + bytes.readUInt32BE(4), wanted - CHECKSUM_BYTES);
      if (!isUtf8(body)) garbled();
      bytes = bytes.subarray(wanted);
    }
    pieces = [bytes];
    length = bytes.length;
  };
}

/** The length of the frame that these bytes begin with, or of a prelude; infinite if they begin with none. */
function frameBytes(bytes: Buffer): number {
  if (bytes.length < PRELUDE_BYTES) return PRELUDE_BYTES;
  const whole = bytes.readUInt32BE(0);
  const least = PRELUDE_BYTES + bytes.readUInt32BE(4) + CHECKSUM_BYTES;
  return whole < least ? Number.POSITIVE_INFINITY : whole;
}
