import type { WorkProgress } from "../../jobs/index.ts";
import { processClock } from "../render/progress.ts";
import type { Output } from "../render/terminal.ts";

/** What a worker has done, said on stderr: a line that is rewritten, or elsewhere one now and then. */
export interface Tally {
  told(progress: WorkProgress): void;
  /** A sentence, which stays. */
  say(text: string): void;
  /** Whether a job runs here. */
  isBusy(): boolean;
  end(): void;
}

const ELSEWHERE_MS = 30_000;

export function openTally(output: Output, isQuiet: boolean): Tally {
  const running = new Set<string>();
  const over = { done: 0, failed: 0, cancelled: 0 };
  let givenBack = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
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
    if (processClock.now() - saidAt < ELSEWHERE_MS) return;
    saidAt = processClock.now();
    output.write(`${text()}\n`);
  }

  function say(sentence: string): void {
    if (isQuiet) return;
    clear();
    output.write(`${sentence}\n`);
  }

  return {
    say,
    isBusy: () => running.size > 0,
    told(progress) {
      if (progress.kind === "said") return say(progress.text);
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
      if (!isQuiet) output.write(`${text()}\n`);
    },
  };
}
