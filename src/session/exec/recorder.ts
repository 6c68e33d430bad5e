import { type ExecState, hasCode, type Json, PAGE_BYTES, type Waiting } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { tokensOf } from "../../models/index.ts";
import { withoutUndefined } from "../../platform/json.ts";
import type { Step } from "../../store/index.ts";
import { keepContext, storedContext } from "../contexts/contexts.ts";
import { factsAfter, follow } from "../journal/account.ts";
import { touchedIn } from "../journal/coverage.ts";
import { callCount, callIn } from "../journal/exec-records.ts";
import { hashOf, type JournalRecord, type Start, type ToolCall, type ToolResult } from "../journal/records.ts";
import type { GivenHistory } from "../machine/context-message.ts";
import type { SessionParts } from "../parts.ts";
import type { CallKeys } from "../sub-calls/cache.ts";
import type { ExecTime } from "../sub-calls/call-time.ts";
import { nanodollars, spentOn } from "../sub-calls/run-part.ts";
import type { ExecCalls, ExecJournal } from "./ports.ts";
import type { ThreadRelease } from "./thread-release.ts";
import { type Capture, type Recorder, resultOf, type Work } from "./work.ts";

export function openRecorder(
  { row, env, run, suspension, deliveries, space, state, moved }: SessionParts,
  exec_id: string,
): Recorder {
  const { store, clock } = env;
  let current = state();
  let failed = false;

  async function write(records: readonly JournalRecord[], more: Partial<Step>, context: Context | null): Promise<void> {
    const told = context && { hash: context.hash, sources: context.stats.sources, chars: context.text.length };
    const facts = factsAfter(current.account, records, told);
    const results = records.filter((record) => record.record === "rlm_tool_result");
    const settle = run ? results.map((result) => run.settles(result.call_id, spentOn(result))) : [];
    const delivered = results.map(({ call_id }) => call_id).filter((id) => deliveries.has(id));
    const step = {
      records,
      facts,
      ...more,
      ...(settle.length > 0 ? { settle } : {}),
      ...(delivered.length > 0 ? { delivered } : {}),
      ...(needsSpace(records, more) ? { space: space.left() } : {}),
      ...(run && records.every(isBoundary) ? { mayWait: true } : {}),
    };
    const bytes = await store.commit(row.id, step).catch((error: unknown) => {
      failed ||= !hasCode(error, "store_full");
      throw error;
    });
    space.grown(bytes);
    // Other records may have been kept meanwhile.
    current = { account: records.reduce(follow, current.account), context };
    moved(current);
    for (const { call_id } of results) {
      suspension.recorded(call_id);
      deliveries.delete(call_id);
    }
  }

  return {
    state: () => current,
    noticed(error) {
      // Damaged records are another matter: they stay damaged.
      if (hasCode(error, "store_failed", "lease_lost")) failed = true;
    },
    hasFailed: () => failed,
    commit: (records, more = {}) => write(records, more, current.context),
    async capture(machine, kind, image, id) {
      const since = clock.monotonic() - (image?.ms ?? 0);
      const commands = kind === "end" ? EXPORTS : [];
      const capturing = { kind, exec_id, after: current.account.checkpoint, commands, at: clock.now(), id };
      return { ...(await machine.images.capture(machine.sandbox, capturing, image)), since };
    },
    async keep({ checkpoint, pages, since, kept }: Capture, { records, extras, drop, context }) {
      await write(records, { checkpoint: { ...checkpoint, extras }, drop }, context);
      kept();
      const { id, kind } = checkpoint;
      const ms = clock.monotonic() - since;
      env.emit({ kind: "checkpoint", checkpoint: { id, exec_id, kind, pages, bytes: pages * PAGE_BYTES, ms } });
    },
  };
}

/** True for images and for what a caller begins. The records of what has begun are kept in any case: calls were paid for. */
function needsSpace([first]: readonly JournalRecord[], { checkpoint }: Partial<Step>): boolean {
  return checkpoint !== undefined || (first?.record === "rlm_start" && first.ask === undefined);
}

/**
 * True for the start and the end of an exec. In a job nothing outside depends on them before the next step of the job, or
 * its end, is on disk.
 */
const isBoundary = ({ record }: JournalRecord) => record === "rlm_start" || record === "rlm_complete";

/** Guest commands whose answers are kept with an exec's end: its memory, and its helpers. */
const EXPORTS = ["memory.export", "helpers.sources"];

/**
 * Opens the journal of an exec that runs.
 * @param release the machine that images are captured of
 * @param keepsState true if the state at the exec's end is kept
 */
export function openExecJournal(
  { setup, exec_id, recorder, events }: Omit<Work, "startedAt">,
  release: Pick<ThreadRelease, "machine" | "kept">,
  calls: ExecCalls,
  time: ExecTime,
  history: Pick<ExecHistory, "keep">,
  keepsState: boolean,
): ExecJournal {
  const { clock, newId } = setup.env;
  /** The id of the newest step's image, which is not captured yet; `null`: it is kept. */
  let owed: string | null = null;

  async function keepCaptured(capture: Capture, state: ExecState, records: readonly ToolCall[]): Promise<void> {
    const extras = { kind: "step", state, waiting: capture.waiting, elapsed_ms: time.elapsed() } as const;
    const { context } = recorder.state();
    await recorder.keep(capture, { records, extras, drop: [], context });
    release.kept({ id: capture.checkpoint.id, state });
  }

  async function keepLateImage({ state }: Waiting): Promise<void> {
    if (owed === null) return;
    const capture = await recorder.capture(release.machine(), "step", null, owed);
    owed = null;
    await keepCaptured(capture, state, []);
  }

  return {
    ...(setup.imagesAreLate ? { keepLateImage } : {}),
    async keepSuspend(left) {
      await recorder.commit([{ record: "rlm_suspend", exec_id, ...left, at: clock.now() }]);
    },
    nextImage() {
      const { images } = release.machine();
      const atEnd = keepsState ? { atEnd: images.end(EXPORTS) } : {};
      return { ...images.step(), ...atEnd, isLate: setup.imagesAreLate };
    },
    async keepStep({ calls: waiting, state, image }) {
      const { last } = recorder.state().account;
      const made = waiting.filter(({ id }) => !callIn(last, id));
      if (made.length === 0) return;
      await history.keep(state.library);
      const at = clock.now();
      const before = last ? callCount(last) : 0;
      const capture = setup.imagesAreLate ? null : await recorder.capture(release.machine(), "step", image);
      owed = capture ? null : newId();
      const records = made.map(({ id, name, args, counts }, index) => ({
        record: "rlm_tool_call" as const,
        exec_id,
        call_id: id,
        checkpoint_id: capture?.checkpoint.id ?? owed,
        name,
        args,
        args_hash: hashOf(args),
        ...(counts === undefined ? {} : { counts }),
        ...calls.marks({ name }),
        call_count: before + index + 1,
        output_bytes: Buffer.byteLength(state.output.stdout) + Buffer.byteLength(state.output.stderr),
        at,
      }));
      await (capture ? keepCaptured(capture, state, records) : recorder.commit(records));
      calls.made();
    },
    async keepRun(call_id) {
      await recorder.commit([{ record: "rlm_run", exec_id, call_id, at: clock.now() }]);
    },
    async keepResult(call, { settlement, record, cacheKey }, signal) {
      const result = resultOf(call, { settlement, record }, { exec_id, elapsed_ms: time.elapsed(), at: clock.now() });
      await recorder.commit([result], cacheKey === null ? {} : keptBy(cacheKey, result));
      await setup.answers.recorded?.(call);
      // A call that was aborted is not counted as done.
      calls.answered(call, settlement.ok || !signal.aborted);
      if (record.tool_override_event) events.push(record.tool_override_event);
    },
  };
}

/** Longer answers are asked for again, UTF-16 units of their JSON. */
const MOST_KEPT_UNITS = 2 ** 20;

/** The answer as later calls find it, in the commit of its record. */
function keptBy(
  { cache, answer }: CallKeys,
  { value, model, mended, usage, at }: ToolResult,
): Pick<Step, "cache" | "answers"> {
  if (JSON.stringify(value).length > MOST_KEPT_UNITS) return {};
  const spent = { tokens: tokensOf(usage), nanodollars: nanodollars(usage.cost_usd) };
  return {
    ...(cache === null ? {} : { cache: [{ key: cache, value: { value, ...withoutUndefined({ mended }) }, at }] }),
    ...(answer === null ? {} : { answers: [{ ...answer, value, model, mended, ...spent, at }] }),
  };
}

/** The conversation in which an exec runs. It stays the same until the exec has ended. */
export interface ExecHistory {
  /** `null` if there is none. */
  readonly given: GivenHistory | null;
  /** `null` if there is none, or if it is lost. */
  readonly context: Context | null;
  /**
   * Keeps the conversation once a cell has touched it: from then on the store has the text. Call it before each commit.
   * @param kept what the machine has kept of the exec
   */
  keep(kept: Json | undefined): Promise<void>;
}

/**
 * @param now the conversation as its host has it: for an exec that is resumed, made again up to its start
 * @param start of an exec that is resumed: its conversation is that of the same hash, this one or that in the store
 */
export async function openHistory(
  { setup: { env, space } }: Pick<Work, "setup">,
  now: Context | null,
  start: Start | null,
): Promise<ExecHistory> {
  const given = start === null ? now : await formerHistory(start.history_hash ?? null);
  const context = given && "lost" in given ? null : given;
  let isKept = false;

  async function formerHistory(hash: string | null): Promise<GivenHistory | null> {
    if (hash === null) return null;
    if (now?.hash === hash) return now;
    return storedContext(env.store, hash).catch((error: unknown) => {
      if (!hasCode(error, "context_lost")) throw error;
      return { lost: `${error.message}, and the one that is here now is another` };
    });
  }

  return {
    given,
    context,
    async keep(kept) {
      if (isKept || !context || touchedIn(kept) === null) return;
      await keepContext(env.store, context, space);
      isKept = true;
    },
  };
}
