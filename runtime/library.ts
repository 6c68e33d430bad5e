import type { ExecLimits } from "./limits.ts";
import type { GuestModule } from "./prelude.ts";
import type { Ended, GivenAnswer, Json } from "./protocol.ts";

/** The exec as a host function sees it. */
export interface CallScope {
  readonly limits: ExecLimits;
  readonly facts: Json;
  /** Adds a warning to the exec's envelope, once. It begins with its code. */
  warn(text: string): void;
  /** Keeps what the cell answers with its state; the last call counts. */
  answer(given: GivenAnswer): void;
  /**
   * Runs work whose time is not guest running time: copying P into the guest, counting its lines,
   * indexing a large one. `checkTime` still ends it if the exec is cancelled.
   */
  offClock<T>(work: () => T): T;
  /**
   * To be called between the steps of long work.
   *
   * @throws RlmError if the exec's time has run out or it was cancelled
   */
  checkTime(): void;
  /** Tells the waiting person what is going on. It is not part of the exec's record. */
  notice(text: string): void;
  /** Checks a helper's source. @throws RlmError, a SyntaxError for the guest */
  checkHelper(name: string, source: string): void;
  /** The number that the calls of this slice count as. They are not sent yet. */
  newCalls(): number;
  /** The number of those that are named `family.…`. */
  newCallsOf(family: string): number;
  /** Wall time since this slice of the exec began, ms. */
  sliceMs(): number;
  /**
   * The guest gives up the text of this name. If it keeps the bytes all the same, they count as its
   * own again.
   */
  releaseText(name: string): void;
}

/** The end of an exec, with the facts of the host. */
export interface LibraryOver extends Pick<Ended, "end" | "state"> {
  readonly facts: Json;
}

/**
 * The contents that a machine puts into its guest: functions that cells call by name. It lives in
 * the machine's thread. A function may throw `RlmError`, which the guest sees as an error of class
 * `guestName` with `code`; anything else is a fault of the host.
 */
export interface Library<Message = never> {
  /**
   * Functions that answer at once. They must be read-only or idempotent: a slice that died is run
   * again from its checkpoint.
   */
  readonly sync: Readonly<Record<string, (args: readonly Json[], scope: CallScope) => Json>>;
  /**
   * Functions that the host answers later. `check` looks at the arguments at call time, and returns
   * as how many calls this one counts. If `installed` is set, cells call the function by its name;
   * otherwise only guest modules call it. A call `family.member` is looked at by that of its
   * family.
   */
  readonly async: Readonly<
    Record<
      string,
      { readonly installed: boolean; check(args: readonly Json[], scope: CallScope, name: string): number }
    >
  >;
  /**
   * Texts that the guest takes whole. What they take in its heap is granted in addition to its own
   * limit.
   */
  readonly texts: Readonly<Record<string, LibraryText>>;
  /** UTF-8 that cells take figures from, by its name for a reader. @param facts of the exec */
  sources(facts: Json): readonly (readonly [name: string, utf8: Uint8Array])[];
  readonly modules: readonly GuestModule[];
  /** Every name that cells may neither declare nor assign. */
  readonly reserved: ReadonlySet<string>;
  /**
   * Names of builtins that a cell or helper may take for itself. The guest then says so to
   * `builtins.shadowed`.
   */
  readonly younger: ReadonlySet<string>;
  /**
   * Names of guest commands: `list` gives the preamble, the scripts to run before each cell, as
   * `[{ name, code }]`, with `aside` if one is left out; `setAside` leaves one out from now on,
   * `{ name, why }`.
   */
  readonly preamble: { readonly list: string; readonly setAside: string };
  /** Names the guest command that is run when a cell begins, before its helpers; null: none. */
  readonly beginning: () => string | null;
  /**
   * The library's state of an exec. `kept` is asked for when the guest has come to rest: to wait
   * for calls, with null, or because the exec has ended. `resume` gets what was kept when the image
   * was captured; null if that is nothing.
   */
  readonly exec?: { begin(): void; resume(kept: Json): void; kept(over: LibraryOver | null): Json };
  /**
   * Receives a message from the host for the library alone, such as a new context. Returns a guest
   * command to run, if any.
   */
  receive(message: Message): { command: string } | undefined;
  /** Called when the machine is gone: the library releases what it holds for the machine. */
  close?(): void;
}

/** A library as the machine uses it: messages from the host go to the library alone. */
export type GuestLibrary = Omit<Library, "receive">;

/** A text that images leave out: it is written back when one is opened. */
export interface LibraryText {
  /** Identifies the text: for P it is the hash of the context. null if there is no text. */
  id(): string | null;
  /** @throws RlmError if there is no text */
  read(): {
    /** Valid. */
    readonly utf8: Uint8Array;
    /** UTF-16 units. */
    readonly length: number;
  };
}
