import type { Context } from "../../context/index.ts";
import type { Account } from "../journal/account.ts";
import type { Position } from "../machine/machines.ts";

/** The state from which an exec starts, and the state that it leaves. */
export interface SessionState {
  /** The account of the journal, up to the last commit. */
  readonly account: Account;
  readonly context: Context | null;
}

/** The position at which the machine of the next exec opens. */
export function positionOf({ account, context }: SessionState): Position {
  return { checkpoint: account.checkpoint, context, sources: account.sources, given: account.given };
}
