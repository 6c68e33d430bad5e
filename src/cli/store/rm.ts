import { size } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { inLine } from "../../platform/visible.ts";
import { type Removing, sessionToRemove } from "../../session/index.ts";
import { runStore } from "../batch/run-command.ts";
import type { RmFlags } from "../commands/rm.ts";
import type { Arguments } from "../flags/arguments.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { cancelBatches } from "../session/settings.ts";
import { refuseRun, showingFailures, withStore } from "./opened-store.ts";

/** `belay rm`: drops sessions. If one of the names is wrong it drops none. Gives the exit code. */
export function rmCommand(args: Arguments, host: Host, own: RmFlags): Promise<number> {
  const names = args.positionals;
  if (names.length === 0) throw new UsageError("name a session; belay sessions lists them", commandLine(["sessions"]));
  return showingFailures(args, async ({ stdout, stderr }) => {
    const { place, flags } = runStore(args);
    await withStore(place, host, async (store) => {
      const meant = new Map<string, Removing>();
      for (const name of names) {
        await refuseRun(store, name, flags);
        const session = await sessionToRemove(store, name);
        meant.set(session.id, session);
      }
      for (const session of meant.values()) {
        await store.remove(session.id, own);
        const { id, bytes } = session;
        const removed =
          bytes === null ? `${inLine(id)}, whose row was damaged` : `${displayName(session)} (${size(bytes)})`;
        stdout.write(`removed ${removed}\n`);
      }
      if (own.discard) await cancelBatches(store, { stderr });
    });
  });
}
