import { AsyncLocalStorage } from "node:async_hooks";
import { hash, randomUUID } from "node:crypto";
import {
  type EventStore,
  INTERNAL_ERROR,
  type JSONRPCMessage,
  WebStandardStreamableHTTPServerTransport as SessionTransport,
} from "@modelcontextprotocol/server";
import * as v from "valibot";
import { LIMITS } from "../../runtime/index.ts";
import { isRecord } from "../platform/json.ts";
import { sealed, unsealed } from "../platform/sealed.ts";
import { type ClientSession, openClientSession, type ServerParts } from "./client-session.ts";
import { refusal } from "./messages.ts";
import { CALL_KEY, OF_CALL } from "./protocol.ts";
import { serverFor } from "./serve.ts";

/** A request with a token. */
export interface Asked {
  /** It is without its body. */
  readonly request: Request;
  /** Its body, parsed; undefined if it has none. */
  readonly body: unknown;
  /**
   * Aborted when the connection is done with the request; the signal of a request may be collected
   * before.
   */
  readonly gone: AbortSignal;
  /** The session that the address names; null: the one of the folder. */
  readonly name: string | null;
}

/** Those who ask and have a session of Belay's. */
export interface Client {
  readonly session: ClientSession;
  answer(asked: Asked): Promise<Response>;
  close(): Promise<void>;
}

/** Parts of a server that knows its clients again after a restart. */
export interface OwnClientParts extends ServerParts {
  /** The text that every request must bear. It signs ids. */
  readonly token: string;
}

interface OwnClientOptions extends ReplayBounds {
  /** The session that the client's address names; null: that of the folder. */
  readonly name: string | null;
  /** Called when the client has said goodbye. */
  left(id: string): Promise<void>;
}

const Short = v.pipe(
  v.string(),
  v.transform((text) => text.slice(0, GREETING_UNITS)),
);

/**
 * Words of a client about itself when it shook hands. Its id has them, so that no process need ask
 * again.
 */
const GreetingSchema = v.object({
  protocolVersion: Short,
  clientInfo: v.object({ name: Short, version: Short }),
});

const GREETING_UNITS = 60;

/** True if a process with this token has given the id to a client of this address. */
export function isGiven(token: string, id: string, name: string | null): boolean {
  return unsealed(token, clientOf(name), id) !== undefined;
}

const clientOf = (name: string | null) => `client of ${name ?? ""}`;

/**
 * A client of the older era, which has a session of its own.
 *
 * @param back the id that an earlier process gave it; null: it is to shake hands
 */
export function openOwnClient(parts: OwnClientParts, back: string | null, options: OwnClientOptions): Client {
  const { token } = parts;
  const { name } = options;
  const id = () => transport.sessionId ?? back;
  const mark = () => hash("sha256", id() ?? "").slice(0, MARK_DIGITS);
  const session = openClientSession(parts, { name, mark });
  const replay = openReplay({ ...options, token, of: () => `events of ${id()}` });
  let greeting: unknown = null;
  const transport: SessionTransport = new SessionTransport({
    sessionIdGenerator: () =>
      back ?? sealed(token, clientOf(name), { nonce: randomUUID(), ...v.parse(GreetingSchema, greeting) }),
    eventStore: replay.store,
    retryInterval: RETRY_MS,
    onsessionclosed: options.left,
  });
  const connect = async () => {
    await serverFor(parts, session).connect(transport);
    if (back !== null) await shakeHands(transport, unsealed(token, clientOf(name), back));
  };
  const ready = connect();

  return {
    session,
    async answer({ request, body }) {
      await ready;
      const last = request.method === "GET" ? request.headers.get("last-event-id") : null;
      if (last === null) {
        const [first] = [body].flat();
        if (id() === null && isRecord(first)) greeting = first.params;
        const { due, message } = withKey(body);
        return replay.answering(due, () => transport.handleRequest(request, { parsedBody: message }));
      }
      const place = replay.placeOf(last);
      // Some clients ask although they have the answer. This status ends that, and they show it to
      // nobody.
      if (place?.isAnswer) return refusal(405, "nothing follows this event", { Allow: "POST, DELETE" });
      if (place && replay.has(place)) return transport.handleRequest(request);
      if (!place?.due) return refusal(400, "this Last-Event-ID is not known: send the request again");
      const { due } = place;
      return replay.answering(due, () => askedAgain(transport, request, due));
    },
    close: () => transport.close(),
  };
}

const MARK_DIGITS = 24;

/**
 * ms after which a client whose connection broke asks again. Clients do so twice: in this time a
 * server can be started again.
 */
const RETRY_MS = 3_000;

/** Has a transport know its client as if it had just shaken hands. */
async function shakeHands(transport: SessionTransport, greeting: unknown): Promise<void> {
  const params = { ...Object(greeting), capabilities: {} };
  const body = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  const answer = await transport.handleRequest(posted(new Headers()), { parsedBody: body });
  await answer.text();
}

function posted(headers: Headers): Request {
  headers.set("accept", "application/json, text/event-stream");
  headers.set("content-type", "application/json");
  // The address of a request that this process makes of its own is not looked at.
  return new Request("http://127.0.0.1", { method: "POST", headers });
}

const ID_UNITS = 100;

/** The id of a request, as far as ids of events repeat it. */
const RequestIdSchema = v.union([v.pipe(v.string(), v.maxLength(ID_UNITS)), v.number()]);

const RequestSchema = v.looseObject({
  id: RequestIdSchema,
  method: v.string(),
  params: v.optional(
    v.looseObject({ _meta: v.optional(v.looseObject({ progressToken: v.optional(RequestIdSchema) }), {}) }),
    {},
  ),
});

/**
 * A message of a client as it is handled: a call of a tool has a key, by which its exec is found
 * after a restart.
 */
function withKey(body: unknown): { readonly due: Due | null; readonly message: unknown } {
  const { success, output } = v.safeParse(RequestSchema, body);
  if (!success) return { due: null, message: body };
  const { id, method, params } = output;
  const { progressToken: progress = null, [CALL_KEY]: key = randomUUID() } = params._meta;
  // A call with a wrong key is refused when it is made.
  if (method !== "tools/call" || typeof key !== "string" || key.length > LIMITS.callKeyUnits)
    return { due: { id, key: null, progress }, message: body };
  params._meta[CALL_KEY] = key;
  return { due: { id, key, progress }, message: output };
}

/**
 * Asks again for what is due: the end of a call that an earlier process began. Other requests the
 * client has to send again.
 */
async function askedAgain(
  transport: SessionTransport,
  { headers }: Request,
  { id, key, progress }: Due,
): Promise<Response> {
  if (key === null) {
    const message = "the server was started again: send the request again";
    const error = JSON.stringify({ jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message } });
    return new Response(`event: message\ndata: ${error}\n\n`, { headers: { "Content-Type": "text/event-stream" } });
  }
  const _meta = progress === null ? {} : { progressToken: progress };
  const params = { name: "rlm_wait", arguments: { exec_id: `${OF_CALL}${key}` }, _meta };
  const body = { jsonrpc: "2.0", id, method: "tools/call", params };
  return transport.handleRequest(posted(new Headers(headers)), { parsedBody: body });
}

/** A request whose answer is due on a stream. */
const DueSchema = v.object({
  id: RequestIdSchema,
  /**
   * The key of a call of a tool, by which its exec is found after a restart; null: it is another
   * request.
   */
  key: v.nullable(v.string()),
  /** The client is told of progress by this token; null: it is not. */
  progress: v.nullable(RequestIdSchema),
});

type Due = v.InferOutput<typeof DueSchema>;

/** The id of an event: a place in a stream. If several requests are answered there, none is due. */
const PlaceSchema = v.object({
  stream: v.string(),
  at: v.number(),
  due: v.nullable(DueSchema),
  /** True for the answer, after which nothing comes. */
  isAnswer: v.boolean(),
});
type Place = v.InferOutput<typeof PlaceSchema>;

interface Kept extends Place {
  readonly id: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

/** Bounds of what is kept of one client. */
export interface ReplayBounds {
  readonly events: number;
  readonly eventBytes: number;
}

interface ReplayParts extends ReplayBounds {
  /** Signs ids of events. */
  readonly token: string;
  /** Names the client whose events they are. */
  of(): string;
}

/**
 * Keeps the last events of a client's streams, so that a client whose connection broke gets what it
 * missed. An id says what is due on its stream, so that a later process knows it too.
 */
function openReplay({ token, of, events, eventBytes }: ReplayParts) {
  const answered = new AsyncLocalStorage<Due | null>();
  let kept: readonly Kept[] = [];
  let count = 0;

  function placeOf(id: string): Place | null {
    const { success, output } = v.safeParse(PlaceSchema, unsealed(token, of(), id));
    return success ? output : null;
  }

  const store: EventStore = {
    async storeEvent(stream, message) {
      const due = answered.getStore() ?? null;
      const place = {
        stream,
        at: ++count,
        due,
        isAnswer: due !== null && !("method" in message) && "jsonrpc" in message,
      };
      const id = sealed(token, of(), place);
      kept = newest([...kept, { ...place, id, message, bytes: Buffer.byteLength(JSON.stringify(message)) }]);
      return id;
    },
    getStreamIdForEventId: async (id) => placeOf(id)?.stream,
    async replayEventsAfter(last, { send }) {
      const place = placeOf(last);
      for (const { id, stream, at, message } of kept) {
        // A stream begins with an event that has an id alone.
        if (stream === place?.stream && at > place.at && "jsonrpc" in message) await send(id, message);
      }
      return place?.stream ?? "";
    },
  };

  /** The last events, within the bounds. */
  function newest(all: readonly Kept[]): readonly Kept[] {
    let bytes = 0;
    const dropped = all.findLastIndex((event, index) => {
      bytes += event.bytes;
      return bytes > eventBytes || index < all.length - events;
    });
    return all.slice(dropped + 1);
  }

  return {
    store,
    placeOf,
    /** True if this process has the event or what follows it: the oldest are dropped first. */
    has: ({ stream, at }: Place): boolean => kept.some((event) => event.stream === stream && event.at >= at),
    /** Handles a request: what is sent until it is answered is due to it. */
    answering: <T>(due: Due | null, handle: () => T): T => answered.run(due, handle),
  };
}
