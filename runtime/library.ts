import type { ExecLimits } from "./limits.ts";
import type { GuestModule } from "./prelude.ts";
import type { Json } from "./protocol.ts";

/** What a host function learns of the exec that calls it. */
export interface CallScope {
  readonly limits: ExecLimits;
  readonly facts: Json;
  /** Adds a warning to the exec's envelope, once. It begins with its code. */
  warn(text: string): void;
  /** Runs work whose time is not guest running time (first use: building an index, copying P into the guest). */
  offClock<T>(work: () => T): T;
  /** Tells the person who waits what is going on; not part of the exec's record. */
  notice(text: string): void;
  /** Checks a helper's source. @throws RlmError, a SyntaxError for the guest */
  checkHelper(name: string, source: string): void;
  /** Calls that the guest has made in this slice and that are not sent yet. */
  newCalls(): number;
  /** Wall time since this slice of the exec began, ms. */
  sliceMs(): number;
  /** The guest gives up the text of this name: its bytes count as the guest's own again where it kept them. */
  releaseText(name: string): void;
}

/** A text that images leave out: it is written back when one is opened. */
export interface LibraryText {
  /** Another text has another id: for P the hash of the context. null where there is none. */
  id(): string | null;
  /** @throws RlmError where there is none */
  read(): {
    /** Valid. */
    readonly utf8: Uint8Array;
    /** UTF-16 units. */
    readonly length: number;
  };
}

/**
 * What a machine puts into its guest: functions that cells call by name. Lives in the worker. A function may throw
 * `RlmError`, which the guest sees as an error of class `guestName` with `code`; anything else is a fault of ours.
 */
export interface Library<Message = never> {
  /** Answer at once. Read-only or idempotent: a slice that died is run again from its checkpoint. */
  readonly sync: Readonly<Record<string, (args: readonly Json[], scope: CallScope) => Json>>;
  /**
   * Answered by the host, later: `check` looks at the arguments at call time. `installed`: cells call it by its name;
   * else only guest modules do.
   */
  readonly async: Readonly<
    Record<string, { readonly installed: boolean; check(args: readonly Json[], scope: CallScope): void }>
  >;
  /** Texts that the guest takes whole. What they take in its heap comes on top of its own limit. */
  readonly texts: Readonly<Record<string, LibraryText>>;
  readonly modules: readonly GuestModule[];
  /** Every name that cells may neither declare nor assign. */
  readonly reserved: ReadonlySet<string>;
  /** Names of builtins that a cell or helper may take for itself. The guest then says so to `builtins.shadowed`. */
  readonly younger: ReadonlySet<string>;
  /**
   * Names of guest commands: `list` gives the preamble, the scripts to run before each cell, as `[{ name, code }]`, with `aside`
   * where one is left out; `setAside` leaves one out from now on, `{ name, why }`.
   */
  readonly preamble?: { readonly list: string; readonly setAside: string };
  /** A message from the host for the library alone (a new context). Answers a guest command to run, if any. */
  receive(message: Message): { command: string } | undefined;
  /** The machine is gone: the library lets go of what it holds for it. */
  close?(): void;
}

/** A library as the machine uses it: messages from the host go to the library alone. */
export type GuestLibrary = Omit<Library, "receive">;
