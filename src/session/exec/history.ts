import { hasCode, type Json } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { keepContext, storedContext } from "../contexts/contexts.ts";
import { touchedIn } from "../journal/coverage.ts";
import type { Start } from "../journal/records.ts";
import type { GivenHistory } from "../machine/context-message.ts";
import type { Work } from "./work.ts";

/** The conversation in which an exec runs. It stays the same until the exec has ended. */
export interface ExecHistory {
  /** `null` if there is none. */
  readonly given: GivenHistory | null;
  /** `null` if there is none, or if it is lost. */
  readonly context: Context | null;
  /**
   * Keeps the conversation once a cell has touched it: from then on the store has the text. Call it before each commit.
   * @param kept what the machine has kept of the exec
   */
  keep(kept: Json | undefined): Promise<void>;
}

/**
 * @param now the conversation as its host has it: for an exec that is resumed, made again up to its start
 * @param start of an exec that is resumed: its conversation is that of the same hash, this one or that in the store
 */
export async function openHistory(
  { setup: { env, space } }: Pick<Work, "setup">,
  now: Context | null,
  start: Start | null,
): Promise<ExecHistory> {
  const given = start === null ? now : await formerHistory(start.history_hash ?? null);
  const context = given && "lost" in given ? null : given;
  let isKept = false;

  async function formerHistory(hash: string | null): Promise<GivenHistory | null> {
    if (hash === null) return null;
    if (now?.hash === hash) return now;
    return storedContext(env.store, hash).catch((error: unknown) => {
      if (!hasCode(error, "context_lost")) throw error;
      return { lost: `${error.message}, and the one that is here now is another` };
    });
  }

  return {
    given,
    context,
    async keep(kept) {
      if (isKept || !context || touchedIn(kept) === null) return;
      await keepContext(env.store, context, space);
      isKept = true;
    },
  };
}
