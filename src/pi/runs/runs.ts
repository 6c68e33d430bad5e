import * as v from "valibot";
import { type Clock, wordedEnvelope } from "../../../runtime/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import type { JournalRecord, SessionEvent } from "../../session/index.ts";
import { fitted, type Signals, type Tool, type ToolEnvelope } from "../../tools/index.ts";
import type { Announcements } from "../events.ts";
import { PI, warningInPi } from "../wording.ts";
import type { StateBoard } from "./board.ts";
import { type ProgressDetails, type ToolDetails, tallyOf } from "./details.ts";

/** A call of a tool, as Pi makes it. */
export interface Called {
  readonly tool_call_id: string;
  readonly args: unknown;
  /** Pi's signal, which Esc aborts. */
  readonly signal: AbortSignal | undefined;
  onUpdate?(details: ProgressDetails): void;
}

/** A call of a tool that is to be run. */
export interface Run extends Called {
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
export type Runs = ReturnType<typeof openRuns>;

interface Running {
  readonly run: Run;
  readonly cancel: AbortController;
  readonly records: JournalRecord[];
  session: string | null;
}

export function openRuns(
  board: StateBoard,
  clock: Clock,
  announced: Pick<Announcements, "queryStarted" | "queryEnded">,
) {
  const suspend = new AbortController();
  let queue: Promise<unknown> = Promise.resolve();
  let running: Running | null = null;

  function tell(): void {
    const { running: shown } = board.current();
    if (running && shown) running.run.onUpdate?.({ tool: running.run.tool.name, running: shown });
  }

  async function perform(run: Run, phase: "opening" | "recovering", work: Work): Promise<RunOutcome> {
    const own: Running = { run, cancel: new AbortController(), records: [], session: null };
    running = own;
    const from = clock.monotonic();
    const { tool, tool_call_id } = run;
    using stop = joinSignals(own.cancel.signal, run.signal);
    const shown = { tool: tool.name, tool_call_id, exec_id: null, phase, started_at: clock.now() };
    const unsubscribe = board.subscribe(tell);
    board.change({ running: { ...shown, ...NOTHING_TOLD } });
    announced.queryStarted({ tool: tool.name, tool_call_id });
    try {
      const envelope = await work({ signal: stop.signal, suspend: suspend.signal });
      if (suspend.signal.aborted) return await new Promise<never>(() => {});
      const exec_id = board.current().running?.exec_id ?? own.records.at(-1)?.exec_id ?? null;
      const elapsed_ms = Math.round(clock.monotonic() - from);
      const outcome = outcomeOf(tool, envelope, {
        session: own.session,
        exec_id,
        calls: tallyOf(own.records),
        elapsed_ms,
        recovered: phase === "recovering",
      });
      announced.queryEnded({ tool: tool.name, tool_call_id }, outcome.details);
      return outcome;
    } finally {
      unsubscribe();
      running = null;
      board.change({ running: null });
    }
  }

  return {
    run(run: Run, phase: "opening" | "recovering", work: Work): Promise<RunOutcome> {
      const turn = queue.then(() => perform(run, phase, work));
      queue = turn.catch(() => {});
      return turn;
    },
    /** Cancels what runs. Returns false if nothing runs. */
    cancel(): boolean {
      if (!running) return false;
      board.progress({ phase: "stopping" });
      running.cancel.abort();
      return true;
    },
    /** Suspends what runs. Its promise never settles, since Pi must not take this for the call's end. */
    suspend: () => suspend.abort(),
    isSuspended: () => suspend.signal.aborted,
    /** The call that runs. */
    toolCallId: () => running?.run.tool_call_id ?? "",
    /** The store calls this after each record. */
    kept(session: string, record: JournalRecord): void {
      if (!running) return;
      running.session = session;
      running.records.push(record);
      const { exec_id } = record;
      // An ask is shown, and not each of its turns and cells.
      if (record.record === "rlm_start" && record.ask === undefined) board.progress({ exec_id, phase: "running" });
    },
    progress: (progress: SessionEvent) => showProgress(board, progress),
  };
}

/** Shows how far a call is. */
function showProgress(board: StateBoard, progress: SessionEvent): void {
  switch (progress.kind) {
    case "calls": {
      const { kind: _kind, ...calls } = progress;
      board.progress({ calls, child: null });
      break;
    }
    case "turn": {
      const { depth, turn, of, cells, sub_calls, tokens, cost_usd } = progress;
      const state = { turn, of, cells, sub_calls, tokens, cost_usd };
      board.progress(depth > 0 ? { child: { depth, turn, of } } : { ...NOTHING_TOLD, turn: state });
      break;
    }
    case "load":
      board.progress({ phase: "loading", load: { files: progress.files, bytes: progress.bytes } });
      break;
    case "notice":
      board.progress({ notice: progress.text });
  }
}

const NOTHING_TOLD = { turn: null, child: null, calls: null, load: null, notice: null };

/** Most bytes of details: the session's file holds them and the text. */
const DETAILS_BYTES = 16_000;

/** An envelope as Pi gets it, in Pi's words. */
export function outcomeOf(tool: Tool, given: ToolEnvelope, facts: Omit<ToolDetails, "tool" | "envelope">): RunOutcome {
  const envelope = inWordsOfPi(given);
  const said = tool.answersText && typeof envelope.text === "string" ? envelope.text : null;
  const text = said ?? JSON.stringify(fitted(envelope, tool.rest));
  const kept = said === null ? envelope : { ...envelope, text: said.split("\n", 1)[0] ?? "" };
  return { text, details: { tool: tool.name, envelope: fitted(kept, tool.rest, DETAILS_BYTES), ...facts } };
}

function inWordsOfPi(envelope: ToolEnvelope): ToolEnvelope {
  const { warnings } = envelope;
  const limits = v.parse(LimitsSchema, envelope.limits_applied);
  return {
    ...wordedEnvelope(envelope, PI),
    ...(Array.isArray(warnings)
      ? { warnings: warnings.map((each) => (typeof each === "string" ? warningInPi(each, limits) : each)) }
      : {}),
  };
}

/** The limit that a warning names, in an envelope that has limits. */
const LimitsSchema = v.fallback(v.object({ max_find_results: v.exactOptional(v.number()) }), {});

/** The outcome of a call that the user cancelled while it waited for its turn. */
export function cancelledBeforeStart(tool: Tool): RunOutcome {
  const message = "cancelled before anything started";
  const failure = { code: "cancelled", message, suggestion: "Call the tool again." };
  const facts = { session: null, exec_id: null, calls: tallyOf([]), elapsed_ms: 0, recovered: false };
  return outcomeOf(tool, tool.failed(failure), facts);
}
