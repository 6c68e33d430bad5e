import * as v from "valibot";
import {
  type ExecState,
  type Over,
  type PendingCall,
  RlmError,
  remedy,
  type Settlement,
} from "../../../runtime/index.ts";
import { nullIf } from "../../platform/errors.ts";
import type { CheckpointRow } from "../../store/index.ts";
import { positionOf } from "../journal/account.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { ROOT_CALL } from "../journal/ledger.ts";
import { hashOf, readStepExtras, type StepExtras, type ToolCall, type ToolResult } from "../journal/records.ts";
import type { Machine } from "../machine/guest.ts";
import type { SessionParts } from "../parts.ts";
import type { Continuation, Replayed } from "./ports.ts";
import { resultOf, resumeOf, type Work, warn } from "./work.ts";

/** Ids of the checkpoints within an exec, the newest first. */
export function stepsOf({ calls }: Pick<ExecRecords, "calls">): string[] {
  const ids = calls.map(({ checkpoint_id }) => checkpoint_id).filter((id) => id !== null);
  return [...new Set(ids)].reverse();
}

/** The records of an exec from which it continues. */
type Recorded = Pick<ExecRecords, "calls" | "results"> & Partial<Pick<ExecRecords, "running" | "suspended">>;

/** The continuation of an exec from one of its checkpoints. @throws RlmError `checkpoint_lost` if the records do not fit */
export function continuationAt(row: CheckpointRow, records: Recorded): Continuation & { readonly extras: StepExtras } {
  const extras = readStepExtras(row.extras);
  const { calls, results } = records;
  const byId = new Map(calls.map((call) => [call.call_id, call]));
  const waiting = extras.waiting.map((id) => pendingCall(byId.get(id), id, row.id));
  const made = calls.slice(0, calls.findLastIndex(({ checkpoint_id }) => checkpoint_id === row.id) + 1);
  const waits = new Set(extras.waiting);
  const absorbed = new Set(made.map(({ call_id }) => call_id).filter((id) => !waits.has(id)));
  const given = results.filter(({ call_id }) => !absorbed.has(call_id));
  const open = continuationFromStart({ ...records, results: given });
  return { ...open, at: { state: extras.state, waiting }, extras };
}

/** The continuation of an exec from its start: the guest is given the recorded answers again. */
export function continuationFromStart(records: Recorded): Continuation {
  const byId = new Map(records.calls.map((call) => [call.call_id, call]));
  return {
    at: null,
    replay: records.results.map((result) => replayed(result, byId)),
    recorded: new Set(byId.keys()),
    running: records.running ?? [],
    suspended: records.suspended ?? null,
  };
}

/** The calls that were in flight when the process ended. */
export function inFlight({ calls, results }: ExecRecords): readonly ToolCall[] {
  const answered = new Set(results.map(({ call_id }) => call_id));
  return calls.filter(({ call_id }) => !answered.has(call_id));
}

/** Time that the exec had run by its records, ms. */
export function elapsedIn(records: ExecRecords, extras: StepExtras | null): number {
  return records.results.reduce((most, { elapsed_ms }) => Math.max(most, elapsed_ms), extras?.elapsed_ms ?? 0);
}

function pendingCall(call: ToolCall | undefined, id: string, checkpoint: string): PendingCall {
  if (!call) throw unfit(`checkpoint ${checkpoint} waits for ${id}, which has no record`);
  if (hashOf(call.args) !== call.args_hash) throw unfit(`the arguments of ${id} are not those that were hashed`);
  const { name, args, counts } = call;
  return { id, name, args, ...(counts === undefined ? {} : { counts }) };
}

function replayed(result: ToolResult, calls: ReadonlyMap<string, ToolCall>): Replayed {
  const call = calls.get(result.call_id);
  if (!call || call.name !== result.name) throw unfit(`the result of ${result.call_id} belongs to no recorded call`);
  return { ...pendingCall(call, call.call_id, ""), settlement: settlementOf(result) };
}

function settlementOf({ success, value }: ToolResult): Settlement {
  if (success) return { ok: true, value };
  const { retriable, ...error } = v.parse(Failure, Object.assign({}, value));
  return { ok: false, error: retriable === undefined ? error : { ...error, retriable } };
}

const text = v.fallback(v.string(), "");
/** The error that the cell got, read leniently: a field that is missing is empty. */
const Failure = v.object({
  name: text,
  code: text,
  message: text,
  suggestion: text,
  retriable: v.fallback(v.optional(v.boolean()), undefined),
});

function unfit(why: string): RlmError {
  return new RlmError("checkpoint_lost", why, {
    suggestion: `The exec cannot be finished: ${remedy("discard")}, and run the cell again.`,
  });
}

/** Ends the children of an exec's open calls. Answers the records of these calls: what the children have spent is charged. */
export async function giveUpCalls(
  { answers, env }: Pick<SessionParts, "answers" | "env">,
  records: ExecRecords,
): Promise<ToolResult[]> {
  const elapsed_ms = elapsedIn(records, null);
  const charged: ToolResult[] = [];
  for (const { exec_id, call_id: id, name, args } of inFlight(records)) {
    const given = name !== ROOT_CALL ? await answers.discard?.({ id, name, args }) : null;
    if (given) charged.push(resultOf({ id, name }, given, { exec_id, elapsed_ms, at: env.clock.now() }));
  }
  return charged;
}

/**
 * The machine that an exec begins in: the session's.
 * @param isScratch another machine at the same position, which the session does not continue
 */
export function openAtState({ setup: { guest }, recorder }: Work, isScratch: boolean): Promise<Machine> {
  const position = positionOf(recorder.state());
  return isScratch ? guest.scratch(position) : guest.use(position);
}

/**
 * The machine of an interrupted exec, at the newest of its checkpoints that can be read, else at the exec's start. `from`
 * has the answers recorded since.
 *
 * @throws RlmError `checkpoint_lost`
 */
export async function reopen(
  work: Work,
  records: ExecRecords,
  isScratch: boolean,
): Promise<{ machine: Machine; from: Continuation }> {
  const { setup, recorder } = work;
  const position = positionOf(recorder.state());
  for (const { tool_override_event: event } of records.results) if (event) work.events.push(event);
  const since = (ms: number) => {
    work.startedAt = setup.patience.time.monotonic() - ms;
  };
  for (const step of stepsOf(records)) {
    const at = await nullIf(
      "checkpoint_lost",
      isScratch ? setup.guest.scratchAtStep(step, position) : setup.guest.useStep(step, "keep", position),
    );
    if (!at) continue;
    const from = continuationAt(at.row, records);
    since(elapsedIn(records, from.extras));
    await recorder.commit([resumeOf(work, step, from.replay, inFlight(records), from.running)]);
    return { machine: at.machine, from };
  }
  const from = continuationFromStart(records);
  since(elapsedIn(records, null));
  await recorder.commit([resumeOf(work, null, from.replay, inFlight(records), from.running)]);
  const machine = await openAtState(work, isScratch);
  if (machine.isWhole) return { machine, from };
  if (isScratch) await machine[Symbol.asyncDispose]();
  throw new RlmError("checkpoint_lost", "neither a checkpoint of the exec nor the state before it can be read", {
    suggestion:
      "Define the variables again that the cell needs, then run it again; memory, helpers and context are kept.",
  });
}

/** Warns that the state is that before the exec. */
export function toldRestored({ recorder }: Pick<Work, "recorder">, state: ExecState): void {
  const { checkpoint, last } = recorder.state().account;
  const before = checkpoint === null ? "a fresh guest" : `checkpoint ${checkpoint}`;
  warn(state, `state_restored: ${before}, after 0 of ${last?.calls.length ?? 0} sub-calls`);
}

/**
 * The machine of a cell was lost, or its state could not be kept. Opens the newest checkpoint of the exec that `keep` takes,
 * else the state before the exec.
 *
 * @param keep gives null for a machine that it does not take
 * @returns what `keep` gave; null if the session has the state already, which is that before the exec
 */
export async function restored<Kept>(
  work: Work,
  { state, end, asides }: Over,
  keep: (machine: Machine) => Promise<Kept | null>,
): Promise<Kept | null> {
  const { setup, recorder } = work;
  const { account } = recorder.state();
  const calls = account.last?.calls ?? [];
  // The next machine waits for the end of the lost one. An exec that opens none does not.
  void setup.guest.end();
  // Records that do not fit an image leave only what was there before them.
  const isLost = end.kind === "error" && end.code === "checkpoint_lost";
  for (const step of isLost ? [] : stepsOf({ calls })) {
    const at = await nullIf("checkpoint_lost", setup.guest.useStep(step, "drop", positionOf(recorder.state())));
    if (!at) continue;
    const made = calls.findLastIndex(({ checkpoint_id }) => checkpoint_id === step) + 1;
    const settled = made - continuationAt(at.row, { calls, results: [] }).extras.waiting.length;
    const warning = `state_restored: checkpoint ${step}, after ${settled} of ${calls.length} sub-calls`;
    warn(state, warning);
    const kept = await keep(at.machine);
    if (kept) return kept;
    state.warnings.splice(state.warnings.indexOf(warning), 1);
    await setup.guest.end();
  }
  toldRestored(work, state);
  if (asides.length === 0) return null;
  // This failure must not fail the next exec too.
  const machine = await setup.guest.use(positionOf(recorder.state()));
  for (const aside of asides) await machine.sandbox.enter("helpers.aside", { ...aside });
  return keep(machine);
}
