import { type Json, RlmError } from "../../index.ts";
import type { SessionPlace, SessionSource } from "../../mcp/index.ts";
import { openSigner } from "../../platform/signed-settings.ts";
import { openSessionWith, type Session } from "../../session/index.ts";
import type { Store } from "../../store/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { type SessionFlags, sessionFlags } from "../flags/session-flags.ts";
import { UsageError } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { type Output, processTerminal } from "../render/terminal.ts";
import { type Keeping, openKeeping } from "../session/keeping.ts";
import { optionsOf, rowOf } from "../session/kept-settings.ts";
import { checkPrice } from "../session/settings.ts";
import { openStoreIn } from "../store/opened-store.ts";

interface Server {
  readonly args: Arguments;
  readonly host: Host;
  /** The folder of the store. */
  readonly folder: string;
}

/** Opens the store and the sessions of a server. */
export function openingOf({ args, host, folder }: Server): Pick<SessionSource, "openStore" | "open"> {
  const { stderr } = processTerminal(() => {});
  return {
    openStore: () => openStoreIn(folder, host, ""),
    open: async (store, place) => openIn({ flags: await flagsOf(args), store, folder, stderr }, place),
  };
}

/** @throws RlmError `invalid_config` */
function flagsOf(args: Arguments): Promise<SessionFlags> {
  return orInvalid(() => sessionFlags(args, "mcp"));
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
  const keeping = await keepingOf(kept, isOfServer ? null : row, roots);
  checkPrice(keeping.settings.settings);
  const signer = openSigner(kept.folder, process.env);
  const owned = (id: string): Json => signer.sign(rowOf(keeping.settings, { folder }), id);
  const options = { ...optionsOf(keeping.settings), session: row?.id ?? name, onProgress };
  const settings = isOfServer ? owned : keeping.signed;
  const session = await openSessionWith(options, {
    store: kept.store,
    origin: "mcp",
    settings,
    signer,
  });
  try {
    if (session.unfinished()) keeping.checkRecorded();
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** @throws RlmError `invalid_config` */
function keepingOf(kept: Kept, row: SessionPlace["row"], contexts: readonly string[]): Promise<Keeping> {
  return orInvalid(() =>
    openKeeping({ kept, row, isTakenUp: false, looksOnly: false }, { ...kept.flags, contexts }, kept.stderr),
  );
}

/** A client's model is told what is wrong with the arguments of its server. @throws RlmError `invalid_config` */
async function orInvalid<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const suggestion = `Correct the arguments of this server, such as: ${error.tryThis}`;
    throw new RlmError("invalid_config", error.message, { suggestion });
  }
}
