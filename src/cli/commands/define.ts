import type { Store } from "../../store/index.ts";
import { type Arguments, type Given, givenIn } from "../flags/arguments.ts";
import type { Completion, Flag } from "../flags/flag.ts";

/** A command of `belay`. Help, usage errors, completion and dispatch follow from it. */
export interface Command extends Words {
  readonly options: readonly Flag[];
  /** Gives the exit code. @param commands all that there are */
  run(args: Arguments, host: Host, commands: readonly Command[]): Promise<number>;
}

/** The texts about a command, for people. */
interface Words {
  /** The word that is typed. */
  readonly name: string;
  readonly summary: string;
  /** Further paragraphs of `belay help NAME`. The short help of a command with many options has the first one alone. */
  readonly details: readonly string[];
  /** Arguments that it takes beside flags. */
  readonly takes?: {
    /** The words of the usage line, such as `[SESSION]`. */
    readonly usage: string;
    readonly completes: Completion;
  };
  /** Lines that run unchanged. The list of commands has the first example. */
  readonly examples: readonly [Example, ...Example[]];
  /** The options that most people need, by their names: a command with many has a short help with these. */
  readonly common?: readonly string[];
}

/** Lines to type, one after the other. */
export interface Example {
  /** Their purpose, if the command has several examples. */
  readonly about?: string;
  /** The words of each line behind `belay`. */
  readonly lines: readonly (readonly string[])[];
}

type FlagGroup = Readonly<Record<string, Flag>>;

/** The words and flags of a command, declared in the file of its name. */
export interface CommandWords<Own extends FlagGroup = FlagGroup> extends Words {
  /** Flags of this command alone. Its code gets their values by these names. */
  readonly own: Own;
  /** Flags that other commands have too. */
  readonly shared: readonly Flag[];
}

/** The code of a command. Gives the exit code. */
type Code<Own> = (args: Arguments, host: Host, own: Given<Own>, commands: readonly Command[]) => Promise<number>;

/**
 * A command from its words and its code.
 *
 * @param load imports the code when the command runs: help and usage errors do not wait for the
 * engine
 */
export function withCode<Own extends FlagGroup>(
  { own, shared, ...words }: CommandWords<Own>,
  load: () => Promise<Code<Own>>,
): Command {
  return {
    ...words,
    options: [...Object.values(own), ...shared],
    run: async (args, host, commands) => (await load())(args, host, givenIn(args, own), commands),
  };
}

/** Parts that a command gets from outside; tests pass a store that they can watch or end. */
export interface Host {
  /**
   * Opens the store in this folder; null: one in memory.
   *
   * @throws RlmError `store_failed` and the like
   */
  openStore(folder: string | null): Promise<Store>;
}

/** The host of the real command. */
export const processHost: Host = {
  async openStore(folder) {
    // Loaded when a store is opened: help and usage errors need none.
    const { openStore } = await import("../../store/index.ts");
    return openStore(folder);
  },
};
