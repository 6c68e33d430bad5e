/**
 * Bytes that are written one after the other, again and again in the same memory. A number has 7
 * bits a byte, the lowest ones first; the highest bit says that another byte follows.
 */
interface ByteWriter {
  /** Begins anew, with so many bytes that are written later. */
  begin(at: number): void;
  /** The place of the next byte. */
  at(): number;
  number(value: number): void;
  copy(bytes: Buffer, from: number, to: number): void;
  /** Begins something with its length in front of it. Returns its place. */
  open(): number;
  close(from: number): void;
  /** The bytes with what is behind them. Valid until more are written. */
  room(): Buffer<ArrayBuffer>;
}

const NUMBER_BYTES = 5;
/** Fewer bytes are copied faster one by one. */
const MANY_BYTES = 64;

/** Opens a writer of bytes. */
export function openByteWriter(): ByteWriter {
  let room = Buffer.from(new ArrayBuffer(1 << 16));
  let at = 0;

  function reserve(bytes: number): void {
    while (at + bytes > room.length) room = Buffer.from(room.buffer.transfer(2 * room.length));
  }

  function number(value: number): void {
    reserve(NUMBER_BYTES);
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) room[at++] = (rest & 0x7f) | 0x80;
    room[at++] = rest;
  }

  return {
    begin(place) {
      at = 0;
      reserve(place);
      at = place;
    },
    at: () => at,
    number,
    copy(bytes, from, to) {
      reserve(to - from);
      if (to - from > MANY_BYTES) at += bytes.copy(room, at, from, to);
      else for (let n = from; n < to; n++) room[at++] = bytes[n] ?? 0;
    },
    open() {
      // Most lengths have one byte.
      number(0);
      return at;
    },
    close(from) {
      const length = at - from;
      if (length >= 0x80) {
        reserve(NUMBER_BYTES);
        room.copyWithin(from - 1 + bytesOf(length), from, at);
      }
      at = from - 1;
      number(length);
      at += length;
    },
    room: () => room,
  };
}

/** Bytes of a number. */
function bytesOf(value: number): number {
  let bytes = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes += 1;
  return bytes;
}
