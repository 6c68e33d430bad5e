import type { Clock } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import type { PiContext } from "../host.ts";
import type { StateBoard } from "../runs/board.ts";
import { harmless } from "../view/texts.ts";
import { settledOrAborted, settledWithin } from "../waiting.ts";

interface BackgroundParts {
  readonly board: StateBoard;
  readonly clock: Clock;
  context(): PiContext;
  /** Pi has left the session: failures are no longer told. */
  isSuspended(): boolean;
  /** Time that a prompt waits, s. */
  promptWait(): Promise<number>;
}

/** Recovery while Pi goes on: calls of tools wait for it, and prompts do so for a time. */
export function openBackgroundRecovery(parts: BackgroundParts) {
  let current: Promise<void> | undefined;
  let holdsPrompt = false;
  return {
    isRunning: () => current !== undefined,
    /** A prompt is kept back. */
    holdsPrompt: () => holdsPrompt,
    /** Starts it for the branch on which Pi stands. The user is told if it fails. */
    begin(recover: () => Promise<void>): void {
      const { ui } = parts.context();
      const work = recover()
        .catch((error: unknown) => {
          if (parts.isSuspended()) return;
          ui.notify(harmless(`RLM: ${messageOf(error)}`), "error");
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
      const { ui } = parts.context();
      const seconds = await parts.promptWait();
      if (parts.board.current().running) {
        ui.notify(`An interrupted call is being finished; the prompt waits for it, ${seconds} s at the most`, "info");
      }
      holdsPrompt = true;
      const isOver = await settledWithin(current, seconds * 1000, parts.clock);
      holdsPrompt = false;
      if (isOver) return;
      ui.notify("The interrupted call is not finished yet; the prompt goes out without its result", "warning");
    },
  };
}
