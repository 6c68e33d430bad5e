import { size } from "../../figures.ts";
import { displayName } from "../../ids.ts";
import { removeSession, sessionNamed } from "../../session/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { showingFailures, withStore } from "./opened-store.ts";

/** `belay rm`: drops sessions. If one of the names is wrong it drops none. Gives the exit code. */
export function rmCommand(args: Arguments, host: Host): Promise<number> {
  const names = args.positionals;
  if (names.length === 0) throw new UsageError("name a session; belay sessions lists them", commandLine(["sessions"]));
  return showingFailures(args, async ({ stdout }) => {
    await withStore(storePlace(args), host, async (store) => {
      const ids: string[] = [];
      for (const name of names) ids.push((await sessionNamed(store, name)).id);
      for (const id of new Set(ids)) {
        const removed = await removeSession(store, id);
        stdout.write(`removed ${displayName(removed)} (${size(removed.bytes)})\n`);
      }
    });
  });
}
