import { RlmError } from "../index.ts";
import type { Arguments } from "./arguments.ts";
import { failureJson, showFailure } from "./show.ts";
import { processTerminal, type Terminal } from "./terminal.ts";

/** Runs a command that only deals with the store. Gives the exit code: 1 where it failed, which is then reported. */
export async function showingFailures(args: Arguments, work: (terminal: Terminal) => Promise<void>): Promise<number> {
  let closed: number | undefined;
  const terminal = processTerminal((exitCode) => {
    closed = exitCode;
  });
  try {
    await work(terminal);
    return closed ?? 0;
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    if (args.has("json")) terminal.stdout.writeRaw(`${failureJson(error, null)}\n`);
    else showFailure(error, terminal);
    return 1;
  }
}
