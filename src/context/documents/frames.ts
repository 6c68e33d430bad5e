/** A message between a process and the child that reads documents: two lengths of four bytes, JSON, then bytes. */
export type Frame = ReturnType<typeof frameIn>;

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
  // A frame is put together as its pieces come: to join a large one at once would hold up the thread.
  let [held, size]: [Buffer, number] = [Buffer.alloc(PREFIX), 0];
  for await (const chunk of stream) {
    for (let at = 0; at < chunk.length; ) {
      const taken = chunk.subarray(at, at + held.length - size);
      held.set(taken, size);
      at += taken.length;
      size += taken.length;
      if (size === PREFIX) held = begun(held, most);
      if (size < held.length) continue;
      yield frameIn(held);
      [held, size] = [Buffer.alloc(PREFIX), 0];
    }
  }
}

/** Room for the frame that begins with these bytes. */
function begun(prefix: Buffer, most: number): Buffer {
  const length = PREFIX + prefix.readUInt32BE(0) + prefix.readUInt32BE(4);
  if (length > most) throw new Error("a frame is too large");
  const frame = Buffer.allocUnsafeSlow(length);
  prefix.copy(frame);
  return frame;
}

/** The frame that these bytes are. @throws SyntaxError */
export function frameIn(bytes: Buffer) {
  const bodyAt = PREFIX + bytes.readUInt32BE(0);
  return { header: JSON.parse(bytes.toString("utf8", PREFIX, bodyAt)), body: bytes.subarray(bodyAt) };
}
