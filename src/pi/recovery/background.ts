import { messageOf } from "../../platform/errors.ts";
import { PI_DEFAULTS } from "../../settings/index.ts";
import type { OnBranch } from "../on-branch.ts";
import { harmless } from "../view/texts.ts";
import { settledOrAborted, settledWithin } from "../waiting.ts";

/** Recovery while Pi goes on: calls of tools wait for it, and prompts do so for a time. */
export function openBackgroundRecovery({ board, clock, context, opened, runs }: OnBranch) {
  let current: Promise<void> | undefined;
  let holdsPrompt = false;
  return {
    isRunning: () => current !== undefined,
    /** A prompt is kept back. */
    holdsPrompt: () => holdsPrompt,
    /** Starts it for the branch on which Pi stands. The user is told if it fails. */
    begin(recover: () => Promise<void>): void {
      const { ui } = context();
      const work = recover()
        .catch((error: unknown) => {
          // Once Pi has left the session, failures are no longer told.
          if (!runs.hasLeft()) ui.notify(harmless(`RLM: ${messageOf(error)}`), "error");
        })
        .finally(() => {
          if (current === work) current = undefined;
        });
      current = work;
    },
    /** Resolves when it is over, if it runs, or when the signal aborts. */
    async overOrAborted(signal: AbortSignal | undefined): Promise<void> {
      if (current) await settledOrAborted(current, signal);
    },
    /** Keeps a prompt back until it is over, or until the prompt has waited long enough. */
    async holdPrompt(): Promise<void> {
      if (!current) return;
      const { ui } = context();
      const seconds = (await opened().catch(() => null))?.settings.prompt_wait_s ?? PI_DEFAULTS.prompt_wait_s;
      if (board.current().running) {
        ui.notify(`An interrupted call is being finished; the prompt waits for it, ${seconds} s at the most`, "info");
      }
      holdsPrompt = true;
      const isOver = await settledWithin(current, seconds * 1000, clock);
      holdsPrompt = false;
      if (isOver) return;
      ui.notify("The interrupted call is not finished yet; the prompt goes out without its result", "warning");
    },
  };
}
