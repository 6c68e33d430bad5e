import { LIMITS } from "../../../runtime/index.ts";
import { type Fetching, fetchingBy } from "./fetching.ts";

/** The bytes that are read of replies. */
export interface ReplyBounds {
  /** Those of a stream with an answer. */
  readonly most: number;
  /** Set when a server sent more than that. */
  isTooLong?: true;
}

/** The bounds of replies with so many tokens. Each token may be an event of its own, which takes some hundred bytes. */
export function replyBounds(tokens: number): ReplyBounds {
  const BYTES_A_TOKEN = 1024;
  return { most: LIMITS.replyBytes + BYTES_A_TOKEN * tokens };
}

/** Runs `send`. Replies to the requests that it makes with `fetch` are read as far as the bounds go. */
export function boundReplies<T>(bounds: ReplyBounds, send: () => T): T {
  const fetching: Fetching = async (plain, ...request) => bounded(await plain(...request), bounds);
  return fetchingBy(fetching, send);
}

function bounded(response: Response, bounds: ReplyBounds): Response {
  if (!response.body) return response;
  const { ok: isAnswer, status, statusText, headers } = response;
  const most = isAnswer ? bounds.most : LIMITS.errorBodyBytes;
  let bytes = 0;
  const read = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= most) return controller.enqueue(chunk);
      // The words of an error stand at its beginning.
      if (!isAnswer) return controller.terminate();
      bounds.isTooLong = true;
      controller.error(new Error(`the reply has more than ${most} bytes`));
    },
  });
  return new Response(response.body.pipeThrough(read), { status, statusText, headers });
}
