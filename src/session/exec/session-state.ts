import type { Context } from "../../context/index.ts";
import type { Account } from "../journal/account.ts";
import type { Position } from "../machine/machines.ts";

/** What an exec starts from, and what it leaves. */
export interface SessionState {
  /** What the journal says, up to the last commit. */
  readonly account: Account;
  readonly context: Context | null;
}

/** The position at which the machine of the next exec opens. */
export function positionOf({ account, context }: SessionState): Position {
  return { checkpoint: account.checkpoint, context, sources: account.sources };
}
