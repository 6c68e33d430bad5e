import { RlmError } from "../../../runtime/index.ts";
import type { Tried } from "../../../src/runs/dispatcher.ts";
import { openTroubles } from "../../../src/runs/failures.ts";
import { newSpec } from "../../../src/runs/spec.ts";
import type { JobEnd, JobSession, TryParts } from "../../../src/runs/try-parts.ts";
import type { JobOfRun, JobRow, RunRow } from "../../../src/store/index.ts";

const NONE = { nanodollars: 0, tokens: 0, sub_calls: 0 };

export const SPEC = newSpec({ script: { name: "s.js", source: "1" }, model: "p/m", context: "none" });

export const RUN: RunRow = {
  ...{ id: "R", name: "run", queue: "default", share: 1, hash: "h", state: "open", why: null, created_at: 0 },
  spec: JSON.parse(JSON.stringify(SPEC)),
  limits: { nanodollars: null, tokens: null, sub_calls: null },
  ...{ spent: NONE, held: NONE, doubtful: NONE },
};

export const JOB: JobRow = {
  ...{ run: "R", n: 0, id: "a", session: "S", context: null, state: "waiting", why: null, rank: 0 },
  ...{
    run_at: null,
    ticket: null,
    fence: 0,
    engine: null,
    model: null,
    attempts: 0,
    lapses: 0,
    answers: 0,
    spent: NONE,
  },
  ...{ told: null, begun_at: null, ended_at: null },
};

export const DONE: JobEnd = { kind: "over", code: null, result: "7", told: { ms: 1 } };
export const UNFINISHED: JobEnd = { kind: "unfinished" };
export const failedWith = (code: Extract<JobEnd, { kind: "over" }>["code"]): JobEnd => ({
  ...{ kind: "over", code, result: null, told: { error_code: code } },
});
export const fault = (code: RlmError["code"]) => new RlmError(code, `a test says ${code}`, { suggestion: "" });

const PARKED = {
  budget: { why: "budget", limit: "sub_calls" },
  provider: { why: "provider", afterMs: 300_000 },
  damaged: { why: "damaged", error: fault("store_corrupt") },
} as const;

export interface JobScene {
  readonly parts: TryParts;
  readonly ticket: Tried;
  /** What was asked of the store and the session, in order. */
  readonly log: string[];
  /** The job as the store has it now. */
  readonly row: { job: JobRow; run: RunRow } | null;
  readonly changed: AbortController;
  readonly stopped: AbortController;
  /** Ends the wait of each timer that is `ms` long or longer. */
  pass(ms: number): void;
}

export interface Knobs {
  job?: Partial<JobRow>;
  run?: Partial<RunRow>;
  /** null: the store has no such job. */
  found?: null;
  lapses?: number;
  answers?: number | (() => number);
  now?: number;
  isForeign?: boolean;
  /** What the job answers to the try that comes with the lease. */
  begun?: boolean;
  refusal?: string;
  /** What happens instead of a step: it may change the row, or reject. */
  at?: Partial<
    Record<"read" | "lease" | "begin" | "open" | "finish" | "put" | "release", (scene: JobScene) => unknown>
  >;
  cell?: (
    signals: Parameters<JobSession["run"]>[0],
    scene: JobScene,
    park: (why: keyof typeof PARKED) => void,
  ) => Promise<JobEnd>;
  failed?: number;
}

/** A try over a row in memory that knows only fences, and a session that is one function. */
export function jobScene(knobs: Knobs = {}): JobScene {
  const log: string[] = [];
  const changed = new AbortController();
  const stopped = new AbortController();
  const timers = new Map<() => void, number>();
  const row = knobs.found === null ? null : { job: { ...JOB, ...knobs.job }, run: { ...RUN, ...knobs.run } };
  let fence = row?.job.fence ?? 0;
  const ticket: Tried = { run: "R", n: 0, rank: 0, id: "T", lapses: knobs.lapses ?? 0, changed: changed.signal };
  const step = async (name: keyof NonNullable<Knobs["at"]>, told: string = name) => {
    log.push(told);
    await knobs.at?.[name]?.(scene);
  };
  const set = (job: Partial<JobRow>) => {
    if (row) row.job = { ...row.job, ...job };
  };
  const isOurs = (under: number) => row?.job.fence === under && ["running", "cancelling"].includes(row.job.state);
  const jobs: TryParts["jobs"] = {
    async read() {
      await step("read");
      return row && { ...row };
    },
    async begin(_key, taking) {
      await step("begin", `begin ${taking.ticket} under ${taking.fence}`);
      if (
        !row ||
        !["waiting", "parked", "running", "cancelling"].includes(row.job.state) ||
        row.job.fence > taking.fence
      )
        return false;
      set({ state: row.job.state === "cancelling" ? "cancelling" : "running", ...taking });
      return true;
    },
    async finish(_key, under, outcome) {
      await step("finish", `finish ${outcome.state} ${outcome.result}`);
      if (!isOurs(under)) return false;
      set({ state: outcome.state, told: outcome.told });
      return true;
    },
    async put(_key, under, back) {
      await step("put", `put ${back.state} ${back.why} ${back.afterMs}${back.counts ? " counts" : ""}`);
      if (!isOurs(under)) return false;
      set({ state: back.state, why: back.why });
      return true;
    },
    async change(_run, change) {
      log.push(`change ${change.to} ${"why" in change ? change.why : ""}`);
      if (row) row.run = { ...row.run, state: "paused" };
      return [];
    },
    counts: async () => ({
      ...{ waiting: 0, running: 0, parked: 0, cancelling: 0, done: 0, cancelled: 0, workers: 1 },
      failed: knobs.failed ?? 0,
    }),
  };
  const scene: JobScene = {
    ...{ ticket, log, row, changed, stopped },
    pass(ms) {
      for (const [then, length] of timers) if (length >= ms && timers.delete(then)) then();
    },
    parts: {
      jobs,
      engine: { own: "own", isForeign: () => knobs.isForeign ?? false },
      refusal: () => knobs.refusal ?? null,
      troubles: openTroubles(),
      async lease(found: JobOfRun) {
        await step("lease", `lease ${found.job.session}`);
        fence++;
        return {
          fence,
          begun: knobs.begun,
          answers: async () => (typeof knobs.answers === "function" ? knobs.answers() : (knobs.answers ?? 0)),
          async open(_spec, stops) {
            await step("open");
            return {
              run: (signals) => {
                log.push("run");
                const park = (why: keyof typeof PARKED) => stops.park(PARKED[why]);
                return (knobs.cell ?? (async () => DONE))(signals, scene, park);
              },
              async discard() {
                log.push("discard");
                return { tokens: 3 };
              },
              async close() {
                log.push("close");
              },
            };
          },
          release: () => step("release"),
        };
      },
      stopped: stopped.signal,
      now: () => knobs.now ?? 1000,
      random: () => 0.5,
      after(ms, then) {
        timers.set(then, ms);
        return () => timers.delete(then);
      },
      tell(progress) {
        if (progress.kind === "left") log.push(`left ${progress.state} ${progress.why}`);
        else if ("text" in progress) log.push(`said ${progress.text}`);
      },
      foreign: () => log.push("foreign"),
      busyMs: () => 700,
    },
  };
  return scene;
}

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
