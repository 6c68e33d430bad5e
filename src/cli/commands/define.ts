import { type Arguments, type Given, givenIn } from "../flags/arguments.ts";
import type { Completion, Flag } from "../flags/flag.ts";
import type { Host } from "../host.ts";

/** A command of `belay`, declared in the file of its name. Help, usage errors, completion and dispatch follow from it. */
export interface Command {
  /** The word that is typed. */
  readonly name: string;
  readonly summary: string;
  /** Further paragraphs of `belay help NAME`. */
  readonly details: readonly string[];
  /** Arguments that it takes beside flags. */
  readonly takes?: {
    /** The words of the usage line, such as `[SESSION]`. */
    readonly usage: string;
    readonly completes: Completion;
  };
  readonly options: readonly Flag[];
  /** A line that runs unchanged, in any folder. */
  readonly example: string;
  /** Gives the exit code. @param commands all that there are */
  run(args: Arguments, host: Host, commands: readonly Command[]): Promise<number>;
}

type FlagGroup = Readonly<Record<string, Flag>>;

interface Declared<Own extends FlagGroup> extends Omit<Command, "options" | "run"> {
  /** Flags of this command alone. Its code gets their values by these names. */
  readonly own: Own;
  /** Flags that other commands have too. */
  readonly shared: readonly Flag[];
  /** Imports the code of the command only when it runs: help and usage errors do not wait for the engine. */
  readonly run: () => Promise<
    (args: Arguments, host: Host, own: Given<Own>, commands: readonly Command[]) => Promise<number>
  >;
}

export function defineCommand<Own extends FlagGroup>({ own, shared, run, ...told }: Declared<Own>): Command {
  return {
    ...told,
    options: [...Object.values(own), ...shared],
    run: async (args, host, commands) => (await run())(args, host, givenIn(args, own), commands),
  };
}
