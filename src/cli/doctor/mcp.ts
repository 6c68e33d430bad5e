import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { entryUrl } from "../../entries.ts";
import { amount } from "../../platform/figures.ts";
import type { Found } from "./store.ts";

/**
 * Starts an MCP server as a client would, and asks over pipes what tools it has. It opens no
 * session.
 *
 * @param answerMs the time that it has
 */
export async function checkMcp(answerMs = ANSWER_MS): Promise<Found> {
  const entry = fileURLToPath(entryUrl("cli/main"));
  const child = spawn(process.execPath, [entry, "mcp"]);
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    child.kill();
  }, answerMs);
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
    if (isLate) {
      const detail = `a server did not list its tools within ${answerMs / 1000} s`;
      const cure = "if this computer is slow or busy, try it again, and give clients longer to start servers";
      return { state: "failed", detail, cure };
    }
    return { state: "failed", detail: ["a server ended before it had listed its tools", ...reasonIn(said)].join(": ") };
  } finally {
    clearTimeout(limit);
    child.stdin.end();
    child.kill();
  }
}

const HANDSHAKE = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "belay doctor", version: "1" } },
};
const LIST = { id: 2, method: "tools/list" };

/** An emulated processor needs much of it. */
const ANSWER_MS = 60_000;
const SAID_UNITS = 4_000;

/** The line by which a process says why it ended: that the SDK is not there, for example. */
function reasonIn(said: string): string[] {
  const lines = said.split("\n").filter((line) => line.trim() !== "");
  return [lines.find((line) => /^\w*Error\b/.test(line)) ?? lines[0] ?? []].flat();
}
