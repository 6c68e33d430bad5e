import type { WorkProgress } from "../../jobs/index.ts";
import { inLine } from "../../platform/visible.ts";
import type { ProgressClock } from "../render/progress.ts";
import type { Output } from "../render/terminal.ts";
import { inFlags } from "../render/wording.ts";
import { ELSEWHERE } from "./run-progress.ts";

/** What a worker has done, said on stderr: a line that is rewritten, or elsewhere one now and then. */
export interface Tally {
  told(progress: WorkProgress): void;
  /** A sentence, which stays. */
  say(text: string): void;
  /** Whether a job runs here. */
  isBusy(): boolean;
  end(): void;
}

export function openTally(output: Output, clock: ProgressClock, isQuiet: boolean): Tally {
  const running = new Set<string>();
  const over = { done: 0, failed: 0, cancelled: 0 };
  let givenBack = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
  let callOff: (() => void) | null = null;
  let onLine = false;

  const text = () =>
    [
      `${running.size} running`,
      `${over.done} done`,
      ...(over.failed > 0 ? [`${over.failed} failed`] : []),
      ...(over.cancelled > 0 ? [`${over.cancelled} cancelled`] : []),
      ...(givenBack > 0 ? [`${givenBack} given back`] : []),
    ].join(" · ");

  function clear(): void {
    if (onLine) output.writeRaw("\r\x1b[K");
    onLine = false;
  }

  function show(): void {
    if (isQuiet) return;
    if (output.isTerminal) {
      clear();
      output.write(text().slice(0, output.columns - 1), "dim");
      onLine = true;
      return;
    }
    // What changes before the next line's time is told then: a log does not end with what is no longer true.
    callOff ??= clock.every(Math.max(0, saidAt + ELSEWHERE.step - clock.now()), tell);
  }

  function tell(): void {
    dropLine();
    saidAt = clock.now();
    output.write(`${text()}\n`);
  }

  function dropLine(): void {
    callOff?.();
    callOff = null;
  }

  function say(sentence: string): void {
    if (isQuiet) return;
    clear();
    output.write(`${inLine(sentence)}\n`);
  }

  return {
    say,
    isBusy: () => running.size > 0,
    told(progress) {
      if (progress.kind === "said" || progress.kind === "paused") return say(inFlags(progress.text));
      if (progress.kind === "calls") return;
      const key = `${progress.key.run}/${progress.key.n}`;
      if (progress.kind === "begun") running.add(key);
      else {
        running.delete(key);
        const { state } = progress;
        if (state === "done" || state === "failed" || state === "cancelled") over[state] += 1;
        else givenBack += 1;
      }
      show();
    },
    end() {
      clear();
      dropLine();
      if (!isQuiet) output.write(`${text()}\n`);
    },
  };
}
