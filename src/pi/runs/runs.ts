import * as v from "valibot";
import type { Clock, ExecLimits } from "../../../runtime/index.ts";
import { WORK_ON, whenAborted } from "../../platform/signals.ts";
import {
  changeBy,
  type JournalRecord,
  NO_PROGRESS,
  partsOfWarning,
  type SessionEvent,
  type WarningCures,
  warningSentence,
} from "../../session/index.ts";
import { fitted, inWordsOf, type Signals, type Tool, type ToolEnvelope } from "../../tools/index.ts";
import type { Announcements } from "../events.ts";
import { PI } from "../wording.ts";
import { type ProgressDetails, type StateBoard, type ToolDetails, tallyOf } from "./board.ts";

/** A call of a tool, as Pi makes it. */
export interface Called {
  readonly tool_call_id: string;
  readonly args: unknown;
  /** Pi's signal, which Esc aborts. */
  readonly signal: AbortSignal | undefined;
  onUpdate?(details: ProgressDetails): void;
  /** Is told the real outcome if Pi stopped the call, and has not left the session. */
  onLate?(outcome: RunOutcome): void;
}

/** A call of a tool that is to be run. */
interface Run extends Called {
  readonly tool: Tool;
  readonly cwd: string;
}

export interface RunOutcome {
  /** The envelope as JSON, on one line. */
  readonly text: string;
  readonly details: ToolDetails;
}

/** The work of a run: it opens a session, or finishes an interrupted exec. */
export type Work = (signals: Signals) => Promise<ToolEnvelope>;

/** Runs calls one after the other, and tells the board of them. */
export interface Runs {
  run(run: Run, phase: Running["phase"], work: Work): Promise<RunOutcome>;
  /** Cancels what runs. Returns false if nothing runs. */
  cancel(): boolean;
  /**
   * Suspends what runs. Its promise never settles, since Pi must not take this for the call's end.
   */
  suspend(): void;
  /** Pi is about to leave the session: what it aborts from now on is not cancelled. */
  departs(): void;
  /** Pi stays on the session. Resolves when a call that it has stopped has ended. */
  stays(): Promise<void>;
  /**
   * Pi has left the session. What runs is suspended; with `mayGoOn` a call continues, and is
   * returned. Recovery does not: it is begun anew when Pi is back.
   */
  leave(
    mayGoOn: boolean,
  ): { tool: string; session: () => string | null; isSuspended: () => boolean; over: Promise<void> } | null;
  hasLeft(): boolean;
  /** The call that runs. */
  toolCallId(): string;
  /** The store calls this after each record. */
  kept(session: string, record: JournalRecord): void;
  progress(progress: SessionEvent): void;
}

interface Running {
  readonly run: Run;
  readonly phase: "opening" | "recovering";
  readonly cancel: AbortController;
  readonly records: JournalRecord[];
  readonly over: PromiseWithResolvers<void>;
  /** When it began, by the monotonic clock. */
  readonly from: number;
  session: string | null;
  /** Pi has stopped the call, and has a result that replaces the real one. */
  isStopped: boolean;
}

interface RunsParts {
  readonly board: StateBoard;
  readonly clock: Clock;
  readonly announced: Pick<Announcements, "queryStarted" | "queryEnded">;
  /** True if this Pi aborts what runs before it tells that it quits. */
  readonly quitsByAbort: boolean;
}

/** Parts with which a call runs, with the departure of Pi. */
type RunningParts = Omit<RunsParts, "quitsByAbort"> & { readonly departure: Departure };

export function openRuns({ quitsByAbort, ...shared }: RunsParts): Runs {
  const { board, clock } = shared;
  const departure = openDeparture(quitsByAbort);
  const parts = { ...shared, departure };
  const { hasLeft } = departure;
  let queue: Promise<unknown> = Promise.resolve();
  let running: Running | null = null;

  /** Cancels a call that Pi has stopped: Pi stays. */
  function cancelStopped(): void {
    if (running?.isStopped) running.cancel.abort();
  }

  return {
    run(run, phase, work) {
      cancelStopped();
      const { promise: given, resolve: give } = Promise.withResolvers<RunOutcome>();
      const turn = queue.then(() => {
        if (hasLeft()) return never();
        const own = begun(run, phase, clock);
        running = own;
        return perform(parts, own, work, give).finally(() => {
          running = null;
          board.change({ running: null });
          own.over.resolve();
        });
      });
      queue = turn.catch(() => {});
      // Pi must not take for the call's end what comes once it has left.
      return Promise.race([given, turn.finally(() => (hasLeft() ? never() : null))]);
    },
    cancel() {
      if (!running) return false;
      board.progress({ phase: "stopping" });
      running.cancel.abort();
      return true;
    },
    suspend: departure.suspend,
    departs() {
      cancelStopped();
      departure.near(true);
    },
    async stays() {
      departure.near(false);
      cancelStopped();
      if (running?.isStopped) await running.over.promise;
    },
    leave(mayGoOn) {
      const own = running;
      if (!mayGoOn || !own || own.phase === "recovering") {
        departure.suspend();
        return null;
      }
      departure.goOn();
      const isSuspended = () => departure.suspended.aborted;
      return { tool: own.run.tool.name, session: () => own.session, isSuspended, over: own.over.promise };
    },
    hasLeft,
    toolCallId: () => running?.run.tool_call_id ?? "",
    kept(session, record) {
      if (!running) return;
      running.session = session;
      running.records.push(record);
      const { exec_id } = record;
      // An ask is shown, and not each of its turns and cells.
      if (record.record === "rlm_start" && record.ask === undefined) board.progress({ exec_id, phase: "running" });
    },
    progress(event) {
      board.progress({ ...changeBy(event), ...(event.kind === "load" ? { phase: "loading" } : {}) });
    },
  };
}

const never = () => new Promise<never>(() => {});

async function perform(parts: RunningParts, own: Running, work: Work, give: Give): Promise<RunOutcome> {
  const { board, clock, announced, departure } = parts;
  const { run, phase, cancel } = own;
  const { tool, tool_call_id, signal } = run;
  if (signal?.aborted) cancel.abort();
  const callOff = signal && whenAborted(signal, () => abort(parts, own, give));
  const shown = { tool: tool.name, tool_call_id, exec_id: null, phase, started_at: clock.now() };
  const unsubscribe = board.subscribe(({ running }) => {
    if (running && !own.isStopped && !departure.hasLeft()) run.onUpdate?.({ tool: tool.name, running });
  });
  board.change({ running: { ...shown, ...NO_PROGRESS } });
  announced.queryStarted({ tool: tool.name, tool_call_id });
  try {
    const envelope = await work({ signal: cancel.signal, suspend: departure.suspended });
    const outcome = outcomeOf(tool, envelope, factsOf(own, board, clock));
    if (departure.hasLeft()) return outcome;
    announced.queryEnded({ tool: tool.name, tool_call_id }, outcome.details);
    if (own.isStopped) run.onLate?.(outcome);
    return outcome;
  } finally {
    callOff?.();
    unsubscribe();
  }
}

/** Gives Pi a result instead of the real one. */
type Give = (outcome: RunOutcome) => void;

/**
 * Pi aborts a call. If it may do so because it leaves the session, it gets a result at once,
 * without which it does not leave; the call is cancelled if Pi is still there after a while.
 */
function abort({ board, clock, departure }: RunningParts, own: Running, give: Give): void {
  const grace = departure.grace();
  if (grace === null) {
    own.cancel.abort();
    return;
  }
  own.isStopped = true;
  board.progress({ phase: "stopping" });
  const { tool } = own.run;
  const failed = tool.failed(departure.isNear() ? LEFT : CANCELLED);
  give(outcomeOf(tool, failed, { ...factsOf(own, board, clock), stopped: true }));
  const callOff = clock.after(grace, () => {
    if (!departure.hasLeft()) own.cancel.abort();
  });
  void own.over.promise.then(callOff);
}

/** The facts of a call that runs, for its outcome. */
function factsOf({ session, records, phase, from }: Running, board: StateBoard, clock: Clock) {
  const exec_id = board.current().running?.exec_id ?? records.at(-1)?.exec_id ?? null;
  const elapsed_ms = Math.round(clock.monotonic() - from);
  return { session, exec_id, calls: tallyOf(records), elapsed_ms, recovered: phase === "recovering" };
}

function begun(run: Run, phase: Running["phase"], clock: Clock): Running {
  const cancel = new AbortController();
  const over = Promise.withResolvers<void>();
  return { run, phase, cancel, over, from: clock.monotonic(), records: [], session: null, isStopped: false };
}

const LEFT = {
  code: "exec_unfinished",
  message: "Pi left the session while the call ran",
  suggestion: "Its result takes this place when the session is opened again.",
};

/** Most bytes of details: the session's file holds them and the text. */
const DETAILS_BYTES = 16_000;

/** An envelope as Pi gets it, in Pi's words. */
export function outcomeOf(tool: Tool, given: ToolEnvelope, facts: Omit<ToolDetails, "tool" | "envelope">): RunOutcome {
  const envelope = inWordsOfPi(given, facts.session);
  const said = tool.answersText && typeof envelope.text === "string" ? envelope.text : null;
  const text = said ?? JSON.stringify(fitted(envelope, tool.rest));
  const kept = said === null ? envelope : { ...envelope, text: said.split("\n", 1)[0] ?? "" };
  return { text, details: { tool: tool.name, envelope: fitted(kept, tool.rest, DETAILS_BYTES), ...facts } };
}

const CURES: WarningCures = {
  moreMatches: "raise max_find_results in limits_override",
  moreOutput: "raise max_output_bytes in limits_override, or print less",
  largeResult: "keep it in a variable and return parts of it",
  moreSubCalls: PI.moreSubCalls,
  removeHelper: "removed with rlm_helpers_remove",
  otherModel: PI.nameModel,
  raiseLimit: (limit) => `the user can raise max_${limit} in belay.json, and each new prompt has the whole of it`,
};

function inWordsOfPi(envelope: ToolEnvelope, session: string | null): ToolEnvelope {
  const { warnings } = envelope;
  const limits = v.parse(LimitsSchema, envelope.limits_applied);
  return {
    ...inWordsOf(PI, envelope, session === null ? null : { id: session, name: null }),
    ...(Array.isArray(warnings)
      ? { warnings: warnings.map((each) => (typeof each === "string" ? warningInPi(each, limits) : each)) }
      : {}),
  };
}

/**
 * A warning as a sentence behind its code: `find_results_capped: find stopped at 10 matches; raise
 * …`.
 */
function warningInPi(warning: string, limits: Partial<ExecLimits>): string {
  const sentence = warningSentence(warning, limits, CURES);
  return sentence === null ? warning : `${partsOfWarning(warning).code}: ${sentence}`;
}

/** The limit that a warning names, in an envelope that has limits. */
const LimitsSchema = v.fallback(v.object({ max_find_results: v.exactOptional(v.number()) }), {});

const CANCELLED = { code: "cancelled", message: "it was cancelled", suggestion: "Call the tool again." };

/** The outcome of a call that the user cancelled while it waited for its turn. */
export function cancelledBeforeStart(tool: Tool): RunOutcome {
  const failure = { ...CANCELLED, message: "cancelled before anything started" };
  const facts = { session: null, exec_id: null, calls: tallyOf([]), elapsed_ms: 0, recovered: false };
  return outcomeOf(tool, tool.failed(failure), facts);
}

/** Pi's presence on the session that the calls are of. */
interface Departure {
  /** Aborts when what runs is to be suspended. */
  readonly suspended: AbortSignal;
  suspend(): void;
  /** Lets what runs continue although Pi leaves. */
  goOn(): void;
  hasLeft(): boolean;
  /** True if Pi has told that it is about to leave. */
  isNear(): boolean;
  near(is: boolean): void;
  /**
   * The time after which a call that Pi aborts now counts as cancelled, ms; null: it is cancelled
   * at once.
   */
  grace(): number | null;
}

/**
 * ms that a call which Pi has aborted continues: it was about to leave the session, or may be about
 * to quit.
 */
const DEPARTING_MS = 5_000;
const QUITTING_MS = 1_000;

function openDeparture(quitsByAbort: boolean): Departure {
  const suspend = new AbortController();
  let isNear = false;
  let goesOn = false;
  return {
    suspended: suspend.signal,
    suspend: () => suspend.abort(WORK_ON),
    goOn() {
      goesOn = true;
    },
    hasLeft: () => goesOn || suspend.signal.aborted,
    isNear: () => isNear,
    near(is) {
      isNear = is;
    },
    grace() {
      if (isNear) return DEPARTING_MS;
      return quitsByAbort ? QUITTING_MS : null;
    },
  };
}
