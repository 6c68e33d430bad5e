import { homedir } from "node:os";
import { loadAsks } from "../../asks.ts";
import { type Json, RlmError } from "../../index.ts";
import type { SessionPlace, SessionSource } from "../../mcp/index.ts";
import { checkSessionName, LAST_SESSION, openSessionWith, type Session } from "../../session/index.ts";
import { openSigner } from "../../signed-settings.ts";
import type { Store } from "../../store/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { ROOT } from "../flags/declared.ts";
import { type SessionFlags, sessionFlags, storeFolder } from "../flags/session-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { type Output, processTerminal } from "../render/terminal.ts";
import { type Keeping, openKeeping } from "../session/keeping.ts";
import { optionsOf, rowOf } from "../session/kept-settings.ts";
import { checkPrice } from "../session/settings.ts";
import { openStoreIn } from "../store/opened-store.ts";

/** The sessions that the flags of a server name, and how one of them is opened. @throws UsageError */
export function sessionSource(args: Arguments, host: Host): SessionSource {
  const flags = sessionFlags(args, "mcp");
  const folder = storeFolder(args);
  const signer = openSigner(folder, process.env);
  const { stderr } = processTerminal(() => {});
  return {
    named: chosenName(flags),
    roots: args.get(ROOT),
    cwd: process.cwd(),
    home: homedir(),
    openStore: () => openStoreIn(folder, host, ""),
    open: (store, place) => openIn({ flags, store, folder, stderr }, place),
    folderOf(row) {
      if (row.origin !== "mcp" || signer.doubt(row.settings, row.id) !== null) return null;
      return folderIn(row.settings);
    },
  };
}

/** @throws UsageError for a name that a session cannot have */
function chosenName({ session }: SessionFlags): string | null {
  const help = commandLine(["help", "mcp"]);
  if (session === LAST_SESSION) throw new UsageError(`--session: a server needs a name, and not ${session}`, help);
  const variable = process.env.BELAY_SESSION;
  if (session !== null || !variable) return session;
  try {
    checkSessionName(variable);
  } catch (error) {
    throw error instanceof RlmError ? new UsageError(`BELAY_SESSION: ${error.message}`, help) : error;
  }
  return variable;
}

interface Kept {
  readonly flags: SessionFlags;
  readonly store: Store;
  readonly folder: string;
  readonly stderr: Output;
}

/**
 * Opens a session with the settings of this server: a client's entry says what holds, not what an earlier one recorded.
 * For a session that the command or a program made, what the user began it with holds too.
 */
async function openIn(kept: Kept, { row, name, folder, roots, onProgress }: SessionPlace): Promise<Session> {
  const isOfServer = row === null || row.origin === "mcp";
  const keeping = keepingOf(kept, isOfServer ? null : row, roots);
  checkPrice(keeping.settings.settings);
  const signer = openSigner(kept.folder, process.env);
  const owned = (id: string): Json => signer.sign(withFolder(rowOf(keeping.settings), folder), id);
  const options = { ...optionsOf(keeping.settings), session: row?.id ?? name, onProgress };
  const settings = isOfServer ? owned : keeping.signed;
  const session = await openSessionWith(options, { asks: loadAsks, store: kept.store, origin: "mcp", settings });
  try {
    if (session.unfinished()) keeping.checkRecorded();
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** @throws RlmError `invalid_config` */
function keepingOf(kept: Kept, row: SessionPlace["row"], contexts: readonly string[]): Keeping {
  try {
    return openKeeping({ kept, row, isTakenUp: false, looksOnly: false }, { ...kept.flags, contexts }, kept.stderr);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const suggestion = `Correct the arguments of this server, such as: ${error.tryThis}`;
    throw new RlmError("invalid_config", error.message, { suggestion });
  }
}

function withFolder(settings: Json, folder: string): Json {
  return { ...JSON.parse(JSON.stringify(settings)), folder };
}

function folderIn(settings: Json): string | null {
  const folder: unknown = typeof settings === "object" && settings !== null ? Reflect.get(settings, "folder") : null;
  return typeof folder === "string" ? folder : null;
}
