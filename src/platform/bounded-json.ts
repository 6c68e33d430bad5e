import { parseJson } from "./json.ts";

/** The JSON of a response's body; undefined if it is none, or if it has more bytes. @throws if the connection breaks */
export async function boundedJson({ body }: Pick<Response, "body">, maxBytes: number): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) return undefined;
    pieces.push(piece);
  }
  return parseJson(Buffer.concat(pieces).toString());
}
