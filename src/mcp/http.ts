import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport as SessionTransport,
} from "@modelcontextprotocol/server";
import { systemClock } from "../../runtime/index.ts";
import { boundedBytes } from "../platform/bounded-json.ts";
import { bears, foreignHeader, listenOnLoopback } from "../platform/loopback.ts";
import { joinSignals, whenAborted } from "../platform/signals.ts";
import type { Calls } from "./calls.ts";
import { refusalsOf } from "./malformed.ts";
import { type ServerParts, serverFor } from "./serve.ts";

export interface HttpParts extends ServerParts {
  /** 0: a free one. */
  readonly port: number;
  /** The text that every request must bear. */
  readonly token: string;
  readonly bounds?: Partial<HttpBounds>;
}

type HttpBounds = Readonly<typeof HTTP_BOUNDS>;

/** Bounds of a server on loopback. */
const HTTP_BOUNDS = {
  /** Clients of the older era that are known at once. */
  clients: 32,
  /** Connections at once: a client has one for each of its requests, and one on which it listens. */
  connections: 256,
  bodyBytes: 10_000_000,
  /** ms without a request, after which a client is forgotten. */
  idleMs: 1_800_000,
  /** ms after which a client is gone that listened and does not any more. One that is cut off comes back within a second. */
  goneMs: 1_500,
};

const PATH = "/mcp";

/**
 * Serves MCP on loopback to several clients, in both eras of the protocol, until the process ends. Each client of the older era has
 * a session of Belay's own. Requests of the newer one are not bound to a client: they share one.
 *
 * @returns the address. Rejects with the system's error if the port is taken
 */
export async function serveHttp(parts: HttpParts): Promise<string> {
  const bounds = { ...HTTP_BOUNDS, ...parts.bounds };
  const server = createServer();
  server.maxConnections = bounds.connections;
  server.headersTimeout = HEADERS_MS;
  const port = await listenOnLoopback(server, parts.port);
  const clients = openClients(parts, bounds);
  const ofRequests = openClient(parts);
  const modern = createMcpHandler(() => serverFor(parts, ofRequests.calls, ofRequests.suspend, "cancels"), {
    ...{ legacy: "reject", maxRequestBodySize: bounds.bodyBytes },
  });

  async function answer(incoming: IncomingMessage, gone: AbortSignal): Promise<Response> {
    const foreign = foreignHeader(incoming, port);
    if (foreign) return refusal(403, `this ${foreign} is not served`);
    if (new URL(incoming.url ?? "", "http://127.0.0.1").pathname !== PATH) return refusal(404, `the path is ${PATH}`);
    if (!bears(incoming.headers.authorization, parts.token))
      return refusal(401, NO_TOKEN, { "WWW-Authenticate": "Bearer" });
    const asked = await requestOf(incoming, gone, bounds.bodyBytes);
    if (asked === null) return refusal(413, `a message has at most ${bounds.bodyBytes} bytes`);
    const [wrong, ...more] = asked.method === "POST" ? refusalsOf(await asked.clone().text(), "served") : [];
    if (wrong) return Response.json(more.length > 0 ? [wrong, ...more] : wrong, { status: 400 });
    const id = asked.headers.get("mcp-session-id");
    if (id !== null) return clients.answer(id, asked, gone);
    const isLegacy = await isLegacyRequest(asked, undefined, { maxRequestBodySize: bounds.bodyBytes });
    return isLegacy ? clients.greet(asked, gone) : modern.fetch(asked);
  }

  server.on("request", async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    try {
      await send(await answer(incoming, gone.signal), incoming, outgoing);
    } catch (error) {
      if (!gone.signal.aborted) parts.note(`a request could not be answered (${nameOf(error)})`);
      outgoing.destroy();
    }
  });
  parts.leaving.after(async () => {
    server.close();
    await Promise.all([clients.end(), ofRequests.end(), modern.close()]);
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${port}${PATH}`;
}

const nameOf = (error: unknown) => (error instanceof Error ? error.name : "Error");

const HEADERS_MS = 10_000;
/** Timers of Node may fire so much before their time. */
const EARLY_MS = 2;
const NO_TOKEN = "the token is missing or wrong: send the header Authorization that belay mcp --http has printed";

/** A client's session of Belay's, which its first call opens. */
function openClient(parts: HttpParts) {
  const { source, tools, limits, leaving, clock = systemClock } = parts;
  const leave = new AbortController();
  const left = joinSignals(leaving.suspend, leave.signal);
  let opened: Promise<Calls> | null = null;
  let current: Calls | null = null;
  return {
    suspend: left.signal,
    calls(): Promise<Calls> {
      // A client elsewhere names no folders: those of --root count, else the working folder.
      const askRoots = async () => null;
      opened ??= import("./calls.ts").then(({ openCalls }) => {
        current = openCalls({ source, tools, limits, clock, suspend: left.signal, askRoots });
        return current;
      });
      return opened;
    },
    isBusy: () => current?.runs.current() != null,
    /** Stops what runs where it is, and closes the session. Never rejects. */
    async end(): Promise<void> {
      leave.abort();
      left[Symbol.dispose]();
      try {
        await (await opened)?.[Symbol.asyncDispose]();
      } catch (error) {
        parts.note(`a session could not be closed (${nameOf(error)})`);
      }
    },
  };
}

interface Known {
  readonly client: ReturnType<typeof openClient>;
  readonly transport: SessionTransport;
  /** Requests that are being answered, with the one on which the client listens. */
  open: number;
  usedAt: number;
  /** True once it has listened: it is gone when it does not any more. */
  hasListened: boolean;
}

/** Clients of the older era, each known by the id that it was given. */
function openClients(parts: HttpParts, bounds: HttpBounds) {
  const { clock = systemClock } = parts;
  const clients = new Map<string, Known>();
  const isFree = ({ client, open }: Known) => open === 0 && !client.isBusy();

  /** Forgets a client. The next one may then have its session. */
  async function end(id: string): Promise<void> {
    const known = clients.get(id);
    clients.delete(id);
    await known?.client.end();
    await known?.transport.close();
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

  /** Makes room for one more: of those that are free, the one that was not heard of for the longest time goes. */
  async function hasRoom(): Promise<boolean> {
    if (clients.size < bounds.clients) return true;
    const [oldest] = [...clients].filter(([, known]) => isFree(known)).sort(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest) await end(oldest[0]);
    return clients.size < bounds.clients;
  }

  /** @param gone aborted when the connection is done with the request; the signal of a request may be collected before */
  function handled(known: Known, request: Request, gone: AbortSignal): Promise<Response> {
    known.open++;
    whenAborted(gone, () => {
      known.open--;
      known.usedAt = clock.monotonic();
      known.hasListened ||= request.method === "GET";
      const { sessionId = "" } = known.transport;
      if (known.hasListened) clock.after(bounds.goneMs, () => void endUnused(sessionId, bounds.goneMs));
    });
    return known.transport.handleRequest(request);
  }

  return {
    /** A request without an id: the first of a client, or a mistake. */
    async greet(request: Request, gone: AbortSignal): Promise<Response> {
      if (!(await hasRoom())) return refusal(503, `${bounds.clients} clients are at work`, { "Retry-After": "60" });
      const client = openClient(parts);
      const transport: SessionTransport = new SessionTransport({
        sessionIdGenerator: randomUUID,
        maxRequestBodySize: bounds.bodyBytes,
        onsessioninitialized: (id) => void clients.set(id, known),
        onsessionclosed: end,
      });
      const known: Known = { client, transport, open: 0, usedAt: 0, hasListened: false };
      await serverFor(parts, client.calls, client.suspend).connect(transport);
      const response = await handled(known, request, gone);
      if (transport.sessionId === undefined) await client.end();
      return response;
    },
    async answer(id: string, request: Request, gone: AbortSignal): Promise<Response> {
      const known = clients.get(id);
      return known
        ? handled(known, request, gone)
        : refusal(404, "this client is not known any more: initialize again");
    },
    async end(): Promise<void> {
      await Promise.all([...clients.keys()].map(end));
    },
  };
}

/** A refusal in the form that clients of MCP read. */
function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }, { status, headers });
}

/** Writes a response of the web as one of Node's. The connection ends with it if a body was not read to its end. */
async function send(response: Response, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const ending = incoming.complete ? {} : { connection: "close" };
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), ...ending });
  const reader = response.body?.getReader();
  outgoing.once("close", () => void reader?.cancel().catch(() => {}));
  for (;;) {
    const part = await reader?.read();
    if (part?.value === undefined || outgoing.destroyed) break;
    if (!outgoing.write(part.value)) await once(outgoing, "drain", { signal: AbortSignal.timeout(DRAIN_MS) });
  }
  outgoing.end();
}

/** ms that a client may take to read what is there. */
const DRAIN_MS = 60_000;

/** A request of Node's as one of the web; null: its body is too long. */
async function requestOf(incoming: IncomingMessage, signal: AbortSignal, mostBytes: number): Promise<Request | null> {
  const { method = "GET", url = "", headers } = incoming;
  const bytes = await boundedBytes(method === "POST" ? incoming : [], mostBytes);
  if (!bytes) return null;
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, [value].flat().join(", ")]],
  );
  const body = method === "POST" ? { body: bytes } : {};
  return new Request(new URL(url, `http://${headers.host}`), { method, headers: given, signal, ...body });
}
