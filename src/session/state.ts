import type { Context } from "../context/index.ts";
import type { Account, CellSource } from "./journal/account.ts";

/** The state from which an exec starts, and the state that it leaves. */
export interface SessionState {
  /** The account of the journal, up to the last commit. */
  readonly account: Account;
  readonly context: Context | null;
}

/** The place at which a machine opens: a session's state between execs. */
export interface Position {
  /** The checkpoint of an exec's end; `null` for a fresh guest. */
  readonly checkpoint: string | null;
  readonly context: Context | null;
  readonly sources: readonly CellSource[];
  /** Packed ranges of the context that its cells were given. */
  readonly given: readonly string[];
}

/** The position at which the machine of the next exec opens. */
export function positionOf({ account, context }: SessionState): Position {
  return { checkpoint: account.checkpoint, context, sources: account.sources, given: account.given };
}
