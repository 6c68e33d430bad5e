import type { Clock } from "../../runtime/index.ts";
import { onceAborted } from "../platform/signals.ts";
import type { ClientSession } from "./client-session.ts";

/** A request with a token. */
export interface Asked {
  /** It is without its body. */
  readonly request: Request;
  /** Its body, parsed; undefined if it has none. */
  readonly body: unknown;
  /** Aborted when the connection is done with the request; the signal of a request may be collected before. */
  readonly gone: AbortSignal;
  /** The session that the address names; null: the one of the folder. */
  readonly name: string | null;
}

/** Bounds of clients that are known at once. */
export interface ClientBounds {
  readonly clients: number;
  readonly idleMs: number;
  readonly goneMs: number;
}

/** Those who ask and have a session of Belay's. */
export interface Client {
  readonly session: ClientSession;
  answer(asked: Asked): Promise<Response>;
  close(): Promise<void>;
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
export function openKnownClients(clock: Clock, bounds: ClientBounds) {
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
    /** Makes room for one more: of those that are free, the one that was not heard of for the longest time goes. */
    async hasRoom(): Promise<boolean> {
      if (clients.size < bounds.clients) return true;
      const [oldest] = [...clients].filter(([, known]) => isFree(known)).sort(([, a], [, b]) => a.usedAt - b.usedAt);
      if (oldest) await end(oldest[0]);
      return clients.size < bounds.clients;
    },
    /** Notes that a client asks, from now on until its connection is done with the request; returns the client. */
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
