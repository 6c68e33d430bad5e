import { openLeaving, serve } from "../../mcp/index.ts";
import { inLine } from "../../platform/visible.ts";
import type { McpFlags } from "../commands/mcp.ts";
import type { Arguments } from "../flags/arguments.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { version } from "../version.ts";
import { sessionSource } from "./source.ts";

/** `belay mcp`: serves until the client goes away, which ends the process. Gives the exit code if nothing was served. */
export async function mcpCommand(args: Arguments, host: Host, own: McpFlags): Promise<number> {
  if (own.printConfig !== undefined) {
    const { printConfig } = await import("./print-config.ts");
    return printConfig(own.printConfig, args);
  }
  if (process.stdin.isTTY) {
    const problem = "an MCP client starts this server and talks to it on stdin and stdout; this is a terminal";
    throw new UsageError(problem, commandLine(["mcp", "--print-config", "claude"]));
  }
  // Before the transport listens: what runs must be suspended before the client's end is told to its requests.
  const leaving = openLeaving({
    exit: (code) => process.exit(code),
    on: (signal, handle) => void process.on(signal, handle),
  });
  const { tools = "core", answerBytes = null } = own;
  // Each answer that a slow client has not read yet listens for the stream.
  process.stdout.setMaxListeners(0);
  serve({
    version: version(),
    source: sessionSource(args, host),
    tools,
    limits: { answerMs: msOf(own, ANSWER_MS), answerMsWithProgress: msOf(own, ANSWER_MS_WITH_PROGRESS), answerBytes },
    leaving,
    note: (line) => void process.stderr.write(`belay mcp: ${inLine(line)}\n`),
  });
  return new Promise(() => {});
}

/** Under the limits of the clients that are known: 60 s without progress, 300 s with it. */
const ANSWER_MS = 50_000;
const ANSWER_MS_WITH_PROGRESS = 240_000;

function msOf({ answerMs }: McpFlags, usual: number): number {
  return answerMs === 0 ? Number.POSITIVE_INFINITY : (answerMs ?? usual);
}
