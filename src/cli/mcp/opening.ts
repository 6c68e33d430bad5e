import { ulid } from "ulid";
import { type Json, RlmError } from "../../index.ts";
import type { SessionSource } from "../../mcp/index.ts";
import { openSessionWith } from "../../session/index.ts";
import { SETTINGS } from "../../settings/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import { UsageError } from "../flags/usage.ts";
import { processTerminal } from "../render/terminal.ts";
import { openKeeping } from "../session/keeping.ts";
import { optionsOf, rowOf } from "../session/recorded-settings.ts";
import { hasUnfinishedWork } from "../session/session.ts";
import { checkPrice, readSettings } from "../session/settings.ts";
import { openSendingStore } from "../store/open-store.ts";

/**
 * Opens the store and the sessions of a server. A session has the settings of this server: a
 * client's entry says what holds, not what an earlier one recorded. For a session that the command
 * or a program made, what the user began it with holds too.
 *
 * @param place of the store
 */
export function openingOf(args: Arguments, host: Host, place: string): Pick<SessionSource, "openStore" | "open"> {
  const { stderr } = processTerminal(() => {});
  const signer = openSigner(place, process.env);
  return {
    async openStore() {
      const { otlp } = await orInvalid(async () => readSettings(sessionFlags(args, "mcp")));
      const say = (line: string) => stderr.line(`belay mcp: ${line}`);
      return openSendingStore(place, host, { otlp, say });
    },
    async open(store, { row, name, folder, roots, onProgress, client }) {
      const isOfServer = row === null || row.origin === "mcp";
      const kept = { store, folder: place };
      const isTakenUp = row !== null && !isOfServer && hasUnfinishedWork(row);
      const recorded = { kept, row: isOfServer ? null : row, isTakenUp, looksOnly: false };
      const keeping = await orInvalid(() =>
        openKeeping(recorded, { ...sessionFlags(args, "mcp"), contexts: roots }, stderr),
      );
      checkPrice(keeping.settings.settings);
      const { max_session_budgets: most = SETTINGS.max_session_budgets.default } = keeping.settings.settings;
      // Each call of the client is a question of its own.
      const questions = { id: () => ulid(), most };
      const own = { folder, ...(client === null ? {} : { client }) };
      const owned = (id: string): Json => signer.sign(rowOf({ first: keeping.settings, newest: null }, own), id);
      const session = await openSessionWith(
        { ...optionsOf(keeping.settings), delivery: "now", session: row?.id ?? name, onProgress },
        { store, origin: "mcp", settings: isOfServer ? owned : keeping.signed, signer, questions },
      );
      try {
        if (session.unfinished()) keeping.checkRecorded();
        await keeping.accept(session.id);
        return session;
      } catch (error) {
        await session.close();
        throw error;
      }
    },
  };
}

/**
 * A client's model is told what is wrong with the arguments of its server.
 *
 * @throws RlmError `invalid_config`
 */
async function orInvalid<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const suggestion = "Ask the user to correct the arguments of this server.";
    throw new RlmError("invalid_config", error.message, { suggestion });
  }
}
