import type { LoadProgress } from "../../context/index.ts";
import type { RlmError } from "../../index.ts";
import { age, amount, bar, compact, dollars, roughly, thousands } from "../../platform/figures.ts";
import {
  type CountedRun,
  type HeldJobs,
  jobsIn,
  overIn,
  type RunState,
  runStateJson,
  type WorkProgress,
} from "../../runs/index.ts";
import { foremost, type Wait, waitText } from "../../session/index.ts";
import type { ReusedAnswers, RunRow } from "../../store/index.ts";
import { RUN_LIMITS } from "../flags/runs.ts";
import { waitsInShort } from "../render/calls.ts";
import { failureText } from "../render/failure.ts";
import { diskLine, loadLine } from "../render/progress.ts";
import { openStatusLine, type Pace, type StatusClock } from "../render/status-line.ts";
import type { Output } from "../render/terminal.ts";
import { inFlags } from "../render/wording.ts";

/** Elsewhere than on a terminal, a line now and then. */
const IN_LOGS: Pace = { first: 3000, step: 10_000 };
const MINUTE_MS = 60_000;

/** Progress of a run, on stderr. */
export interface RunProgress {
  /** Notes that jobs of this process wait, or no longer do. */
  waits(progress: JobWait): void;
  /** Takes the line away. */
  clear(): void;
  /** Prints a sentence that stays. */
  say(text: string): void;
  show(now: RunState): void;
  /** Tells how far the load of a context is. */
  loads(name: string, progress: LoadProgress): void;
  /** Complains once a minute that the store has not answered for so many ms. */
  unreachable(error: RlmError, ms: number): void;
}

type JobWait = Extract<WorkProgress, { kind: "waiting" }>;

/** @param as `json`: each line is an object */
export function openRunProgress(output: Output, clock: StatusClock, as: "text" | "json" | "quiet"): RunProgress {
  const { show, say, clear } = openStatusLine(output, clock, { as, elsewhere: IN_LOGS });
  const speedOf = openSpeed();
  let complainedAt = Number.NEGATIVE_INFINITY;
  const waits = openJobWaits();
  return {
    waits: waits.report,
    clear,
    say,
    show(now) {
      const speed = speedOf(now);
      const { callsPerSecond: calls_per_second, leftMs: left_ms } = speed;
      const wait = waits.foremost();
      const text = [...(wait ? [waitText(wait)] : []), progressText(now, speed)].join(" · ");
      const isRewritten = output.isTerminal && as === "text";
      const shown = isRewritten ? `${bar(overIn(now.counts), jobsIn(now.counts))} ${text}` : text;
      const waiting = wait ? { waiting: wait } : {};
      show(shown, { kind: "progress", ...runStateJson(now), calls_per_second, left_ms, ...waiting });
    },
    loads(name, progress) {
      if (progress.texts !== undefined) say(diskLine(progress, progress.texts, name));
      show(loadLine(progress, name), { kind: "loading", context: name, files: progress.files, bytes: progress.bytes });
    },
    unreachable(error, ms) {
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
    report({ key, wait }: JobWait): void {
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
    const counts = Object.entries(left).filter(([how, count]) => count > 0 || how === "done");
    const wait = waits.foremost();
    const first = wait ? [waitText(wait)] : [];
    return [...first, `${running.size} running`, ...counts.map(([how, count]) => `${count} ${how}`)].join(" · ");
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

const LIMIT_OF = { tokens: "tokens", dollars: "nanodollars", "sub-calls": "sub_calls" } as const;

/**
 * `120/200 done · 3 failed · 12 running on 4 workers · $1.42 of $5.00 (held $0.11, in doubt $0.02)
 * · 2.1 calls/s · ~4 min left`.
 */
export function progressText(now: Omit<RunState, "at">, speed = NO_SPEED): string {
  const { counts, run, reason } = now;
  const active = counts.running + counts.cancelling;
  const parts = [
    `${counts.done}/${jobsIn(counts)} done`,
    ...(counts.failed > 0
      ? [`${counts.failed} failed${reason ? ` (${reason.count} × ${reason.error_code})` : ""}`]
      : []),
    ...(counts.cancelled > 0 ? [`${counts.cancelled} cancelled`] : []),
    ...(counts.parked > 0 && !now.waits?.length ? [`${counts.parked} parked${nextText(now.next ?? 0)}`] : []),
    ...(active > 0 ? [`${active} running${counts.workers > 1 ? ` on ${counts.workers} workers` : ""}`] : []),
    ...(now.waits?.length ? [waitsInShort(now.waits, Date.now())] : []),
    ...(now.held_back ? [heldJobsText(now.held_back)] : []),
    ...spentParts(run),
    ...(now.reused?.answers ? [reusedInShort(now.reused, run)] : []),
    ...(speed.callsPerSecond === null ? [] : [`${speed.callsPerSecond.toFixed(1)} calls/s`]),
    ...(speed.leftMs === null ? [] : [`~${roughly(speed.leftMs)} left`]),
    ...(now.refusal ? [`refused: ${failureText(now.refusal, REFUSAL_UNITS)}`] : []),
  ];
  return parts.join(" · ");
}

/** `179 jobs wait for tokens held by 121 calls: raise --run-max-tokens to 1250000`. */
function heldJobsText({ jobs, by, of, raise_to }: HeldJobs): string {
  const wait = `${amount(jobs, "job waits", "jobs wait")} for ${of} held by ${amount(by, "call")}`;
  return `${wait}: raise --${RUN_LIMITS[LIMIT_OF[of]].name} to ${raise_to}`;
}

/** Characters of a refusal's words in the line. */
const REFUSAL_UNITS = 120;

/**
 * `37 of 60 answers reused`. What the run has asked for itself counts as it counts for its limits.
 */
function reusedInShort({ answers }: ReusedAnswers, { spent }: Pick<RunRow, "spent">): string {
  return `${thousands(answers)} of ${amount(answers + spent.sub_calls, "answer")} reused`;
}

const SHOWN_RUNS = 3;

/** `37 of 60 answers reused from label-6e7b36aa; --fresh asks again`; `null` if none were. */
export function reusedText({ reused, run }: Pick<CountedRun, "reused" | "run">): string | null {
  if (reused.answers === 0) return null;
  const more = reused.from.length - SHOWN_RUNS;
  const names = [...reused.from.slice(0, SHOWN_RUNS), ...(more > 0 ? [amount(more, "more run")] : [])];
  return `${reusedInShort(reused, run)} from ${names.join(", ")}; --fresh asks again`;
}

/** `, next in 4 min`: the wait of the first parked job. */
const nextText = (next: number) => (next > 0 ? `, next in ${age(Math.max(1000, next - Date.now()))}` : "");

const USD = 1e-9;

function spentParts({ spent, held, doubtful, limits }: RunState["run"]): string[] {
  const notSpent = [
    ...(held.nanodollars > 0 ? [`held ${dollars(held.nanodollars * USD)}`] : []),
    ...(doubtful.nanodollars > 0 ? [`in doubt ${dollars(doubtful.nanodollars * USD)}`] : []),
  ];
  const heldText = notSpent.length > 0 ? ` (${notSpent.join(", ")})` : "";
  const limit = limits.nanodollars === null ? "" : ` of ${dollars(limits.nanodollars * USD)}`;
  const beside = `${limit}${heldText}`;
  if (spent.nanodollars > 0 || beside !== "") return [`${dollars(spent.nanodollars * USD)}${beside}`];
  return spent.tokens > 0 ? [`${compact(spent.tokens)} tokens`] : [];
}

/** The speed of a run. null: not known yet. */
interface Speed {
  readonly callsPerSecond: number | null;
  readonly leftMs: number | null;
}

const NO_SPEED: Speed = { callsPerSecond: null, leftMs: null };

/** Looks that are older do not count. */
const WINDOW_MS = 60_000;
/** A shorter time says little. */
const LEAST_MS = 2000;

/** Follows a run by looks at it. */
export function openSpeed(): (now: RunState) => Speed {
  const looks: RunState[] = [];
  return (now) => {
    looks.push(now);
    while (looks.length > 2 && now.at - (looks[1]?.at ?? now.at) >= WINDOW_MS) looks.shift();
    const [before = now] = looks;
    const ms = now.at - before.at;
    if (ms < LEAST_MS) return NO_SPEED;
    const calls = now.run.spent.sub_calls - before.run.spent.sub_calls;
    const over = overIn(now.counts) - overIn(before.counts);
    const rest = jobsIn(now.counts) - overIn(now.counts);
    return {
      callsPerSecond: calls > 0 ? (calls * 1000) / ms : null,
      leftMs: over > 0 && rest > 0 ? (rest * ms) / over : null,
    };
  };
}
