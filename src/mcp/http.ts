import { isUtf8 } from "node:buffer";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isLegacyRequest } from "@modelcontextprotocol/server";
import { boundedBytes } from "../platform/bounded-reads.ts";
import { errorName } from "../platform/errors.ts";
import { parseJson } from "../platform/json.ts";
import { bears, foreignHeader, listenOnLoopback } from "../platform/loopback.ts";
import { isName } from "../session/session-name.ts";
import { openClients } from "./http-clients.ts";
import { refusal, refusalsOf } from "./messages.ts";
import type { OwnClientParts } from "./own-client.ts";

export interface HttpParts extends OwnClientParts {
  /** 0: a free one. */
  readonly port: number;
  readonly bounds?: Partial<HttpBounds>;
}

type HttpBounds = Readonly<typeof HTTP_BOUNDS>;

/** Bounds of a server on loopback. */
const HTTP_BOUNDS = {
  /**
   * Clients that are known at once: those of the older era, and addresses at which those of the
   * newer one ask.
   */
  clients: 32,
  /**
   * Connections at once: a client has one for each of its requests, and one on which it listens.
   */
  connections: 256,
  /** Those of them that have sent no token yet: for a further one the oldest goes. */
  strangers: 64,
  bodyBytes: 10_000_000,
  /**
   * Events that are kept of each client, so that it gets what it missed when its connection broke,
   * and bytes of their messages.
   */
  events: 64,
  eventBytes: 2_000_000,
  /** ms without a request, after which a client is forgotten. */
  idleMs: 1_800_000,
  /**
   * ms after which a client is gone that listened and does not any more. One that is cut off comes
   * back within a second.
   */
  goneMs: 1_500,
};

/**
 * The address of a server on loopback. @param name the session of a client; null: that of the
 * folder
 */
export function addressOf(port: number, name: string | null = null): string {
  return `http://127.0.0.1:${port}${PATH}${name === null ? "" : `/${encodeURIComponent(name)}`}`;
}

const PATH = "/mcp";

/**
 * Serves MCP on loopback to several clients, in both eras of the protocol, until the process ends.
 *
 * @returns the address. Rejects with the system's error if the port is taken
 */
export async function serveHttp(parts: HttpParts): Promise<string> {
  const bounds = { ...HTTP_BOUNDS, ...parts.bounds };
  const server = createServer({ headersTimeout: HEADERS_MS, connectionsCheckingInterval: HEADERS_MS / 10 });
  server.maxConnections = bounds.connections;
  const strangers = openStrangers(server, bounds.strangers);
  const port = await listenOnLoopback(server, parts.port);
  const clients = openClients(parts, bounds);

  async function answer(incoming: IncomingMessage, gone: AbortSignal): Promise<Response> {
    const foreign = foreignHeader(incoming, port);
    if (foreign) return refusal(403, `this ${foreign} is not served`);
    const name = namedIn(incoming.url ?? "");
    if (name === undefined) return refusal(404, `the path is ${PATH}, or ${PATH}/NAME with the name of a session`);
    if (!bears(incoming.headers.authorization, parts.token))
      return refusal(401, NO_TOKEN, { "WWW-Authenticate": "Bearer" });
    strangers.delete(incoming.socket);
    const read = await requestOf(incoming, gone, bounds.bodyBytes);
    if (read === null) return refusal(413, `a message has at most ${bounds.bodyBytes} bytes`);
    const { request, body, json } = read;
    const [wrong, ...more] = request.method === "POST" ? refusalsOf(body, json, "served") : [];
    if (wrong) return Response.json(more.length > 0 ? [wrong, ...more] : wrong, { status: 400 });
    const asked = { request, body, gone, name };
    const id = request.headers.get("mcp-session-id");
    if (id !== null) return clients.answer(id, asked);
    const isLegacy = await isLegacyRequest(request, body);
    return isLegacy ? clients.greet(asked) : clients.share(asked);
  }

  server.on("request", async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    try {
      await send(await answer(incoming, gone.signal), incoming, outgoing);
    } catch (error) {
      if (!gone.signal.aborted) parts.note(`a request could not be answered (${errorName(error)})`);
      outgoing.destroy();
    }
  });
  parts.shutdown.after(async () => {
    server.close();
    // A client whose connection broke asks again; one that was told how its call stopped would not.
    server.closeAllConnections();
    await clients.end();
  });
  return addressOf(port);
}

/**
 * Connections that have sent no token yet, up to a number: the oldest is ended for a further one.
 */
function openStrangers(server: Server, most: number): Set<Socket> {
  const strangers = new Set<Socket>();
  server.on("connection", (socket) => {
    strangers.add(socket);
    socket.once("close", () => strangers.delete(socket));
    const [oldest] = strangers;
    if (strangers.size > most) oldest?.destroy();
  });
  return strangers;
}

/** The name in the path of a request; null: it has none. undefined: it is another path. */
function namedIn(url: string): string | null | undefined {
  const { pathname } = new URL(url, "http://127.0.0.1");
  if (pathname === PATH) return null;
  if (!pathname.startsWith(`${PATH}/`)) return undefined;
  try {
    const name = decodeURIComponent(pathname.slice(PATH.length + 1));
    return isName(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

const HEADERS_MS = 10_000;
const NO_TOKEN = "the token is missing or wrong: send the header Authorization that belay mcp --http has printed";

/**
 * Writes a response of the web as one of Node's. The connection ends with it if a body was not read
 * to its end.
 */
async function send(response: Response, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const ending = incoming.complete ? {} : { connection: "close" };
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), ...ending });
  // Else they wait for the first piece of the body.
  outgoing.flushHeaders();
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

/**
 * A request of Node's as one of the web without a body, and its body, parsed and as it was sent; null: its body
 * is too long.
 */
async function requestOf(incoming: IncomingMessage, signal: AbortSignal, mostBytes: number) {
  const { method = "GET", url = "", headers } = incoming;
  const bytes = await boundedBytes(method === "POST" ? incoming : [], mostBytes);
  if (!bytes) return null;
  const { accept = "*/*" } = headers;
  const asked = {
    ...headers,
    accept: accept.includes("*/*") ? `application/json, text/event-stream, ${accept}` : accept,
  };
  const given = Object.entries(asked).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, [value].flat().join(", ")]],
  );
  const request = new Request(new URL(url, `http://${headers.host}`), { method, headers: given, signal });
  const json = new TextDecoder().decode(bytes);
  return { request, body: isUtf8(bytes) ? parseJson(json) : undefined, json };
}
