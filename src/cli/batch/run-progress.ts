import type { RlmError } from "../../index.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import type { ProgressClock } from "../render/progress.ts";
import type { Output } from "../render/terminal.ts";
import { openSpeed, progressText, type Standing, standingJson } from "./run-state.ts";

/** Says on stderr how a run goes. */
export interface RunProgress {
  show(now: Standing): void;
  /** A sentence, which stays. */
  say(text: string): void;
  unreachable(error: RlmError, ms: number): void;
  /** Takes the line away. */
  clear(): void;
}

/** Where a line cannot be rewritten: when the first one is said, and how far apart the others are, ms. */
export const ELSEWHERE = { first: 3000, step: 10_000 };
const MINUTE_MS = 60_000;

/** On a terminal a line that is rewritten, elsewhere one now and then. @param as `json`: each is an object */
export function openRunProgress(output: Output, clock: ProgressClock, as: "text" | "json" | "quiet"): RunProgress {
  const speedOf = openSpeed();
  let nextAt = clock.now() + ELSEWHERE.first;
  let complainedAt = Number.NEGATIVE_INFINITY;
  let onLine = false;
  const isRewritten = output.isTerminal && as === "text";

  function clear(): void {
    if (onLine) output.writeRaw("\r\x1b[K");
    onLine = false;
  }

  function say(text: string): void {
    if (as === "quiet") return;
    clear();
    if (as === "json") output.writeRaw(`${jsonText({ kind: "said", text })}\n`);
    else output.write(`${inLine(text)}\n`);
  }

  return {
    clear,
    say,
    show(now) {
      const speed = speedOf(now);
      if (as === "quiet") return;
      if (isRewritten) {
        clear();
        output.write(inLine(progressText(now, speed)).slice(0, output.columns - 1), "dim");
        onLine = true;
        return;
      }
      if (now.at < nextAt) return;
      nextAt = now.at + ELSEWHERE.step;
      if (as === "text") output.write(`${inLine(progressText(now, speed))}\n`);
      else output.writeRaw(`${jsonText({ kind: "progress", ...standingJson(now), ...jsonOf(speed) })}\n`);
    },
    unreachable(error, ms) {
      if (clock.now() - complainedAt < MINUTE_MS) return;
      complainedAt = clock.now();
      say(
        `the store does not answer since ${Math.round(ms / 1000)} s: ${error.message}; nothing is sent until it does`,
      );
    },
  };
}

const jsonOf = ({ callsPerSecond, leftMs }: ReturnType<ReturnType<typeof openSpeed>>) => ({
  calls_per_second: callsPerSecond,
  left_ms: leftMs,
});
