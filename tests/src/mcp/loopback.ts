import { once } from "node:events";
import { request } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { type Clock, systemClock } from "../../../runtime/index.ts";
import { type HttpParts, openShutdown, serveHttp } from "../../../src/mcp/index.ts";
import { callerOf, type Era, type PairOptions, type Project, project, projectSource, WHOLE } from "./pair.ts";

export const TOKEN = "a-token-of-sixteen";

/** A clock by which waits take a twentieth of their time. A timer of Node's may be a millisecond early, which are 20 here. */
const HASTE = 20;
const clock: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * HASTE,
  after: (ms, run) => systemClock.after(ms / HASTE + 1, run),
};

export interface ServedOptions extends Pick<PairOptions, "answers" | "tools"> {
  readonly of?: Project;
  readonly token?: string;
}

/** A server on a free port of loopback, and how it is left. */
export async function served(
  bounds: HttpParts["bounds"] = {},
  { of = project(), token = TOKEN, tools = "core", answers }: ServedOptions = {},
) {
  const gone = Promise.withResolvers<number>();
  const opened = openShutdown({ exit: gone.resolve, on() {} });
  const closing: Promise<void>[] = [];
  const shutdown: typeof opened = {
    ...opened,
    after: (close) =>
      opened.after(() => {
        const closed = close();
        closing.push(closed);
        return closed;
      }),
  };
  const notes: string[] = [];
  const parts = {
    version: "1.2.3",
    source: projectSource(of, answers ? { answers } : {}),
    tools,
    limits: WHOLE,
    shutdown,
    clock,
  };
  const url = await serveHttp({ ...parts, port: 0, token, bounds, note: (line) => void notes.push(line) });
  const leave = async () => {
    shutdown.leave();
    const code = await gone.promise;
    // A process would be gone with what it has open; this one closes it, which may take longer than a server waits.
    await Promise.allSettled(closing);
    return code;
  };
  onTestFinished(async () => void (await leave()));
  return { of, url, leave, notes };
}

export async function connected(url: string, era: Era = "legacy") {
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const pinned = era === "modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
  const client = new Client({ name: "test", version: "1.0.0" }, pinned);
  await client.connect(transport);
  return { client, transport, call: callerOf(client) };
}

/** A request without the SDK. */
export async function asked(url: string, headers: Record<string, string>, body: string | Buffer = "", method = "POST") {
  const sent = request(url, { method, headers: { "Content-Type": "application/json", ...headers } });
  // One that comes after the answer is of the rest of the body.
  sent.on("error", () => {});
  const response = once(sent, "response");
  sent.end(body);
  const [answer] = await response;
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece);
  return { status: answer.statusCode, headers: answer.headers, text: Buffer.concat(pieces).toString() };
}

export const BEARING = { Authorization: `Bearer ${TOKEN}`, Accept: "application/json, text/event-stream" };
export const HELLO = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
});
