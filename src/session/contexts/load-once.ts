import { excerptRequest } from "../exec/request.ts";
import { runExec } from "../exec/run-exec.ts";
import { interruptedIn } from "../journal/account.ts";
import type { Setup } from "../setup.ts";
import type { ExcerptInput } from "./excerpts.ts";

/** Loads the context of a child, unless it is loaded. A load that was interrupted is done again. */
export async function loadOnce({ parts, state, loading }: Setup, input: ExcerptInput): Promise<void> {
  const before = state();
  if (before.context) return;
  try {
    await runExec(parts, before, excerptRequest(input, loading), {}, interruptedIn(before.account));
  } catch (error) {
    await parts.guest[Symbol.asyncDispose]();
    throw error;
  }
}
