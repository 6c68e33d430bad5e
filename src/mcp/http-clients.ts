import { CLIENT_INFO_META_KEY, createMcpHandler } from "@modelcontextprotocol/server";
import { type Clock, systemClock } from "../../runtime/index.ts";
import { isRecord } from "../platform/json.ts";
import { onceAborted } from "../platform/signals.ts";
import { inLine } from "../platform/visible.ts";
import { openClientSession } from "./client-session.ts";
import { refusal } from "./messages.ts";
import {
  type Asked,
  type Client,
  isGiven,
  type OwnClientParts,
  openOwnClient,
  type ReplayBounds,
} from "./own-client.ts";
import { serverFor } from "./serve.ts";

/** Bounds of clients that are known at once. */
interface ClientBounds {
  readonly clients: number;
  readonly idleMs: number;
  readonly goneMs: number;
}

/**
 * Clients over HTTP. One of the older era is known by the id that it was given, and has a session
 * of its own. Requests of the newer era are bound to no client: those of one address share a
 * session.
 */
export function openClients(parts: OwnClientParts, bounds: ClientBounds & ReplayBounds) {
  const { clock = systemClock } = parts;
  const known = openKnownClients(clock, bounds);
  const busy = () => refusal(503, `${bounds.clients} clients are at work`, { "Retry-After": "60" });
  const own = (name: string | null, back: string | null) =>
    openOwnClient(parts, back, { ...bounds, name, left: known.end });

  /** All clients of the newer era that ask at one address. */
  function openShared(name: string | null): Client {
    const sharers = openSharers(clock, bounds.idleMs);
    const session = openClientSession(parts, { name, shared: (named) => sharedBy(sharers.names(), named) });
    const serve = () => serverFor(parts, session, "cancels");
    const handler = createMcpHandler(serve, { legacy: "reject" });
    return {
      session,
      answer({ request, body }) {
        sharers.note(body);
        return handler.fetch(request, { parsedBody: body });
      },
      close: () => handler.close(),
    };
  }

  /** The answer of a client, which is made if it is not known. */
  async function answered(id: string, asked: Asked, make: () => Client): Promise<Response> {
    if (!known.has(id) && !(await known.hasRoom())) return busy();
    if (!known.has(id)) known.add(id, make());
    return known.note(id, asked)?.answer(asked) ?? busy();
  }

  return {
    /** A request of the older era without an id: the first of a client, or a mistake. */
    async greet(asked: Asked): Promise<Response> {
      if (!(await known.hasRoom())) return busy();
      const client = own(asked.name, null);
      const response = await client.answer(asked);
      const id = response.headers.get("mcp-session-id");
      if (id === null) {
        await client.session.end();
        return response;
      }
      known.add(id, client);
      known.note(id, asked);
      return response;
    },
    /** A request of the newer era. */
    share: (asked: Asked): Promise<Response> =>
      // No id has a slash.
      answered(`/${asked.name ?? ""}`, asked, () => openShared(asked.name)),
    /** A request of the client that has this id, which an earlier process may have given it. */
    async answer(id: string, asked: Asked): Promise<Response> {
      if (known.wasThere(id) || !isGiven(parts.token, id, asked.name))
        return refusal(404, "this client is not known any more: initialize again");
      return answered(id, asked, () => own(asked.name, id));
    },
    end: known.endAll,
  };
}

/** The warning of every answer of a session that several clients use; null: there is one. */
function sharedBy(names: readonly string[], session: string | null): string | null {
  if (names.length < 2) return null;
  const who = [...new Set(names)].map((name) => inLine(name || "unnamed")).join(", ");
  return `session_shared: ${names.length} clients use ${session} (${who}), so loads and variables of one are the others' too; the user can give each an address of its own, which ends in /mcp/NAME`;
}

/** A client of the newer era that uses a session. */
interface Sharer {
  /** The name and version that it gives itself. */
  readonly name: string;
  readonly ids: Set<unknown>;
  /** The number of its last request. */
  last: number;
  /** The time of its last call; null: it has looked around only. */
  usedAt: number | null;
}

/**
 * Tells clients of one address apart, though no request says whose it is: by the name that each
 * bears, and by the ids of requests, of which a client gives none twice.
 *
 * @param forgetMs ms without a call, after which a client counts as gone
 */
function openSharers(clock: Clock, forgetMs: number) {
  let known: Sharer[] = [];

  /**
   * The client that has not sent this id, and whose last one is the nearest; made if there is none.
   */
  function senderOf(name: string, id: unknown): Sharer {
    const number = typeof id === "number" ? id : 0;
    const distance = ({ last }: Sharer) => Math.abs(number - last);
    const [nearest] = known
      .filter((sharer) => sharer.name === name && !sharer.ids.has(id))
      .sort((one, other) => distance(one) - distance(other));
    if (nearest) return nearest;
    const sharer: Sharer = { name, ids: new Set(), last: number, usedAt: null };
    known = [...known, sharer].slice(-MOST_SHARERS);
    return sharer;
  }

  const isThere = ({ usedAt }: Sharer) => usedAt === null || clock.monotonic() - usedAt < forgetMs;

  return {
    /** Notes a request, which is not checked yet. */
    note(request: unknown): void {
      if (!isRecord(request) || request.id === undefined) return;
      known = known.filter(isThere);
      const id = typeof request.id === "string" ? request.id.slice(0, NAME_UNITS) : request.id;
      const sharer = senderOf(nameIn(request.params), id);
      sharer.ids.add(id);
      const [oldest] = sharer.ids;
      if (sharer.ids.size > MOST_IDS) sharer.ids.delete(oldest);
      if (typeof id === "number") sharer.last = id;
      if (USES.has(request.method)) sharer.usedAt = clock.monotonic();
    },
    /** The names of those who have used the session of late. */
    names: (): readonly string[] =>
      known.filter((sharer) => sharer.usedAt !== null && isThere(sharer)).map(({ name }) => name),
  };
}

const MOST_SHARERS = 32;
const MOST_IDS = 1_000;

/** Methods that work in the session. */
const USES: ReadonlySet<unknown> = new Set(["tools/call", "resources/read"]);

const NAME_UNITS = 60;

function nameIn(params: unknown): string {
  const { _meta } = isRecord(params) ? params : {};
  const { [CLIENT_INFO_META_KEY]: info } = isRecord(_meta) ? _meta : {};
  const { name = "", version = "" } = isRecord(info) ? info : {};
  return `${name} ${version}`.trim().slice(0, NAME_UNITS);
}

interface Known {
  readonly client: Client;
  /** Requests that are being answered, with the one on which the client listens. */
  open: number;
  usedAt: number;
  /** True once it has listened: it is gone when it does not any more. */
  hasListened: boolean;
}

const MOST_GONE = 10_000;

/** Timers of Node may fire so much before their time. */
const EARLY_MS = 2;

/** Clients by their ids, up to a number. */
function openKnownClients(clock: Clock, bounds: ClientBounds) {
  const clients = new Map<string, Known>();
  /** Ids of those that were forgotten. */
  const gone = new Set<string>();
  const isFree = ({ client, open }: Known) => open === 0 && client.session.current()?.runner.current() == null;

  /** Forgets a client. The next one may then have its session. */
  async function end(id: string): Promise<void> {
    const known = clients.get(id);
    if (clients.delete(id)) gone.add(id);
    const [oldest = ""] = gone;
    if (gone.size > MOST_GONE) gone.delete(oldest);
    await known?.client.session.end();
    await known?.client.close();
  }

  /** Forgets a client if it is free, and was not heard of for so long, ms. */
  async function endUnused(id: string, ms: number): Promise<void> {
    const known = clients.get(id);
    if (known && isFree(known) && known.usedAt <= clock.monotonic() - ms + EARLY_MS) await end(id);
  }
  const sweep = () => {
    for (const id of clients.keys()) void endUnused(id, bounds.idleMs);
    clock.after(bounds.idleMs / 2, sweep);
  };
  clock.after(bounds.idleMs / 2, sweep);

  return {
    /** True for a client that was forgotten: it is to shake hands again. */
    wasThere: (id: string): boolean => gone.has(id),
    has: (id: string): boolean => clients.has(id),
    add(id: string, client: Client): void {
      clients.set(id, { client, open: 0, usedAt: clock.monotonic(), hasListened: false });
    },
    /**
     * Makes room for one more: of those that are free, the one that was not heard of for the
     * longest time goes.
     */
    async hasRoom(): Promise<boolean> {
      if (clients.size < bounds.clients) return true;
      const [oldest] = [...clients].filter(([, known]) => isFree(known)).sort(([, a], [, b]) => a.usedAt - b.usedAt);
      if (oldest) await end(oldest[0]);
      return clients.size < bounds.clients;
    },
    /**
     * Notes that a client asks, from now on until its connection is done with the request; returns
     * the client.
     */
    note(id: string, { request, gone }: Asked): Client | undefined {
      const known = clients.get(id);
      if (!known) return undefined;
      known.open++;
      onceAborted(gone, () => {
        known.open--;
        known.usedAt = clock.monotonic();
        known.hasListened ||= request.method === "GET";
        if (known.hasListened) clock.after(bounds.goneMs, () => void endUnused(id, bounds.goneMs));
      });
      return known.client;
    },
    end,
    async endAll(): Promise<void> {
      await Promise.all([...clients.keys()].map(end));
    },
  };
}
