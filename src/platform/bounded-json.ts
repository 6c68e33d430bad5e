import { parseJson } from "./json.ts";

/** A response, or a request that came in. */
interface Answer {
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** The JSON of a body; undefined if it is none, or if it has more bytes. @throws if the connection breaks */
export async function boundedJson({ body }: Answer, maxBytes: number): Promise<unknown> {
  const bytes = await boundedBytes(body ?? [], maxBytes);
  return bytes && parseJson(bytes.toString());
}

/** All bytes of a stream; undefined if it has more. @throws if the stream breaks */
export async function boundedBytes(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of stream) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
