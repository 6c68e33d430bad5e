import { homedir } from "node:os";
import { RlmError } from "../../../runtime/index.ts";
import { openLeaving, type SessionSource, serve } from "../../mcp/index.ts";
import { checkSessionName, LAST_SESSION } from "../../platform/session-name.ts";
import { openSigner } from "../../platform/signed-settings.ts";
import { version } from "../../platform/version.ts";
import { inLine } from "../../platform/visible.ts";
import type { SessionRow } from "../../store/index.ts";
import type { McpFlags } from "../commands/mcp.ts";
import type { Arguments } from "../flags/arguments.ts";
import { ROOT, SESSION } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { checkName, settingsIn, storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";

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

/** Times of an answer, ms, under the limits of known clients: 60 s without progress, 300 s with it. */
const ANSWER_MS = 50_000;
const ANSWER_MS_WITH_PROGRESS = 240_000;

function msOf({ answerMs }: McpFlags, usual: number): number {
  return answerMs === 0 ? Number.POSITIVE_INFINITY : (answerMs ?? usual);
}

/**
 * The sessions that the flags of a server name, and how one of them is opened. What opens them is loaded with the first
 * call: a client waits for the server to start.
 *
 * @throws UsageError
 */
function sessionSource(args: Arguments, host: Host): SessionSource {
  const help = commandLine(["help", "mcp"]);
  settingsIn(args, help);
  const folder = storePlace(args);
  const signer = openSigner(folder, process.env);
  const opening = async () => (await import("./opening.ts")).openingOf(args, host, folder);
  return {
    named: chosenName(args, help),
    roots: args.get(ROOT),
    cwd: process.cwd(),
    home: homedir(),
    openStore: async () => (await opening()).openStore(),
    open: async (store, place) => (await opening()).open(store, place),
    madeFor,
    folderOf: (row) => (signer.doubt(row.settings, row.id) === null ? madeFor(row) : null),
  };
}

/** The folder that a server's session belongs to is kept with its settings, under the same signature. */
function madeFor({ origin, settings }: SessionRow): string | null {
  const { folder }: { readonly folder?: unknown } = Object(settings);
  return origin === "mcp" && typeof folder === "string" ? folder : null;
}

/** @throws UsageError for a name that a session cannot have */
function chosenName(args: Arguments, help: string): string | null {
  const session = args.get(SESSION) ?? null;
  if (session === LAST_SESSION) throw new UsageError(`--session: a server needs a name, and not ${session}`, help);
  if (session !== null) checkName("session", session, help);
  const variable = process.env.BELAY_SESSION;
  if (session !== null || !variable) return session;
  try {
    checkSessionName(variable);
  } catch (error) {
    throw error instanceof RlmError ? new UsageError(`BELAY_SESSION: ${error.message}`, help) : error;
  }
  return variable;
}
