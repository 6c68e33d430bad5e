import { type Json, RlmError } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { keepContext, storedContext } from "../contexts/contexts.ts";
import { touchedIn } from "../journal/coverage.ts";
import type { Start } from "../journal/records.ts";
import type { GivenHistory } from "../machine/context-message.ts";
import type { Work } from "./work.ts";

export type ExecHistory = Awaited<ReturnType<typeof openHistory>>;

/**
 * Opens the conversation in which an exec runs. It stays the same until the exec is over.
 *
 * @param now the conversation as its host has it: for an exec that is resumed, made again up to its start
 * @param start of an exec that is resumed: its conversation is that of the same hash, this one or that in the store
 */
export async function openHistory(
  { setup: { env, space } }: Pick<Work, "setup">,
  now: Context | null,
  start: Start | null,
) {
  const given = start === null ? now : await formerHistory(start.history_hash ?? null);
  const context = given && "lost" in given ? null : given;
  let isKept = false;

  async function formerHistory(hash: string | null): Promise<GivenHistory | null> {
    if (hash === null) return null;
    if (now?.hash === hash) return now;
    return storedContext(env.store, hash).catch((error: unknown) => {
      if (!(error instanceof RlmError) || error.code !== "context_lost") throw error;
      return { lost: `${error.message}, and the one that is here now is another` };
    });
  }

  return {
    /** null: there is none. */
    given,
    /** null: there is none, or it is lost. */
    context,
    /** To be called before a commit, with what the machine has kept: from the first touch on the store has the text. */
    async keep(kept: Json | undefined): Promise<void> {
      if (isKept || !context || touchedIn(kept) === null) return;
      await keepContext(env.store, context, space);
      isKept = true;
    },
  };
}
