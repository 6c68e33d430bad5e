import { excerptRequest } from "../exec/request.ts";
import { runExec } from "../exec/run-exec.ts";
import { interruptedIn } from "../journal/account.ts";
import type { Setup } from "../setup.ts";
import type { ExcerptInput } from "./excerpts.ts";

/** Loads the context of a child, unless it is loaded. A load that was interrupted is done again. */
export async function loadOnce(setup: Setup, input: ExcerptInput): Promise<void> {
  const { account, context } = setup.state();
  if (context) return;
  try {
    await runExec(setup, excerptRequest(input, setup.loading), {}, interruptedIn(account));
  } catch (error) {
    await setup.guest[Symbol.asyncDispose]();
    throw error;
  }
}
