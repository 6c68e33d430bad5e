import { AsyncLocalStorage } from "node:async_hooks";
import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";
import * as v from "valibot";
import { sealed, unsealed } from "../platform/sealed.ts";

const ID_UNITS = 100;

/** The id of a request, as far as ids of events repeat it. */
export const RequestIdSchema = v.union([v.pipe(v.string(), v.maxLength(ID_UNITS)), v.number()]);

/** A request whose answer is due on a stream. */
const DueSchema = v.object({
  id: RequestIdSchema,
  /** The key of a call of a tool, by which its exec is found after a restart; null: it is another request. */
  key: v.nullable(v.string()),
  /** The client is told of progress by this token; null: it is not. */
  progress: v.nullable(RequestIdSchema),
});

export type Due = v.InferOutput<typeof DueSchema>;

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
 * Keeps the last events of a client's streams, so that a client whose connection broke gets what it missed. An id says what is due on
 * its stream, so that a later process knows it too.
 */
export function openReplay({ token, of, events, eventBytes }: ReplayParts) {
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
