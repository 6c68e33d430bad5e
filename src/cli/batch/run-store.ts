import { RlmError } from "../../index.ts";
import { isServer, shownPlace } from "../../platform/store-place.ts";
import { openInProcess, openPgBoss } from "../../runs/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT, STORE } from "../flags/declared.ts";
import { storePlace } from "../flags/values.ts";
import { reportFailure } from "../render/failure.ts";
import { processTerminal, type Terminal } from "../render/terminal.ts";
import { type Stop, untilStopped } from "../stop.ts";

/** Does the work of a command about runs, until it is stopped, and reports its failure. Gives the exit code. */
export function withRun(args: Arguments, work: (stop: Stop, terminal: Terminal) => Promise<number>): Promise<number> {
  return untilStopped(async (stop) => {
    const terminal = processTerminal(stop.close);
    try {
      return await work(stop, terminal);
    } catch (error) {
      // The reader of stdout has gone, or reading stdin was aborted, which throws an error of its own.
      if (stop.exitCode === 0 || (stop.signal.aborted && !(error instanceof RlmError))) return 1;
      return reportFailure(error, terminal, args.get(JSON_OUTPUT));
    }
  });
}

export type RunStore = ReturnType<typeof runStore>;

/**
 * The store that a command about runs names: a folder or a URL, and that as people see it, without a password. A server is a
 * database that many processes work on.
 */
export function runStore(args: Pick<Arguments, "get" | "isGiven">) {
  const place = storePlace(args);
  /** `--store …` for a line that `commandLine` makes; nothing if it is the usual one, or BELAY_STORE names it. */
  const flags: readonly string[] = args.isGiven(STORE) ? ["--store", place] : [];
  return { place, isServer: isServer(place), shown: shownPlace(place), flags };
}

/**
 * In a folder this process hands out the tickets; on a server pg-boss does.
 *
 * @param log told what the queue complains of, for people
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function openDispatcher({ place, isServer }: RunStore, queue: string, log: (text: string) => void) {
  return isServer ? openPgBoss({ url: place, queue, log }) : openInProcess();
}
