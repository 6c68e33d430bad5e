import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  WebStandardStreamableHTTPServerTransport as SessionTransport,
} from "@modelcontextprotocol/server";
import { systemClock } from "../../runtime/index.ts";
import { inLine } from "../platform/visible.ts";
import { openClientSession } from "./client-session.ts";
import { type Asked, type Client, type ClientBounds, openKnownClients } from "./known-clients.ts";
import { type ServerParts, serverFor } from "./serve.ts";
import { openSharers } from "./sharers.ts";

export interface HttpClientBounds extends ClientBounds {
  readonly bodyBytes: number;
}

/**
 * Clients over HTTP. One of the older era is known by the id that it was given, and has a session of its own. Requests of the newer
 * era are bound to no client: those of one address share a session.
 */
export function openClients(parts: ServerParts, bounds: HttpClientBounds) {
  const { clock = systemClock } = parts;
  const known = openKnownClients(clock, bounds);
  const busy = () => refusal(503, `${bounds.clients} clients are at work`, { "Retry-After": "60" });

  /** A client of the older era, which is known as soon as its first request gives it an id. */
  async function openOwn(name: string | null): Promise<Client> {
    const session = openClientSession(parts, name, () => null);
    const transport: SessionTransport = new SessionTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: bounds.bodyBytes,
      onsessioninitialized: (id) => known.add(id, client),
      onsessionclosed: known.end,
    });
    const client: Client = {
      ...{ session, name },
      answer: ({ request, body }) => transport.handleRequest(request, { parsedBody: body }),
      close: () => transport.close(),
    };
    await serverFor(parts, session.calls, session.suspend).connect(transport);
    return client;
  }

  /** All clients of the newer era that ask at one address. */
  function openShared(name: string | null): Client {
    const sharers = openSharers(clock, bounds.idleMs);
    const session = openClientSession(parts, name, (named) => sharedBy(sharers.names(), named));
    const handler = createMcpHandler(() => serverFor(parts, session.calls, session.suspend, "cancels"), {
      ...{ legacy: "reject", maxRequestBodySize: bounds.bodyBytes },
    });
    return {
      ...{ session, name },
      answer({ request, body }) {
        sharers.note(body);
        return handler.fetch(request, { parsedBody: body });
      },
      close: () => handler.close(),
    };
  }

  return {
    /** A request of the older era without an id: the first of a client, or a mistake. */
    async greet(asked: Asked): Promise<Response> {
      if (!(await known.hasRoom())) return busy();
      const client = await openOwn(asked.name);
      const response = await client.answer(asked);
      const id = response.headers.get("mcp-session-id");
      if (id === null) await client.session.end();
      else known.note(id, asked);
      return response;
    },
    /** A request of the newer era. */
    async share(asked: Asked): Promise<Response> {
      // No id has a slash.
      const id = `/${asked.name ?? ""}`;
      if (!known.get(id)) {
        if (!(await known.hasRoom())) return busy();
        if (!known.get(id)) known.add(id, openShared(asked.name));
      }
      known.note(id, asked);
      return known.get(id)?.answer(asked) ?? busy();
    },
    /** A request of the client that has this id. */
    async answer(id: string, asked: Asked): Promise<Response> {
      const client = id.startsWith("/") ? undefined : known.get(id);
      if (client?.name !== asked.name) return refusal(404, "this client is not known any more: initialize again");
      known.note(id, asked);
      return client.answer(asked);
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

/** A refusal in the form that clients of MCP read. */
export function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }, { status, headers });
}
