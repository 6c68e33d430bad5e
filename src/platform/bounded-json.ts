import { parseJson } from "./json.ts";

/** A response, or a request that came in. */
interface Answer {
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** The JSON of a body; undefined if it is none, or if it has more bytes. @throws if the connection breaks */
export async function boundedJson({ body }: Answer, maxBytes: number): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) return undefined;
    pieces.push(piece);
  }
  return parseJson(Buffer.concat(pieces).toString());
}
