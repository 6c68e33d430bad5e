import { RlmError } from "../../index.ts";
import { BadInput, type CountedRun, isLeftToProviders, jobsIn, overIn } from "../../runs/index.ts";
import type { RunRow } from "../../store/index.ts";
import { isServer, shownPlace } from "../../store/store-place.ts";
import type { Arguments } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { storePlace } from "../flags/values.ts";
import { reportFailure } from "../render/failure.ts";
import { processTerminal, type Terminal } from "../render/terminal.ts";
import { type Stop, untilStopped } from "../stop.ts";

/**
 * Does the work of a command about runs, until it is stopped, and reports its failure. Gives the
 * exit code.
 */
export function withRun(
  args: Arguments,
  command: string,
  work: (stop: Stop, terminal: Terminal) => Promise<number>,
): Promise<number> {
  return untilStopped(async (stop) => {
    const terminal = processTerminal(stop.close);
    try {
      return await work(stop, terminal);
    } catch (error) {
      // The reader of stdout has gone, or reading stdin was aborted, which throws an error of its
      // own.
      if (stop.exitCode === 0 || (stop.signal.aborted && !(error instanceof RlmError))) return 1;
      if (error instanceof BadInput) {
        throw new UsageError(error.sentence, error.tryThis ?? commandLine(["help", command]));
      }
      return reportFailure(error, terminal, args.get(OUTPUT_FLAGS.json));
    }
  });
}

/** The store that a command about runs names. */
export interface RunStore {
  /** Folder or URL. */
  readonly place: string;
  /** True for a database that many processes work on. */
  readonly isServer: boolean;
  /** The place as people see it, without a password. */
  readonly shown: string;
  /**
   * `--store …` for a line that `commandLine` makes; empty if it is the usual one, or BELAY_STORE
   * names it.
   */
  readonly flags: readonly string[];
}

export function runStore(args: Pick<Arguments, "get" | "isGiven">): RunStore {
  const place = storePlace(args);
  const flags = args.isGiven(NAMED_FLAGS.store) ? ["--store", place] : [];
  return { place, isServer: isServer(place), shown: shownPlace(place), flags };
}

/** A line of `belay jobs` about the store that was named. */
export function jobsLine({ place }: { readonly place: Pick<RunStore, "flags"> }, ...words: string[]): string {
  return commandLine(["jobs", ...words, ...place.flags]);
}

/**
 * Exit codes of a run: all is done; jobs failed or were cancelled; a person has to act; jobs lack a
 * part; only providers can continue.
 */
export const RUN_EXIT = { done: 0, failed: 1, notOver: 3, incomplete: 3, waits: 4 } as const;

export function runExitCode(
  counted: Pick<CountedRun, "counts" | "waits"> & { readonly run: Pick<RunRow, "state"> },
): number {
  const { counts, run, waits } = counted;
  if (overIn(counts) === jobsIn(counts)) return counts.done < overIn(counts) ? RUN_EXIT.failed : RUN_EXIT.done;
  const haveLeft = isLeftToProviders(counted) && waits.every(({ batch }) => batch !== null);
  return run.state === "open" && haveLeft ? RUN_EXIT.waits : RUN_EXIT.notOver;
}
