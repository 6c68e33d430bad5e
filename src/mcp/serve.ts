import { pipeline } from "node:stream";
import { fileURLToPath } from "node:url";
import {
  CLIENT_INFO_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  Server,
  type Transport,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { messageOf } from "../platform/errors.ts";
import { isRecord } from "../platform/json.ts";
import { whenAborted } from "../platform/signals.ts";
import type { Calls } from "./calls.ts";
import { type ClientSession, openClientSession, type ServerParts } from "./client-session.ts";
import { boundedLines, LINE_BYTES } from "./messages.ts";
import { CALL_KEY, SESSION_RESOURCE } from "./protocol.ts";
import type { Shutdown } from "./shutdown.ts";

/**
 * Serves MCP until the client goes away, in both eras of the protocol. What is listed is answered
 * at once; what works with sessions is loaded by the first call.
 *
 * @param parts with the transport; default: stdin and stdout of the process
 */
export function serve(parts: ServerParts & { readonly transport?: Transport }): void {
  const { shutdown, note, transport = stdioTransport() } = parts;
  const session = openClientSession(parts, {}, clientRoots);
  shutdown.after(session.end);
  serveStdio(
    ({ era }) => {
      const server = serverFor(parts, session);
      if (era === "legacy") {
        server.setNotificationHandler("notifications/roots/list_changed", () => {
          session.current()?.connection.roots.changed();
        });
      }
      return server;
    },
    { transport, onerror: (error) => note(`a message could not be read or sent (${error.name})`) },
  );
  endBefore(transport, shutdown);
}

/**
 * A server for one client, or for one request of any.
 *
 * @param closing what the end of the connection is to a request: over HTTP a
 * request of the newer era is given up by it
 */
export function serverFor(
  { version, tools }: Pick<ServerParts, "version" | "tools">,
  session: Pick<ClientSession, "calls" | "suspend">,
  closing: "cancels" | "suspends" = "suspends",
): Server {
  const server = new Server(
    { name: "belay", title: "Belay", version },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  const calls = () => session.calls(server);
  listTools(server, tools);
  answerCalls(server, calls, session.suspend, closing === "cancels");
  serveResources(server, calls);
  return server;
}

/**
 * Stdin and stdout of the process. The SDK ends a connection whose buffer is full: no line comes
 * near that.
 */
function stdioTransport(): Transport {
  const lines = boundedLines((answers, done) => void process.stdout.write(answers, done));
  pipeline(process.stdin, lines, () => {});
  return new StdioServerTransport(lines, process.stdout, { maxBufferSize: 2 * LINE_BYTES });
}

const INSTRUCTIONS =
  "Call rlm_status first: an earlier run may have loaded the context, set variables or left work unfinished. Belay explores material that is too large to read, such as repositories, logs and books, by JavaScript cells over it and by sub-calls to a model. Load a file or folder with rlm_load, then explore it with rlm_exec, have questions answered with rlm_ask or, if they are simple, with rlm_query, and get the answer of what still runs with rlm_wait.";

/**
 * The SDK aborts requests when the connection closes, just as when the client cancels them. What
 * runs must have been suspended by then: it would be recorded as cancelled.
 */
function endBefore(transport: Transport, shutdown: Shutdown): void {
  const { onclose } = transport;
  transport.onclose = () => {
    shutdown.leave();
    onclose?.();
  };
}

function listTools(server: Server, set: ServerParts["tools"]): void {
  server.setRequestHandler("tools/list", async () => {
    const { listedTools } = await import("./listed-tools.ts");
    return { tools: listedTools(set) };
  });
}

function answerCalls(server: Server, calls: () => Promise<Calls>, suspend: AbortSignal, cancels: boolean): void {
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const token = params._meta?.progressToken;
    const notify = (progress: number, message: string) => {
      if (token === undefined || suspend.aborted) return;
      const sent = mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: token, progress, message },
      });
      // The client may have gone.
      sent.catch(() => {});
    };
    const opened = await calls();
    using cancelled = cancelledBy(mcpReq.signal, cancels);
    return await opened.call(params.name, params.arguments ?? {}, {
      signal: cancelled.signal,
      notify: token === undefined ? null : notify,
      key: params._meta?.[CALL_KEY],
      client: clientName(mcpReq.envelope) ?? server.getClientVersion()?.name ?? "",
    });
  });
}

/** The name that a request of the newer era carries; null for an older one. */
function clientName(envelope: object = {}): string | null {
  const info: unknown = Reflect.get(envelope, CLIENT_INFO_META_KEY);
  const name: unknown = isRecord(info) ? info.name : null;
  return typeof name === "string" ? name : null;
}

/** Aborts when the client gives the request up. @param byClosing also when the connection closes */
function cancelledBy(request: AbortSignal, byClosing: boolean): Disposable & { readonly signal: AbortSignal } {
  const cancelled = new AbortController();
  const abort = () => {
    const { reason } = request;
    const isClosed = reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed;
    if (byClosing || !isClosed) cancelled.abort();
  };
  if (request.aborted) abort();
  return { signal: cancelled.signal, [Symbol.dispose]: whenAborted(request, abort) };
}

const EXEC_TEMPLATE = {
  uriTemplate: "belay://exec/{exec_id}",
  name: "exec",
  title: "RLM exec",
  description: "The whole answer of a finished exec, up to 1 MB",
  mimeType: "application/json",
} as const;

function serveResources(server: Server, calls: () => Promise<Calls>): void {
  server.setRequestHandler("resources/list", () => ({ resources: [SESSION_RESOURCE] }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [EXEC_TEMPLATE] }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const { readResource } = await import("./status.ts");
    const text = await readResource(uri, await calls()).catch((error: unknown) => {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, messageOf(error));
    });
    if (text === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `resource ${uri} not found`);
    return { contents: [{ uri, mimeType: "application/json", text }] };
  });
}

/** The folders that a client of the older era has open; null if it cannot tell, or not in time. */
async function clientRoots(server: Server): Promise<readonly string[] | null> {
  if (!server.getClientCapabilities()?.roots) return null;
  try {
    const { roots } = await server.listRoots(undefined, { timeout: ROOTS_MS });
    return roots.flatMap(({ uri }) => (uri.startsWith("file:") ? [fileURLToPath(uri)] : []));
  } catch {
    return null;
  }
}

const ROOTS_MS = 2_000;
