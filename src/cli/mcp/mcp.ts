import { type HttpParts, openShutdown, type SessionSource, serve, serveHttp, TOKEN_VARIABLE } from "../../mcp/index.ts";
import { keyPath, userHome } from "../../platform/home.ts";
import { newToken } from "../../platform/loopback.ts";
import { variableLine } from "../../platform/shell-word.ts";
import { version } from "../../platform/version.ts";
import { inLine } from "../../platform/visible.ts";
import { LAST_SESSION } from "../../session/session-name.ts";
import { makeUserKey, openSigner } from "../../settings/signed-settings.ts";
import type { SessionRow } from "../../store/index.ts";
import type { Host } from "../commands/define.ts";
import type { McpFlags } from "../commands/mcp.ts";
import type { Arguments } from "../flags/arguments.ts";
import { INPUT_FLAGS, NAMED_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { checkName, settingsIn, storePlace } from "../flags/values.ts";
import type { LentWorkflows } from "./opening.ts";

/**
 * `belay mcp`: serves until the client goes away, which ends the process. Gives the exit code if
 * nothing was served.
 */
export async function mcpCommand(args: Arguments, host: Host, own: McpFlags): Promise<number> {
  if (own.printConfig !== undefined) {
    const { printConfig } = await import("./print-config.ts");
    const { http, port = PORT } = own;
    if (http && port === 0) throw new UsageError(PORT_OF_ENTRY, commandLine(["help", "mcp"]));
    return printConfig(own.printConfig, args, http ? port : null);
  }
  if (process.stdin.isTTY && !own.http) {
    const problem = "an MCP client starts this server and talks to it on stdin and stdout; this is a terminal";
    throw new UsageError(problem, commandLine(["mcp", "--print-config", "claude"]));
  }
  const { tools = "core", answerBytes = null, agents = [] } = own;
  if (agents.length > 0 && tools !== "workflow") {
    throw new UsageError("--agents is for --tools workflow: no other tool runs agents", AGENTS_EXAMPLE);
  }
  const note = (line: string) => void process.stderr.write(`belay mcp: ${inLine(line)}\n`);
  const token = own.http ? chosenToken(note) : null;
  // Before the transport listens: what runs must be suspended before the client's end is told to
  // its requests.
  const shutdown = openShutdown({
    exit: (code) => process.exit(code),
    on: (signal, handle) => void process.on(signal, handle),
  });
  // Each answer that a slow client has not read yet listens for the stream.
  process.stdout.setMaxListeners(0);
  const parts = {
    version: version(),
    source: sessionSource(args, host, { runsWorkflows: tools === "workflow", agents }),
    tools,
    limits: { answerMs: msOf(own, ANSWER_MS), answerMsWithProgress: msOf(own, ANSWER_MS_WITH_PROGRESS), answerBytes },
    shutdown,
    note,
  };
  if (token === null) serve(parts);
  else await listen({ ...parts, ...token, port: own.port ?? PORT });
  return new Promise(() => {});
}

const AGENTS_EXAMPLE = commandLine(["mcp", "--tools", "workflow", "--agents", "claude"]);
const PORT = 7431;
const PORT_OF_ENTRY = "--port: 0 takes another port with each start, and an entry needs one that stays: name it";

interface ServerToken {
  readonly token: string;
  /** True if it is printed: the user does not know it from a variable. */
  readonly isOurs: boolean;
}

/**
 * The user's token, else the one that is kept for all starts: clients have it in their settings.
 *
 * @throws UsageError
 */
function chosenToken(note: (line: string) => void): ServerToken {
  const { [TOKEN_VARIABLE]: given } = process.env;
  if (!given) return { token: keptToken(note), isOurs: true };
  if (/^[\w.~+/=-]{16,512}$/.test(given)) return { token: given, isOurs: false };
  const problem = `${TOKEN_VARIABLE} must be 16 to 512 letters, digits and characters of _-.~+/=, without spaces`;
  throw new UsageError(problem, variableLine(TOKEN_VARIABLE, null));
}

function keptToken(note: (line: string) => void): string {
  const path = keyPath(process.env, "mcp-token");
  const userKey = makeUserKey(path);
  if ("key" in userKey) return userKey.key.toString("hex");
  note(`${path} ${userKey.problem}, so the token holds for this start alone; ${TOKEN_VARIABLE} can have one`);
  return newToken();
}

/** Serves on loopback, and prints what clients need. @throws UsageError if the port is taken */
async function listen(parts: HttpParts & { readonly isOurs: boolean }): Promise<void> {
  try {
    parts.note(`listens on ${await serveHttp(parts)} until Ctrl-C`);
  } catch (error) {
    const { code }: { readonly code?: unknown } = Object(error);
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    const problem = code === "EACCES" ? "this user may not listen on" : "another program listens on";
    throw new UsageError(`--port: ${problem} port ${parts.port}`, commandLine(["mcp", "--http", "--port", "0"]));
  }
  const header = parts.isOurs ? `Bearer ${parts.token}` : `Bearer $${TOKEN_VARIABLE}`;
  parts.note(`clients need the header Authorization: ${header}`);
}

/**
 * Times of an answer, ms, under the limits of known clients: 60 s without progress, 300 s with it.
 */
const ANSWER_MS = 50_000;
const ANSWER_MS_WITH_PROGRESS = 240_000;

function msOf({ answerMs }: McpFlags, usual: number): number {
  return answerMs === 0 ? Number.POSITIVE_INFINITY : (answerMs ?? usual);
}

/**
 * The sessions that the flags of a server name, and how one of them is opened. What opens them is
 * loaded with the first call: a client waits for the server to start.
 *
 * @throws UsageError
 */
function sessionSource(args: Arguments, host: Host, lent: LentWorkflows): SessionSource {
  const help = commandLine(["help", "mcp"]);
  settingsIn(args, help);
  const folder = storePlace(args);
  const signer = openSigner(folder, process.env);
  const opening = async () => (await import("./opening.ts")).openingOf(args, host, folder, lent);
  const signedIn = (row: SessionRow, field: KeptField) =>
    signer.doubt(row.settings, row.id) === null ? keptBy(row, field) : null;
  return {
    named: chosenName(args, help),
    roots: args.get(INPUT_FLAGS.root),
    cwd: process.cwd(),
    home: userHome(),
    ...(lent.runsWorkflows ? { workflows: async () => (await opening()).workflows() } : {}),
    openStore: async () => (await opening()).openStore(),
    open: async (store, place) => (await opening()).open(store, place),
    madeFor: (row) => keptBy(row, "folder"),
    folderOf: (row) => signedIn(row, "folder"),
    clientOf: (row) => signedIn(row, "client"),
  };
}

/**
 * The folder that a server's session belongs to, and its client, are kept with its settings, under
 * the same signature.
 */
type KeptField = "folder" | "client";

function keptBy({ origin, settings }: SessionRow, field: KeptField): string | null {
  const value: unknown = Reflect.get(Object(settings), field);
  return origin === "mcp" && typeof value === "string" ? value : null;
}

/** @throws UsageError for a name that a session cannot have */
function chosenName(args: Arguments, help: string): string | null {
  const session = args.get(NAMED_FLAGS.session) ?? null;
  if (session === LAST_SESSION) throw new UsageError(`--session: a server needs a name, and not ${session}`, help);
  const name = session ?? (process.env.BELAY_SESSION || null);
  if (name !== null) checkName(session === null ? "BELAY_SESSION" : "--session", name, help);
  return name;
}
