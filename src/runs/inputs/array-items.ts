import { BadInput, type Input, jsonLines, readValue } from "./lines.ts";

/**
 * The items of the array that a JSON file is, one at a time: a file of any size takes the memory of
 * its largest item. A file that is no array has a value on each line.
 *
 * @param most bytes of an item
 * @throws BadInput
 */
export async function* arrayItems(chunks: AsyncIterable<Uint8Array>, name: string, most: number): AsyncIterable<Input> {
  const pieces = chunks[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let first: number | undefined;
  while (first === undefined) {
    const next = await pieces.next();
    if (next.done) break;
    held.push(next.value);
    first = next.value.find((byte) => !BLANKS.has(byte));
  }
  async function* all(): AsyncIterable<Uint8Array> {
    yield* held;
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
  }
  if (first !== OPEN) {
    yield* jsonLines(all(), name, most);
    return;
  }
  let number = 0;
  for await (const bytes of splitArray(all(), name, most)) {
    number += 1;
    const at = `item ${number} of ${name}`;
    yield { at, value: readValue(DECODER.decode(bytes), at) };
  }
}

const DECODER = new TextDecoder();
const code = (character: string) => character.charCodeAt(0);
const OPEN = code("[");
const COMMA = code(",");
const QUOTE = code('"');
const BACKSLASH = code("\\");
/** White space, and the bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf]);
const OPENING: ReadonlySet<number> = new Set([OPEN, code("{")]);
const CLOSING: ReadonlySet<number> = new Set([code("]"), code("}")]);

/** The bytes of each item. */
async function* splitArray(chunks: AsyncIterable<Uint8Array>, name: string, most: number): AsyncIterable<Buffer> {
  let held: Uint8Array[] = [];
  let size = 0;
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  let isOver = false;
  const keep = (part: Uint8Array) => {
    size += part.length;
    if (size > most) throw new BadInput(name, `has an item of more than ${most / 2 ** 20} MB`);
    held.push(part);
  };
  const taken = (): Buffer => {
    const bytes = Buffer.concat(held);
    held = [];
    size = 0;
    return bytes;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (isOver && !BLANKS.has(byte)) throw new BadInput(name, "has text behind its array");
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isText = false;
        continue;
      }
      if (byte === QUOTE) isText = true;
      else if (OPENING.has(byte)) {
        depth += 1;
        if (depth === 1) from = at + 1;
      } else if ((byte === COMMA && depth === 1) || (CLOSING.has(byte) && depth === 1)) {
        keep(chunk.subarray(from, at));
        from = at + 1;
        const item = taken();
        const isEmpty = item.every((one) => BLANKS.has(one));
        if (!isEmpty || byte === COMMA) yield item;
        if (byte !== COMMA) {
          isOver = true;
          depth = 0;
        }
      } else if (CLOSING.has(byte)) depth -= 1;
    }
    if (depth > 0) keep(chunk.subarray(from));
  }
  if (!isOver) throw new BadInput(name, "ends within its array", "Copy or download it again.");
}
