import * as v from "valibot";
import { type PendingCall, RlmError, remedy, type Settlement } from "../../../runtime/index.ts";
import type { CheckpointRow } from "../../store/index.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { ROOT_CALL } from "../journal/ledger.ts";
import { hashOf, readStepExtras, type StepExtras, type ToolCall, type ToolResult } from "../journal/records.ts";
import type { SessionParts } from "../parts.ts";
import type { Continuation, Replayed } from "./ports.ts";
import { resultOf } from "./work.ts";

/** Ids of the checkpoints within an exec, the newest first. */
export function stepsOf({ calls }: Pick<ExecRecords, "calls">): string[] {
  const ids = calls.map(({ checkpoint_id }) => checkpoint_id).filter((id) => id !== null);
  return [...new Set(ids)].reverse();
}

/** The records of an exec from which it goes on. */
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
