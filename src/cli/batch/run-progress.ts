import type { RlmError } from "../../index.ts";
import { bar } from "../../platform/figures.ts";
import type { WorkProgress } from "../../runs/index.ts";
import { foremost, type Wait, waitText } from "../../session/index.ts";
import { openStatusLine, type Pace, type StatusClock } from "../render/status-line.ts";
import type { Output } from "../render/terminal.ts";
import { inFlags } from "../render/wording.ts";
import { jobsIn, openSpeed, overIn, progressText, type RunState, runStateJson } from "./run-state.ts";

/** Elsewhere than on a terminal, a line now and then. */
const IN_LOGS: Pace = { first: 3000, step: 10_000 };
const MINUTE_MS = 60_000;

/** Progress of a run, on stderr. @param as `json`: each line is an object */
export function openRunProgress(output: Output, clock: StatusClock, as: "text" | "json" | "quiet") {
  const { show, say, clear } = openStatusLine(output, clock, { as, elsewhere: IN_LOGS });
  const speedOf = openSpeed();
  let complainedAt = Number.NEGATIVE_INFINITY;
  const waits = openJobWaits();
  return {
    /** Jobs of this process wait, or no longer do. */
    waits: waits.report,
    /** Takes the line away. */
    clear,
    /** A sentence, which stays. */
    say,
    show(now: RunState): void {
      const speed = speedOf(now);
      const { callsPerSecond: calls_per_second, leftMs: left_ms } = speed;
      const wait = waits.foremost();
      const text = [...(wait ? [waitText(wait)] : []), progressText(now, speed)].join(" · ");
      const isRewritten = output.isTerminal && as === "text";
      const shown = isRewritten ? `${bar(overIn(now.counts), jobsIn(now.counts))} ${text}` : text;
      const waiting = wait ? { waiting: wait } : {};
      show(shown, { kind: "progress", ...runStateJson(now), calls_per_second, left_ms, ...waiting });
    },
    unreachable(error: RlmError, ms: number): void {
      if (clock.now() - complainedAt < MINUTE_MS) return;
      complainedAt = clock.now();
      const since = `since ${Math.round(ms / 1000)} s`;
      say(`the store does not answer ${since}: ${error.message}; nothing is sent until it does`);
    },
  };
}

/** Waits of the calls of jobs, by the job. */
function openJobWaits() {
  const waits = new Map<number, Wait>();
  return {
    report({ key, wait }: Extract<WorkProgress, { kind: "waiting" }>): void {
      if (wait) waits.set(key.n, wait);
      else waits.delete(key.n);
    },
    foremost: () => foremost([...waits.values()]),
  };
}

/** The work of a worker, on stderr. */
export function openTally(output: Output, clock: StatusClock, isQuiet: boolean) {
  const elsewhere = { ...IN_LOGS, first: 0 };
  const status = openStatusLine(output, clock, { as: isQuiet ? "quiet" : "text", elsewhere, isKept: true });
  const running = new Set<string>();
  const waits = openJobWaits();
  const left = { done: 0, failed: 0, cancelled: 0, "given back": 0 };

  function text(): string {
    const told = Object.entries(left).filter(([how, count]) => count > 0 || how === "done");
    const wait = waits.foremost();
    const first = wait ? [waitText(wait)] : [];
    return [...first, `${running.size} running`, ...told.map(([how, count]) => `${count} ${how}`)].join(" · ");
  }

  return {
    /** Prints a sentence, which stays. */
    say: status.say,
    /** True if a job runs here. */
    isBusy: () => running.size > 0,
    told(progress: WorkProgress) {
      if (progress.kind === "said" || progress.kind === "paused") return status.say(inFlags(progress.text));
      if (progress.kind === "calls") return;
      if (progress.kind === "waiting") {
        waits.report(progress);
        return status.show(text());
      }
      const key = `${progress.key.run}/${progress.key.n}`;
      if (progress.kind === "begun") running.add(key);
      else {
        running.delete(key);
        const { state } = progress;
        left[state === "done" || state === "failed" || state === "cancelled" ? state : "given back"] += 1;
      }
      status.show(text());
    },
    end(): void {
      // The last line has what still waits for its time.
      status.begin();
      status.say(text());
    },
  };
}
