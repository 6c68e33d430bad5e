import { AsyncLocalStorage } from "node:async_hooks";
import { isUtf8 } from "node:buffer";
import { subscribe } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { LIMITS } from "../../../runtime/index.ts";
import { isRecord } from "../../platform/json.ts";
import { fetchOut } from "../../platform/outbound.ts";
import { type Fetching, fetchingBy, noted, noteFailure, type SeenResponse } from "./response-watch.ts";
import { asAsked, watchStream } from "./wire.ts";

/** The bytes that are read of replies. */
export interface ReplyBounds {
  /** Those of a stream with an answer. */
  readonly most: number;
  /** Set when a server sent more than that. */
  isTooLong?: true;
}

/**
 * Runs `send`. Replies to the requests that it makes with `fetch` or Node's http are read as far as
 * the bounds go, and noted in `seen`.
 *
 * @param api pi-ai's name of the protocol
 */
export function boundReplies<T>(bounds: ReplyBounds, api: string, seen: SeenResponse, send: () => T): T {
  const fetching: Fetching = async (plain, ...request) =>
    asAsked(bounded(await noted(seen, fetchOut(plain, ...request)), bounds, api, seen), api, seen);
  subscribeOnce();
  return calls.run({ bounds, seen }, () => fetchingBy(fetching, send));
}

/**
 * Asked of each chunk in turn: it is `passed` on, or the reply is `cut` before it, or `refused`.
 */
function gateOf(isAnswer: boolean, bounds: ReplyBounds) {
  const most = isAnswer ? bounds.most : LIMITS.errorBodyBytes;
  let bytes = 0;
  return (chunk: Uint8Array): "passed" | "cut" | Error => {
    bytes += chunk.byteLength;
    if (bytes <= most) return "passed";
    // The words of an error stand at its beginning.
    if (!isAnswer) return "cut";
    bounds.isTooLong = true;
    return new Error(`the reply has more than ${most} bytes`);
  };
}

function bounded(response: Response, bounds: ReplyBounds, api: string, seen: SeenResponse): Response {
  if (!response.body) return response;
  const { ok, status, statusText, headers } = response;
  const gate = gateOf(ok, bounds);
  if (ok && UNCHECKED.has(api)) seen.end = "missing";
  const watch = watchStream(seen);
  const transformer = {
    transform(chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>) {
      watch(chunk);
      const passed = gate(chunk);
      if (passed === "passed") controller.enqueue(chunk);
      else if (passed === "cut") controller.terminate();
      else controller.error(passed);
    },
    // Node calls it before a reader of the body gets the failure. Its types do not have it.
    cancel: (reason: unknown) => noteFailure(seen, reason),
  };
  const read = new TransformStream<Uint8Array, Uint8Array>(transformer);
  return new Response(response.body.pipeThrough(read), { status, statusText, headers });
}

/**
 * Protocols in which pi-ai 0.73, the copy of older Pi, takes the end of a stream for the end of the
 * answer.
 */
const UNCHECKED = new Set([
  "openai-completions",
  "mistral-conversations",
  "google-generative-ai",
  "google-vertex",
  "openai-responses",
  "azure-openai-responses",
]);

const calls = new AsyncLocalStorage<{ readonly bounds: ReplyBounds; readonly seen: SeenResponse }>();
let isSubscribed = false;

/** The SDK of Amazon Bedrock sends with Node's http and takes no `fetch`. */
function subscribeOnce(): void {
  if (isSubscribed) return;
  isSubscribed = true;
  subscribe("http.client.request.created", (event) => {
    const call = calls.getStore();
    if (!call || !isRecord(event) || !(event.request instanceof EventEmitter)) return;
    const { bounds, seen } = call;
    event.request.prependOnceListener("response", (response: IncomingMessage) => boundMessage(response, bounds, seen));
  });
}

/** Lengths of the frame and of its headers, and a checksum. */
const PRELUDE_BYTES = 12;

const CHECKSUM_BYTES = 4;

/** No frame of AWS is longer. */
const MOST_BYTES = 24 * 2 ** 20;

function boundMessage(response: IncomingMessage, bounds: ReplyBounds, seen: SeenResponse): void {
  const gate = gateOf((response.statusCode ?? 0) < 400, bounds);
  const push = response.push.bind(response);
  const watch = watchFrames(() => {
    seen.isReplaced = true;
  });
  let isCut = false;
  response.push = (chunk: Buffer | null, ...encoding) => {
    if (isCut) return false;
    if (chunk !== null) watch(chunk);
    const passed = chunk === null ? "passed" : gate(chunk);
    if (passed === "passed") return push(chunk, ...encoding);
    isCut = true;
    if (passed !== "cut") response.destroy(passed);
    else {
      response.once("end", () => response.destroy());
      push(null);
    }
    return false;
  };
}

/**
 * Takes the bytes of a stream of Amazon Bedrock as they come, and tells of a frame whose body is not
 * UTF-8. It does not judge frames of another form.
 */
function watchFrames(garbled: () => void): (chunk: Uint8Array) => void {
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
