/** A message between a process and the child that reads documents: two lengths of four bytes, JSON, then bytes. */
export interface Frame {
  readonly header: unknown;
  readonly body: Buffer;
}

const PREFIX = 8;

/** The bytes of a frame, as several pieces. */
export function frameOf(header: unknown, body: readonly Uint8Array[] = []): Uint8Array[] {
  const json = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(json.length, 0);
  prefix.writeUInt32BE(
    body.reduce((sum, { length }) => sum + length, 0),
    4,
  );
  return [prefix, json, ...body];
}

/** The frames of a stream, until it ends. @throws Error if one has more than `most` bytes */
export async function* framesOf(stream: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Frame, undefined> {
  let [held, size]: [Uint8Array[], number] = [[], 0];
  let wanted = PREFIX;
  for await (const chunk of stream) {
    held.push(chunk);
    size += chunk.length;
    while (size >= wanted) {
      const all = Buffer.concat(held, size);
      wanted = PREFIX + all.readUInt32BE(0) + all.readUInt32BE(4);
      if (wanted > most) throw new Error("a frame is too large");
      if (size < wanted) {
        held = [all];
        break;
      }
      yield frameIn(all.subarray(0, wanted));
      [held, size] = [[all.subarray(wanted)], size - wanted];
      wanted = PREFIX;
    }
  }
}

/** The frame that these bytes are. @throws SyntaxError */
export function frameIn(bytes: Buffer): Frame {
  const bodyAt = PREFIX + bytes.readUInt32BE(0);
  return { header: JSON.parse(bytes.toString("utf8", PREFIX, bodyAt)), body: bytes.subarray(bodyAt) };
}
