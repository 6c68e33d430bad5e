/** The same numbers in twice the room. */
export function larger(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  return new Uint32Array(numbers.buffer.transfer(2 * numbers.byteLength));
}

/** The same numbers in room for at least so many. */
export function withLength(numbers: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  let room = numbers;
  while (room.length < length) room = larger(room);
  return room;
}

/** Adds to each of the first numbers all that are before it. */
export function accumulate(numbers: Uint32Array, length: number): void {
  let sum = 0;
  for (let at = 0; at < length; at++) {
    sum += numbers[at] ?? 0;
    numbers[at] = sum;
  }
}
