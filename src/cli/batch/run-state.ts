import type { ProviderWait } from "../../index.ts";
import { age, amount, compact, dollars, roughly, thousands } from "../../platform/figures.ts";
import type { Amount, Counts, ReusedAnswers, RunLimits, RunRow } from "../../store/index.ts";
import type { Reason } from "../jobs/reasons.ts";
import { failureText, type Refusal } from "../jobs/refusals.ts";
import { waitsInShort } from "../render/waits.ts";
import { type HeldJobs, heldJobsText } from "./held-jobs.ts";

/** A run, its counts, and the providers' batches that its jobs wait for. */
export interface CountedRun {
  readonly run: RunRow;
  readonly counts: Counts;
  readonly waits: readonly ProviderWait[];
  /** Answers that it took from earlier runs. */
  readonly reused: ReusedAnswers;
  /** The last refusal of a provider; null or absent: none is known. */
  readonly refusal?: Refusal | null;
}

/** A look at a run, at an instant of a clock of this process (ms). */
export interface RunState
  extends Pick<CountedRun, "counts">,
    Partial<Pick<CountedRun, "waits" | "reused" | "refusal">> {
  readonly at: number;
  readonly run: Pick<RunRow, "spent" | "held" | "doubtful" | "limits">;
  /** The reason why most of the failed jobs failed; null or absent: it is not known. */
  readonly reason?: Reason | null;
  /** The instant at which the first parked job goes on by itself; null or absent: it is not known. */
  readonly next?: number | null;
  /** Jobs that wait for what calls by batch hold; null or absent: none do. */
  readonly held_back?: HeldJobs | null;
}

/** `120/200 done · 3 failed · 12 running on 4 workers · $1.42 of $5.00 (held $0.11, in doubt $0.02) · 2.1 calls/s · ~4 min left`. */
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

/** Characters of a refusal's words in the line. */
const REFUSAL_UNITS = 120;

/** `37 of 60 answers reused`. What the run has asked for itself counts as it counts for its limits. */
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

export const jobsIn = ({ waiting, running, parked, cancelling, done, failed, cancelled }: Counts) =>
  waiting + running + parked + cancelling + done + failed + cancelled;

/** Jobs that are over. */
export const overIn = ({ done, failed, cancelled }: Counts) => done + failed + cancelled;

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

/** The state of a run, for programs. */
export function runStateJson({ counts, run, waits = [], reused, held_back, refusal }: Omit<RunState, "at">): object {
  return {
    jobs: jobsJson(counts),
    ...(refusal ? { refusal } : {}),
    ...(waits.length > 0 ? { waits } : {}),
    ...(reused ? { reused: reusedJson(reused) } : {}),
    ...(held_back ? { held_back } : {}),
    spent: amountJson(run.spent),
    held: amountJson(run.held),
    doubtful: amountJson(run.doubtful),
    limits: amountJson(run.limits),
  };
}

const jobsJson = ({ workers, ...states }: Counts) => ({ all: jobsIn({ workers, ...states }), ...states, workers });

const reusedJson = ({ answers, tokens, nanodollars, from }: ReusedAnswers) => ({
  answers,
  from,
  saved: { tokens, cost_usd: nanodollars / 1e9 },
});

/** Dollars for nanodollars. */
const amountJson = ({ nanodollars, tokens, sub_calls }: Amount | RunLimits) => ({
  cost_usd: nanodollars === null ? null : nanodollars / 1e9,
  tokens,
  sub_calls,
});

/** A run for programs. */
export function runJson(
  now: Pick<RunState, "counts" | "waits" | "reused" | "held_back" | "refusal"> & { readonly run: RunRow },
): object {
  const { id, name, queue, share, why, created_at } = now.run;
  return { id, name, queue, share, state: stateOf(now), why, created_at, ...runStateJson(now) };
}

/** True if no job can go on before a provider answers. */
export function isLeftToProviders({ counts, waits }: Pick<CountedRun, "counts" | "waits">): boolean {
  return waits.length > 0 && counts.waiting + counts.running + counts.cancelling === 0;
}

/** The state of a run in a word, for people and programs. */
export function stateOf({ run, counts }: Pick<CountedRun, "run" | "counts">) {
  if (overIn(counts) === jobsIn(counts)) return "over";
  if (run.state === "paused") return "paused";
  // Their process has ended, and nobody has gone on with them.
  if (counts.running + counts.cancelling > 0) return counts.workers > 0 ? "running" : "interrupted";
  return counts.waiting > 0 ? "waiting" : "parked";
}

/** Exit codes of a run: all is done; jobs failed or were cancelled; somebody has to act; jobs lack a part; only providers can go on. */
export const RUN_EXIT = { done: 0, failed: 1, notOver: 3, incomplete: 3, waits: 4 } as const;

export function runExitCode(
  counted: Pick<CountedRun, "counts" | "waits"> & { readonly run: Pick<RunRow, "state"> },
): number {
  const { counts, run, waits } = counted;
  if (overIn(counts) === jobsIn(counts)) return counts.done < overIn(counts) ? RUN_EXIT.failed : RUN_EXIT.done;
  const haveLeft = isLeftToProviders(counted) && waits.every(({ batch }) => batch !== null);
  return run.state === "open" && haveLeft ? RUN_EXIT.waits : RUN_EXIT.notOver;
}
