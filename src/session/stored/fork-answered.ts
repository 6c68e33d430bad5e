import { readSubCall, type SubCallRequest } from "../../../builtins/index.ts";
import {
  clampLimits,
  DEFAULT_EXEC_LIMITS,
  firstly,
  type Json,
  noOutput,
  RlmError,
  remedy,
} from "../../../runtime/index.ts";
import { NO_USAGE, taskThread } from "../../models/index.ts";
import { displayName } from "../../platform/ids.ts";
import { jsonOf } from "../../platform/json.ts";
import { shellWord, typedName } from "../../platform/shell-word.ts";
import type { Signer } from "../../settings/signed-settings.ts";
import type { CheckpointRow, SessionRow, Store } from "../../store/index.ts";
import { elapsedIn, stepsOf } from "../exec/interrupted.ts";
import { plainEnd } from "../exec/work.ts";
import { type Account, EMPTY_ACCOUNT, factsOf, follow } from "../journal/account.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { isSubCall } from "../journal/ledger.ts";
import {
  type Complete,
  type JournalRecord,
  readJournal,
  readRecord,
  readStepExtras,
  type Start,
  type ToolCall,
  type ToolResult,
} from "../journal/records.ts";
import { openWorkflowMarks } from "../workflow-marks.ts";
import { remarksOfCopy, withRemarks } from "./remarks.ts";
import { checkNewName, type Forking, factsIn, type SessionSummary, sessionNamed, summaryOf } from "./sessions.ts";

/** An answer that a person gives to a call. */
export interface GivenAnswer {
  /** The number of a call of the newest exec, as `show` prints it, or the id of the call. */
  readonly call: string;
  /** Default: null, as for a call that is skipped. */
  readonly value?: Json | undefined;
  /** The call is skipped: whatever its schema, its answer is null. */
  readonly skip?: boolean | undefined;
}

/** A fork in which calls have answers that a person gave. */
export interface AnsweredFork {
  readonly session: SessionSummary;
  /**
   * `continued`: the exec goes on at its newest checkpoint. `again`: a guest has used the answers that were replaced, so the cell is
   * to run again, and its calls take over all other answers.
   */
  readonly how: "continued" | "again";
}

type AnsweredForking = Omit<Forking, "checkpoint" | "endsAsk"> & {
  readonly newId: () => string;
  /** Signs the workflow of a cell that is to run again, if the user began it. */
  readonly signer: Pick<Signer, "sign" | "doubt"> | null;
};

/**
 * Makes a session of another one, in which these calls of its newest exec have these answers. The other one stays as it is.
 *
 * @throws RlmError `session_not_found`, `session_exists`, `checkpoint_lost`; `invalid_argument` for an answer that cannot be given
 */
export async function forkWithAnswers(
  store: Store,
  nameOrId: string,
  forking: AnsweredForking,
  given: readonly GivenAnswer[],
): Promise<AnsweredFork> {
  if (forking.name !== null) checkNewName(forking.name);
  const parent = await sessionNamed(store, nameOrId);
  const rows = (await store.journal(parent.id)).map(({ seq, record }) => ({ seq, record: readRecord(record) }));
  const account = rows.reduce((before, { record }) => follow(before, record), EMPTY_ACCOUNT);
  const exec = newestCell(parent, account);
  const answers = new Map<string, Json>();
  for (const answer of given) {
    const call = callNamed(parent, exec, answer.call);
    if (answers.has(call.call_id))
      throw refusal(`the call ${answer.call} is answered twice`, "Give one answer for it.");
    answers.set(call.call_id, await checkedAnswer(call, answer));
  }
  const source: Source = { store, parent, rows, exec, answers };
  const step = stepBefore(source, await store.checkpoints(parent.id));
  const fork = { ...forking, settings: withRemarks(forking.settings(parent), remarksOfCopy(parent, forking.name)) };
  const made = step === null ? await beforeExec(source, fork) : await atStep(source, step, fork);
  return { session: await kept(source, made), how: step === null ? "again" : "continued" };
}

/** The session that is forked, as far as its newest exec goes. */
interface Source {
  readonly store: Store;
  readonly parent: SessionRow;
  readonly rows: readonly { readonly seq: number; readonly record: JournalRecord }[];
  readonly exec: ExecRecords;
  /** By the ids of the calls. */
  readonly answers: ReadonlyMap<string, Json>;
}

/** A fork, and the records that it gets beside those that it shares. */
interface Made {
  readonly row: SessionRow;
  readonly isLeased: boolean;
  readonly records: readonly JournalRecord[];
}

type NewFork = Omit<AnsweredForking, "settings"> & { readonly settings: Json };

function refusal(problem: string, suggestion: string): RlmError {
  return new RlmError("invalid_argument", problem, { suggestion });
}

/** The newest exec of a session, if calls of it can be answered. */
function newestCell(parent: SessionRow, { last, ask }: Account): ExecRecords {
  const isOfAsk = ask !== null && !ask.complete;
  if (last && last.start.kind === "cell" && last.start.ask === undefined && !isOfAsk) return last;
  throw refusal(
    `the newest exec of ${displayName(parent)} is no cell, so no call of it can be answered`,
    `${firstly("fork", shellWord(typedName(parent)))} at a checkpoint before it.`,
  );
}

function callNamed(parent: SessionRow, { calls }: ExecRecords, typed: string): ToolCall {
  const call = calls.find(({ call_id }, index) => call_id === typed || String(index + 1) === typed);
  if (call && isSubCall(call.name)) return call;
  const name = displayName(parent);
  const suggestion = `Name a sub-call by its number: ${remedy("listCheckpoints", shellWord(typedName(parent)))}.`;
  if (call) throw refusal(`call ${typed} of ${name} asks no model and no agent`, suggestion);
  const known = calls.length === 0 ? "it has made none" : `its calls are 1 to ${calls.length}`;
  throw refusal(`${name} has no call ${typed}: ${known}`, suggestion);
}

/** The answer, if it is one that the call can have. */
async function checkedAnswer(
  { name, args }: ToolCall,
  { call, value = null, skip = false }: GivenAnswer,
): Promise<Json> {
  if (skip) return null;
  const { schema, or_text = false, cites = false }: SubCallRequest = readSubCall(name, args);
  if (cites)
    throw refusal(`call ${call} asks for places too, which cannot be given`, "Skip it, or answer another call.");
  if (schema === undefined || (or_text && typeof value === "string")) {
    if (typeof value === "string") return value;
    throw refusal(`call ${call} has no schema, so its answer is a text`, 'Give a text as JSON, such as "yes".');
  }
  const read = await taskThread().run("value", [JSON.stringify(value), schema, null], new AbortController().signal);
  if (read.ok) return value;
  throw refusal(
    `the answer does not fit the schema of call ${call}: ${read.problems.join("; ")}`,
    "Correct the answer.",
  );
}

/** The newest checkpoint, if its guest still waits for all calls that get an answer; null: the cell is to run again. */
function stepBefore({ exec, rows, answers }: Source, checkpoints: readonly CheckpointRow[]): CheckpointRow | null {
  const [newest] = exec.complete ? [] : stepsOf(exec);
  const step = checkpoints.find(({ id }) => id === newest);
  if (!step) return null;
  const waits = new Set(readStepExtras(step.extras).waiting);
  const seq =
    rows.findLast(({ record }) => record.record === "rlm_tool_call" && record.checkpoint_id === newest)?.seq ?? 0;
  const isOpen = (call: string) =>
    waits.has(call) &&
    !rows.some((row) => row.seq <= seq && row.record.record === "rlm_tool_result" && row.record.call_id === call);
  return [...answers.keys()].every(isOpen) ? step : null;
}

/** Forks at a checkpoint within the exec, with the answers recorded since and those that are given. */
async function atStep(
  { store, parent, rows, exec, answers }: Source,
  step: CheckpointRow,
  fork: NewFork,
): Promise<Made> {
  const row = await store.fork(parent.id, step.id, fork);
  const since = rows.flatMap(({ seq, record }) =>
    seq > row.last_seq && record.record === "rlm_tool_result" ? record : [],
  );
  const elapsed_ms = elapsedIn(exec, readStepExtras(step.extras));
  const given = exec.calls.flatMap(({ call_id, name }): ToolResult[] => {
    const value = answers.get(call_id);
    if (value === undefined) return [];
    return [{ ...BY_HAND, exec_id: exec.start.exec_id, call_id, name, value, elapsed_ms, at: fork.at }];
  });
  return { row, isLeased: false, records: [...since.filter(({ call_id }) => !answers.has(call_id)), ...given] };
}

/** The record of an answer that a person gave: nothing was sent. */
const BY_HAND = {
  record: "rlm_tool_result",
  success: true,
  usage: NO_USAGE,
  attempts: [],
  model: "",
  refused: false,
  cached: true,
  by_hand: true,
  tool_override_event: null,
} as const;

/**
 * Forks at the state before the exec, with its records: the exec counts as given up there. Another one begins, which takes over
 * its answers and those that are given.
 */
async function beforeExec(source: Source, fork: NewFork): Promise<Made> {
  const { store, parent, rows, exec, answers } = source;
  const { start } = exec;
  const begins = rows.findIndex(({ record }) => record.record === "rlm_start" && record.exec_id === start.exec_id);
  const before = rows.slice(0, begins).reduce((account, { record }) => follow(account, record), EMPTY_ACCOUNT);
  const { checkpoint } = before;
  const row = checkpoint === null ? await store.create(fork) : await store.fork(parent.id, checkpoint, fork);
  const copied = rows.flatMap(({ seq, record }) => (seq > row.last_seq ? withoutState(record, start.exec_id) : []));
  const ended = exec.complete ? [] : [givenUp(exec, before, fork.at)];
  const again = startedAgain(start, answers, fork);
  return { row, isLeased: checkpoint === null, records: [...copied, ...ended, again] };
}

/** The record, without the state that the exec has left. */
function withoutState(record: JournalRecord, exec_id: string): JournalRecord {
  return record.record === "rlm_complete" && record.exec_id === exec_id ? { ...record, checkpoint_id: null } : record;
}

/** The end of an exec that is given up. */
function givenUp({ start, calls }: ExecRecords, account: Account, at: number): Complete {
  const limits = clampLimits(DEFAULT_EXEC_LIMITS, start.limits);
  const { exec_id } = start;
  const cell = account.cells + 1;
  return {
    ...plainEnd(account, exec_id, at),
    kind: start.kind,
    success: false,
    error_code: "cancelled",
    end: { kind: "cancelled" },
    state: { exec_id, cell, limits, output: noOutput(), warnings: [], running_ms: 0, next_call: 1 },
    call_count: calls.length,
    resumed: 0,
  };
}

/** The start of the exec that runs the cell again. */
function startedAgain(start: Start, answers: Source["answers"], { newId, signer, at }: NewFork): Start {
  const { call: _call, workflow, ...asked } = start;
  const exec_id = newId();
  const marks = openWorkflowMarks(signer);
  const isOwn = workflow !== undefined && marks.doubt(start) === null;
  const mark = isOwn ? marks.mark(exec_id, start.cell ?? "") : workflow;
  const given = Array.from(answers, ([call_id, value]) => ({ call_id, value }));
  const question = start.question?.id === start.exec_id ? { question: { ...start.question, id: exec_id } } : {};
  const again = { exec_id: start.exec_id, answers: given };
  return { ...asked, ...question, ...(mark === undefined ? {} : { workflow: mark }), exec_id, again, at };
}

/** ▣ Keeps the records of a fork. */
async function kept({ store, parent }: Source, { row, isLeased, records }: Made): Promise<SessionSummary> {
  const copied = (await readJournal(store, row.id)).reduce(follow, EMPTY_ACCOUNT);
  // No load has come in between.
  const facts = jsonOf(factsOf(records.reduce(follow, copied), factsIn(parent).context));
  if (!isLeased) await store.lease(row.id);
  await store.commit(row.id, { records: records.map((record) => ({ ...record })), facts });
  await store.release(row.id);
  return summaryOf({ ...row, facts, busy: false, last_seq: row.last_seq + records.length });
}
