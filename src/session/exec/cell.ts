import {
  type CellEnd,
  clampLimits,
  type ExecSignals,
  type ExecState,
  hasCode,
  type Over,
  placeless,
  RlmError,
  remedy,
} from "../../../runtime/index.ts";
import { amount } from "../../platform/figures.ts";
import { joinSignals } from "../../platform/signals.ts";
import { readQueryResult } from "../../query/index.ts";
import { coverageIn } from "../journal/coverage.ts";
import { codeOf, type ExecEnvelope, envelope, queryCodeOf } from "../journal/envelope.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import {
  answersUnused,
  failedInBatches,
  IN_ALL,
  isScarcer,
  limitIn,
  limitsMetBy,
  limitWarning,
  loadWarnings,
  repliesTold,
  toolsUnused,
} from "../journal/exec-warnings.ts";
import { leftOfEach, limitsNow } from "../journal/ledger.ts";
import type { CellComplete, Complete } from "../journal/records.ts";
import type { Machine } from "../machine/guest.ts";
import { envelopeFacts, type SessionParts } from "../parts.ts";
import { type Budget, openBudget } from "../sub-calls/budget.ts";
import { openTime } from "../sub-calls/call-time.ts";
import { refuseMissing } from "../sub-calls/functions.ts";
import { openTakenOver } from "../sub-calls/taken-over.ts";
import { waitsForUser } from "../sub-calls/wait-for-user.ts";
import { openCalls, openOnce } from "./calls.ts";
import { giveUpCalls, inFlight, openAtState, reopen } from "./interrupted.ts";
import { keepCellEnd, keepFullEnd, keepQueryEnd } from "./keep-end.ts";
import { runLoop } from "./loop.ts";
import type { Beginning, Continuation } from "./ports.ts";
import { type ExecHistory, openExecJournal, openHistory } from "./recorder.ts";
import { beginExec, whileLeased } from "./run-exec.ts";
import { openThreadRelease, type ThreadRelease } from "./thread-release.ts";
import type { CellRequest, ExecAsked } from "./work.ts";
import { completeOf, notKept, notRecorded, unstarted, type Work, warn } from "./work.ts";
import { openPrinted } from "./workflow-reports.ts";

/**
 * Runs a cell, or that of a query: `(state, request) → state'`. Its start is kept before it does anything. Its end is kept
 * before it answers, in one commit with the state that it leaves. A cell that fails is an answer.
 *
 * @param interrupted the records of an exec that has begun and not ended: it is finished in place of a new one
 * @throws RlmError if the caller asked for something that cannot be done, if the store fails or if the lease is lost. The
 * session's state is then what the store has.
 */
export async function beginCell(
  setup: SessionParts,
  request: CellRequest,
  asked: ExecAsked = {},
  interrupted: ExecRecords | null = null,
): Promise<ExecEnvelope> {
  if (interrupted) refuseMissing(setup.options.functions, interrupted);
  return whileLeased(setup, asked, async ({ deliver, history: now, ...signals }) => {
    const work = await beginExec(setup, request, interrupted, now); // ▣ rlm_start
    const history = await openHistory(work, now ?? null, interrupted?.start ?? null);
    const run = { work, request, signals, history, wantsWhole: deliver !== undefined };
    const end = await openAndRun(run, interrupted);
    return keepEnded({ ...run, ...end, fields: endFields(request, end.over), deliver });
  });
}

/** A cell that is to run in a machine. */
interface CellRun {
  readonly work: Work;
  readonly request: CellRequest;
  readonly signals: ExecSignals;
  readonly history: ExecHistory;
  /** The caller takes the whole result. */
  readonly wantsWhole: boolean;
}

/** The machine in which a cell has run, and how the cell ended there. */
interface MachineEnd {
  /** `undefined` if none could be opened. */
  readonly machine: Machine | undefined;
  readonly over: Over;
}

/** A cell that has run, before its end is kept. */
interface EndedCell extends CellRun, MachineEnd {
  /** The fields of its last record that say how it ended. */
  readonly fields: EndFields;
  readonly deliver: ExecAsked["deliver"];
}

/** ▣ Keeps the end of a cell, and returns its envelope. If the exec is to be resumed, nothing is kept, and the machine goes. */
async function keepEnded(cell: EndedCell): Promise<ExecEnvelope> {
  const { work, request, over } = cell;
  if (tellsOfLoads(work.setup, request)) {
    for (const warning of loadWarnings(work.recorder.state())) warn(over.state, warning);
  }
  if (isLeftOpen(cell)) {
    await giveUp(cell);
    return envelopeOf(cell, completeOf(work, cell.fields), true);
  }
  try {
    return envelopeOf(cell, await keepEnding(cell), false);
  } catch (error) {
    await giveUp(cell);
    const end = notKept(error);
    return envelopeOf(cell, completeOf(work, { success: false, error_code: codeOf(end), end }), true);
  }
}

/** True if the exec was suspended, or if it belongs to a job whose store failed: a later process continues where the store is. */
function isLeftOpen({ work, signals, over }: EndedCell): boolean {
  const isGivenBack = work.setup.run !== undefined && work.recorder.hasFailed();
  return isGivenBack || (signals.suspend?.aborted === true && over.lost !== null);
}

/** ▣ Keeps the end with the state of the machine. If the store has no space for that, the end is kept without a state. */
async function keepEnding(cell: EndedCell): Promise<Complete> {
  await chargeOpenCalls(cell.work);
  const { end } = cell.over;
  if (end.kind === "error" && end.code === "store_full") return keepWithoutState(cell, end);
  try {
    return await keepWithState(cell);
  } catch (error) {
    if (hasCode(error, "store_full")) return keepWithoutState(cell, notRecorded(error));
    throw error;
  }
}

/** ▣ Keeps what the children of open calls have spent. A cell that was taken over can end before it has sent such a call. */
async function chargeOpenCalls({ setup, recorder }: Work): Promise<void> {
  const { last } = recorder.state().account;
  const charges = last ? await giveUpCalls(setup, last) : [];
  if (charges.length > 0) await recorder.commit(charges);
}

/** ▣ No guest code runs after this, so it is all of the result. What fails here leaves the exec to be resumed. */
async function keepWithState(cell: EndedCell): Promise<Complete> {
  const { work, request, machine, over, history, deliver, fields } = cell;
  const whole = fields.success && over.whole !== null ? wholeResult(request, over.whole) : null;
  if (deliver && whole !== null) await deliver(whole);
  await history.keep(over.state.library);
  if (request.kind === "cell") return keepCellEnd(work, machine, over, fields);
  await machine?.[Symbol.asyncDispose]();
  return keepQueryEnd(work, fields);
}

/** ▣ The session's state is then that before the exec. */
async function keepWithoutState(cell: EndedCell, refusal: CellEnd): Promise<Complete> {
  await giveUp(cell);
  return keepFullEnd(cell.work, refusal, cell.fields.state);
}

type EndFields = Pick<CellComplete, "success" | "error_code" | "end" | "state" | "coverage">;

function endFields({ kind }: CellRequest, { end, state }: Over): EndFields {
  // Warnings that are added later are in both: they share the list.
  const { library, ...recorded } = state;
  const code = kind === "query" ? queryCodeOf(end) : codeOf(end);
  const coverage = coverageIn(library);
  return { success: code === null, error_code: code, end, state: recorded, ...(coverage ? { coverage } : {}) };
}

function envelopeOf(cell: EndedCell, complete: Complete, isUnfinished: boolean): ExecEnvelope {
  const { setup, recorder } = cell.work;
  const facts = envelopeFacts(setup, recorder.state().account, isUnfinished);
  const { end, state } = cell.fields;
  return envelope({ ...complete, end: complete.end ?? end, state }, facts);
}

/**
 * True if the envelope goes to the caller that has loaded the context. An ask tells of loads itself; children and jobs get
 * contexts of others.
 */
function tellsOfLoads({ above, run }: SessionParts, request: CellRequest): boolean {
  return above === undefined && run === undefined && !isOfAsk(request);
}

const isOfAsk = (request: CellRequest) => request.kind === "cell" && request.ask !== undefined;

/** Ends the machine of an exec that is not over: the exec is resumed from the store. */
async function giveUp({ work, request, machine }: EndedCell): Promise<void> {
  if (request.kind === "query") await machine?.[Symbol.asyncDispose]();
  else await work.setup.guest.end();
}

/** The JSON that the caller asked for: a cell's result, or a query's answer alone. `null` if the query has none. */
function wholeResult({ kind }: CellRequest, whole: string): string | null {
  if (kind !== "query") return whole;
  const { answer, error } = readQueryResult(JSON.parse(whole));
  return error || answer === null ? null : JSON.stringify(answer);
}

/** Opens the machine and runs the cell in it. Both can end the exec with an error; the machine is then undefined, or lost. */
async function openAndRun(run: CellRun, interrupted: ExecRecords | null): Promise<MachineEnd> {
  const { work, request, history } = run;
  const isScratch = request.kind === "query";
  let machine: Machine | undefined;
  try {
    const opened = interrupted
      ? await reopen(work, interrupted, isScratch)
      : { machine: await openAtState(work, isScratch), from: null };
    machine = opened.machine;
    const equip = async (next: Machine) => {
      await next.useHistory(history.given);
      if (!isScratch) await next.useFunctions(work.setup.functions);
    };
    await equip(machine);
    const release = openThreadRelease(machine, { work, isScratch, equip });
    const over = await runCellOnMachine(run, release, opened.from).finally(() => {
      machine = release.machine();
    });
    for (const warning of machine.takeWarnings()) warn(over.state, warning);
    return { machine, over };
  } catch (error) {
    if (machine && isScratch) await machine[Symbol.asyncDispose]();
    if (!(error instanceof RlmError)) throw error;
    work.recorder.noticed(error);
    const { code, message, suggestion } = error;
    const state = unstarted(work);
    for (const warning of machine?.takeWarnings() ?? []) warn(state, warning);
    const end = placeless(code, "Error", message, suggestion);
    return { machine, over: { kind: "over", state, end, lost: machine ? message : null, whole: null, asides: [] } };
  }
}

/**
 * Runs a cell in a machine and answers its calls. When the session's time ends, calls in flight fail with
 * BudgetExceededError and the cell has 5 s to finish. A suspended exec ends with `lost`, and nothing more of it is recorded.
 */
async function runCellOnMachine(run: CellRun, release: ThreadRelease, from: Continuation | null): Promise<Over> {
  const { work, request, history } = run;
  const { signal, suspend } = run.signals;
  const { setup, recorder } = work;
  const { account } = recorder.state();
  const budget = await openExecBudget(work);
  const wholeMs = budget.left().remaining_time_ms;
  const end = timeSpent(limitsNow(setup.rules, account).max_time_ms);
  const state = stateOf(work, request, from);
  const waits = waitsForUser(setup) && !setup.isDry;
  if (wholeMs === 0 && !waits) {
    warn(state, limitWarning("time_ms"));
    // A machine that waits in the middle of a cell cannot be used again.
    const lost = from?.at ? "the time was spent" : null;
    return { kind: "over", state, end, lost, whole: null, asides: [] };
  }
  using time = openTime(setup.patience.time, work.startedAt, wholeMs, waits);
  const once = openOnce(work, from);
  const made = () => recorder.state().account.last?.calls ?? [];
  const takenOver = await openTakenOver(setup, isWorkflow(request) && !setup.isDry, made);
  const calls = openCalls({
    setup,
    recorder,
    exec_id: work.exec_id,
    budget,
    time,
    isForModel: isForModel(setup, request),
    from,
    once,
    history: history.context,
    suspend,
    takenOver,
    waits,
  });
  const journal = openExecJournal(work, release, calls, time, history, keepsState(run));
  const { clock, emit } = setup.env;
  const ports = {
    machine: release,
    journal,
    calls,
    once,
    clock,
    suspension: setup.suspension,
    // A job has the reason in its own row, and the session of a child in that of its parent.
    waitsFor: () => (setup.hasOwnSuspension && !setup.row.lost?.aborted ? setup.suspension.waitsFor() : null),
    ...(isWorkflow(request) ? { printed: openPrinted(state, emit) } : {}),
  };
  using out = joinSignals(signal, time.out);
  const beginning = beginningOf(run, { state, facts: calls.facts() }, from);
  const over = await runLoop(ports, beginning, { signal: out.signal, suspend });
  const heldBack = suspend?.aborted ? budget.heldBack() : null;
  if (heldBack) setup.suspension.holdsBack(heldBack);
  const isOut = time.out.aborted && over.end.kind === "cancelled" && !signal?.aborted && !suspend?.aborted;
  await warnOfCalls(work, request, over, { isFirst: account.ledger.tokens === 0, isOut });
  return isOut ? { ...over, end, whole: null, asides: [] } : over;
}

/** True if the state at the exec's end is kept, whatever that is. */
const keepsState = ({ request, work }: CellRun) => request.kind === "cell" && !work.setup.leavesNoState;

/** The budget of an exec, without what calls that are still open have spent in earlier processes. */
async function openExecBudget({ setup, recorder }: Work): Promise<Budget> {
  const { account } = recorder.state();
  const open = account.last ? inFlight(account.last).map(({ call_id }) => call_id) : [];
  const unrecorded = (await setup.answers.unrecorded?.(open)) ?? [];
  return openBudget(setup.rules, account, { above: setup.above?.budget, unrecorded });
}

const isWorkflow = (request: CellRequest) => request.kind === "cell" && request.workflow === true;

function timeSpent(max_time_ms: number): CellEnd {
  return placeless(
    "budget_exceeded",
    "BudgetExceededError",
    `the time of the budget is spent (${max_time_ms} ms inside execs)`,
    `Summarise and finish, or ${remedy("moreBudget")}.`,
  );
}

/** True if a root model reads what the cell prints. */
function isForModel({ row }: SessionParts, request: CellRequest): boolean {
  const isOfAgent = row.origin === "pi" || row.origin === "mcp";
  return request.kind === "cell" && (request.ask !== undefined || isOfAgent);
}

/** The start of a new exec, or the place from which an interrupted one continues. */
function beginningOf(
  { work, request, wantsWhole }: CellRun,
  { state, facts }: Pick<Beginning["input"], "state" | "facts">,
  from: Continuation | null,
): Beginning {
  const input = { source: request.source, state, wantsWhole, facts };
  const replay = from?.replay ?? [];
  if (from?.at) return { kind: "resume", input: { ...input, waiting: from.at.waiting }, replay };
  const { random } = work.setup.env;
  const word = () => Math.floor(random() * 2 ** 32);
  const sites = request.kind === "cell" && request.sites === true;
  // A root model that declared `answer` could no longer answer.
  const kept = isOfAsk(request) ? ["answer"] : [];
  return { kind: "start", input: { ...input, sites, kept, seed: [word(), word(), word(), word()] }, replay };
}

/** The state that the exec has gathered so far. A store may come from another user: its state cannot raise the limits. */
function stateOf(work: Work, request: CellRequest, from: Continuation | null): ExecState {
  const { limits } = work.setup.rules;
  if (from?.at) {
    const { state } = from.at;
    return { ...state, limits: clampLimits(limits, state.limits), running_ms: Math.max(0, state.running_ms) };
  }
  const fresh = unstarted(work);
  if (request.kind === "query") return { ...fresh, cell: 0, limits: clampLimits(limits, {}) };
  return { ...fresh, limits: clampLimits(limits, request.limits) };
}

/** Facts of a cell that its budget decides. */
interface CellBudget {
  /** No model of the session was asked before it. */
  readonly isFirst: boolean;
  /** It was ended because the time of the budget had run out. */
  readonly isOut: boolean;
}

/** Adds the warnings about a cell's calls to the state of its exec, in the order in which envelopes list them. */
async function warnOfCalls(
  work: Work,
  request: CellRequest,
  { state, end }: Over,
  { isFirst, isOut }: CellBudget,
): Promise<void> {
  const { answers } = work.setup;
  if (work.events.some(({ denied_tools }) => denied_tools.length > 0)) warn(state, "tool_override_denied");
  const { last } = work.recorder.state().account;
  const results = last?.results ?? [];
  for (const field of results.flatMap(({ as_text = [] }) => as_text)) warn(state, `number_as_text: ${field}`);
  for (const notice of repliesTold(results)) warn(state, notice);
  // An ask tells its caller, and not its model.
  if (request.kind === "query" || request.ask === undefined) {
    const models = results.map(({ model }) => model);
    for (const notice of answers.noticesOf?.(models, results, isFirst) ?? []) warn(state, notice);
    const failed = request.kind === "cell" && end.kind === "ok" && last ? failedInBatches(last) : null;
    if (failed !== null) warn(state, failed);
  }
  const unanswered = request.kind === "cell" && request.workflow && last ? unansweredAgents(last) : null;
  if (unanswered !== null) warn(state, unanswered);
  const idle = last && answersUnused(last);
  if (idle) warn(state, idle);
  const unused = last && (await toolsUnused(last));
  if (unused) warn(state, unused);
  warnOfLimits(work, state, isOut);
}

/** Warns of the limits that calls of the exec met, and says which are those of the session in all. */
function warnOfLimits({ setup, recorder }: Work, state: ExecState, isOut: boolean): void {
  const { account } = recorder.state();
  const met = (account.last?.results ?? []).flatMap(limitsMetBy);
  for (const limit of isOut ? [...met, "time_ms" as const] : met) warn(state, limitWarning(limit));
  const { session, question } = leftOfEach(setup.rules, account);
  for (const [at, warning] of state.warnings.entries()) {
    const limit = limitIn(warning);
    if (limit && question && isScarcer(limit, session, question)) state.warnings[at] = `${warning}${IN_ALL}`;
  }
}

/** The warning for agents of a workflow that gave no answer. `null` if each gave one. */
function unansweredAgents({ results }: ExecRecords): string | null {
  const answers = results.filter(({ name }) => name === "llm_query");
  const failed = answers.filter(({ success }) => !success).length;
  return failed === 0 ? null : `agents_unanswered: ${failed} of ${amount(answers.length, "agent")} gave no answer`;
}
