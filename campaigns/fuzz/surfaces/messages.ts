import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ROOT } from "../../../scripts/process.ts";
import { distorted, mutated, pick } from "../mutate.ts";
import type { OpenSurface } from "../surface.ts";

const INFO = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "fuzz", version: "1" } };
const call = (name: string, args: object) => ({ method: "tools/call", params: { name, arguments: args } });
const REQUESTS: readonly object[] = [
  ...[
    { method: "initialize", params: INFO },
    { method: "ping" },
    { method: "tools/list" },
    { method: "resources/list" },
  ],
  ...[{ method: "resources/read", params: { uri: "belay://sessions/x" } }, { method: "nothing" }],
  ...[call("rlm_status", {}), call("rlm_exec", { code: "1 + 1" }), call("rlm_load", { path: "." })],
  ...[{ method: "notifications/cancelled", params: { requestId: 1 } }, call("rlm_wait", { exec_id: "x" })],
];
const WAIT_MS = 20_000;

/** Lines of a client: the server goes on, and answers the next ping. */
export const openMessages: OpenSurface = async (folder) => {
  const server = spawn(process.execPath, [join(ROOT, "src/cli/main.ts"), "mcp"], {
    ...{ cwd: folder, stdio: ["pipe", "pipe", "ignore"] },
    env: { ...process.env, BELAY_HOME: join(folder, "home") },
  });
  const answered = answersOf(server);
  let id = 0;
  const send = (bytes: string | Uint8Array) => server.stdin?.write(bytes);
  const line = (request: object) => `${JSON.stringify({ jsonrpc: "2.0", id: ++id, ...request })}\n`;
  send(line({ method: "initialize", params: INFO }));
  send(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  await answered(id);
  return {
    async play(random) {
      const request = { jsonrpc: "2.0", id: `f${id}`, ...pick(random, REQUESTS) };
      const text = `${JSON.stringify(random() < 0.6 ? distorted(random, request) : request)}\n`;
      send(random() < 0.5 ? text : mutated(random, Buffer.from(text)));
      // Ends a line that was cut.
      send("\n");
      send(line({ method: "ping" }));
      return (await answered(id)) ? null : `no answer to a ping after ${text.slice(0, 300)}`;
    },
    async [Symbol.asyncDispose]() {
      server.stdin?.end();
      if (server.exitCode === null) await once(server, "exit");
    },
  };
};

/** Waits for the answer with an id; false if the server ended or did not give it in time. */
function answersOf(server: ChildProcess): (id: number) => Promise<boolean> {
  const waiting = new Map<number, (came: boolean) => void>();
  if (!server.stdout) throw new Error("the server has no stdout");
  let rest = "";
  // Nothing but a line feed ends a message: an id may have what else ends lines elsewhere.
  server.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) waiting.get(JSON.parse(line).id)?.(true);
  });
  server.once("exit", () => {
    for (const settle of waiting.values()) settle(false);
  });
  return async (id) => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    waiting.set(id, resolve);
    const timer = setTimeout(resolve, WAIT_MS, false);
    const came = server.exitCode === null && (await promise);
    clearTimeout(timer);
    waiting.delete(id);
    return came;
  };
}
