import { homedir } from "node:os";
import { RlmError } from "../../../runtime/index.ts";
import type { SessionSource } from "../../mcp/index.ts";
import { checkSessionName, LAST_SESSION } from "../../platform/session-name.ts";
import { openSigner } from "../../platform/signed-settings.ts";
import type { SessionRow } from "../../store/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { ROOT, SESSION } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { checkName, settingsIn, storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { folderIn } from "./folder.ts";

/**
 * The sessions that the flags of a server name, and how one of them is opened. What opens them is loaded with the first
 * call: a client waits for the server to start.
 *
 * @throws UsageError
 */
export function sessionSource(args: Arguments, host: Host): SessionSource {
  const help = commandLine(["help", "mcp"]);
  settingsIn(args, help);
  const folder = storePlace(args);
  const signer = openSigner(folder, process.env);
  const opening = async () => (await import("./opening.ts")).openingOf({ args, host, folder });
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

function madeFor({ origin, settings }: SessionRow): string | null {
  return origin === "mcp" ? folderIn(settings) : null;
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
