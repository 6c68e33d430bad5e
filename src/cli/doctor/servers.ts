import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { entryUrl } from "../../entries.ts";
import { RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { queueFigures, type TicketCounts } from "../../runs/index.ts";
import { lookAtServer, type ServerFacts } from "../../store/index.ts";
import { inFlags } from "../render/wording.ts";
import type { Found } from "./doctor.ts";

/** Checks the queue beside the store, and the tickets in it. A store without runs needs none. */
export async function checkQueue(url: string): Promise<Found> {
  try {
    const figures = await queueFigures(url);
    if (!figures) return { state: "ok", detail: "it will be made by the first run" };
    const queues = figures.queues.map(ticketsText);
    const age = queues.length > 0 ? "; its counts may be a minute old" : "";
    return { state: "ok", detail: [`pg-boss's schema ${figures.schemaVersion}${age}`, ...queues].join("\n") };
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return { state: "warning", detail: error.message, cure: inFlags(error.suggestion) };
  }
}

const ticketsText = ({ queue, waiting, active, dead }: TicketCounts) =>
  `queue ${queue}: ${amount(waiting, "ticket waits", "tickets wait")}, ${active} active, ${dead} dead`;

/** Checks that the server of a store can be used, and that its data is safe there. */
export async function checkServer(url: string): Promise<Found> {
  const facts = await lookAtServer(url);
  const { name, schema, version, server } = facts;
  const store = version === 0 ? `the schema ${schema} will be made when it is needed` : `schema ${schema} ${version}`;
  const detail = `${name}, PostgreSQL ${server}, ${store}`;
  if (Number.parseInt(server, 10) < OLDEST_SERVER) {
    return { state: "failed", detail, cure: `use PostgreSQL ${OLDEST_SERVER} or newer` };
  }
  if (!facts.mayWrite) {
    const wanted = version === 0 ? "CREATE ON DATABASE …" : `USAGE ON SCHEMA ${schema}`;
    return { state: "failed", detail: `${detail}: the user may not use it`, cure: `GRANT ${wanted} TO the user` };
  }
  const worries = WORRIES.filter(({ isMeant }) => isMeant(facts));
  if (worries.length === 0) return { state: "ok", detail };
  const told = [detail, ...worries.map(({ what }) => what)].join("\n");
  return { state: "warning", detail: told, cure: worries.map(({ cure }) => cure).join("; ") };
}

const OLDEST_SERVER = 14;

const WORRIES = [
  {
    isMeant: ({ fsync }: ServerFacts) => !fsync,
    what: "fsync=off: a power cut can take what was committed, and damage the rest",
    cure: "set fsync = on in postgresql.conf",
  },
  {
    isMeant: ({ isOpenToOthers }: ServerFacts) => isOpenToOthers,
    what: "the connection leaves this machine without TLS: others on the way can read what is kept",
    cure: "add sslmode=verify-full to the URL",
  },
] as const;

const HANDSHAKE = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "belay doctor", version: "1" } },
};
const LIST = { id: 2, method: "tools/list" };

/** Starts an MCP server as a client would, and asks over pipes what tools it has. It opens no session. */
export async function checkMcp(): Promise<Found> {
  const entry = fileURLToPath(entryUrl("cli/main"));
  const child = spawn(process.execPath, [entry, "mcp"], { timeout: ANSWER_MS });
  child.stdin.on("error", () => {});
  let said = "";
  child.stderr.on("data", (chunk) => {
    if (said.length < SAID_UNITS) said += chunk;
  });
  for (const request of [HANDSHAKE, LIST]) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...request })}\n`);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { id, result }: { id?: unknown; result?: { tools?: readonly unknown[] } } = JSON.parse(line);
      if (id !== LIST.id) continue;
      return { state: "ok", detail: `a server listed ${amount(result?.tools?.length ?? 0, "tool")}` };
    }
    return { state: "failed", detail: ["a server ended before it had listed its tools", ...reasonIn(said)].join(": ") };
  } finally {
    child.stdin.end();
    child.kill();
  }
}

const ANSWER_MS = 20_000;
const SAID_UNITS = 4_000;

/** The line by which a process says why it ended: that the SDK is not there, for example. */
function reasonIn(said: string): string[] {
  const lines = said.split("\n").filter((line) => line.trim() !== "");
  return [lines.find((line) => /^\w*Error\b/.test(line)) ?? lines[0] ?? []].flat();
}
