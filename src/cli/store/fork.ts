import { ulid } from "ulid";
import { displayName } from "../../platform/ids.ts";
import { typedName } from "../../platform/shell-word.ts";
import { openSigner } from "../../platform/signed-settings.ts";
import { jsonText } from "../../platform/visible.ts";
import { forkSession, sessionNamed } from "../../session/index.ts";
import { runStore } from "../batch/run-command.ts";
import type { ForkFlags } from "../commands/fork.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { commandLine } from "../flags/usage.ts";
import { checkName } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { passedOver } from "../render/failure.ts";
import { checkpointMeant, onlyName, showingFailures, withStore } from "./opened-store.ts";

/** `belay fork`: a new session from a checkpoint of another. Prints its name, or its id. Gives the exit code. */
export function forkCommand(args: Arguments, host: Host, own: ForkFlags): Promise<number> {
  const { name = null } = own;
  const typed = onlyName(args, "fork");
  if (name !== null) checkName("--name", name, commandLine(["help", "fork"]));
  return showingFailures(args, async ({ stdout, stderr }) => {
    const at = Date.now();
    const { place, flags } = runStore(args);
    const made = await withStore(place, host, async (store) => {
      const { session, checkpoint } = await checkpointMeant(store, typed, flags);
      const id = ulid(at);
      const settings = openSigner(place, process.env).forFork(id);
      const forking = { id, name, origin: "command", checkpoint, at, settings } as const;
      const { id: parent } = await sessionNamed(store, session, passedOver(stderr));
      return forkSession(store, parent, forking);
    });
    if (args.get(JSON_OUTPUT)) return stdout.writeRaw(`${jsonText({ success: true, session: made })}\n`);
    stdout.write(`${displayName(made)}\n`);
    const called = typedName(made);
    const next = made.status === "unfinished" ? ["resume", called] : ["exec", "FILE", "--session", called];
    if (stderr.isTerminal) stderr.write(`continue with: ${commandLine([...next, ...flags])}\n`, "dim");
  });
}
