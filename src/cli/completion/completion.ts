import { inLine } from "../../platform/visible.ts";
import { listReadableSessions } from "../../session/index.ts";
import type { Command } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { showingFailures, withStore } from "../store/opened-store.ts";
import { completionScript, SHELLS } from "./scripts.ts";

/** `belay completion`: prints what a shell runs to complete lines, or for that the names of sessions. Gives the exit code. */
export async function completionCommand(
  args: Arguments,
  host: Host,
  _own: object,
  commands: readonly Command[],
): Promise<number> {
  const [word, ...more] = args.positionals;
  if (word === SESSIONS && more.length === 0) return names(args, host);
  const shell = SHELLS.find((known) => known === word);
  if (!shell || more.length > 0) {
    const problem = word === undefined ? "name a shell" : `there is no completion for ${[word, ...more].join(" ")}`;
    throw new UsageError(`${problem}: ${SHELLS.join(", ")}`, commandLine(["completion", "bash"]));
  }
  return showingFailures(args, async ({ stdout }) => stdout.writeRaw(completionScript(shell, commands)));
}

/** What the scripts call when the name of a session is to be completed. */
const SESSIONS = "sessions";

function names(args: Arguments, host: Host): Promise<number> {
  return showingFailures(args, async ({ stdout }) => {
    const { sessions } = await withStore(storePlace(args), host, listReadableSessions);
    const named = sessions.flatMap(({ name }) => (name === null ? [] : [name]));
    stdout.write(named.map((name) => `${inLine(name)}\n`).join(""));
  });
}
