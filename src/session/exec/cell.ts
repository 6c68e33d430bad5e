import {
  type CellEnd,
  clampLimits,
  type ExecSignals,
  type ExecState,
  type Over,
  placeless,
  RlmError,
  remedy,
} from "../../../runtime/index.ts";
import { amount } from "../../platform/figures.ts";
import { given, isRecord } from "../../platform/json.ts";
import { joinSignals } from "../../platform/signals.ts";
import { readQueryResult } from "../../query/index.ts";
import { loadWarnings } from "../contexts/told.ts";
import { leftOfEach, limitsNow } from "../journal/budgets.ts";
import { repliesTold, toolsUnused } from "../journal/call-warnings.ts";
import { coverageIn } from "../journal/coverage.ts";
import { codeOf, type ExecEnvelope, envelope, queryCodeOf } from "../journal/envelope.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { IN_ALL, isScarcer, limitIn, limitsMetBy, limitWarning } from "../journal/limits-met.ts";
import type { Complete } from "../journal/records.ts";
import { openSpared } from "../journal/spared.ts";
import type { Machine } from "../machine/machines.ts";
import { envelopeFacts, type SessionParts } from "../parts.ts";
import { isFull } from "../space.ts";
import { openBudget } from "../sub-calls/budget.ts";
import { FREE } from "../sub-calls/plan.ts";
import { type ExecCalls, openCalls } from "./calls.ts";
import { type ExecHistory, openHistory } from "./conversation.ts";
import { notKept, notRecorded, warn } from "./ends.ts";
import { openExecJournal } from "./exec-journal.ts";
import { giveUpCalls, inFlight } from "./interrupted.ts";
import { keepCellEnd, keepFullEnd, keepQueryEnd } from "./keep-end.ts";
import { type Lending, openLending } from "./lending.ts";
import { runLoop } from "./loop.ts";
import { openOnce } from "./once.ts";
import type { Beginning, Continuation } from "./ports.ts";
import { openAtState, reopen } from "./reopening.ts";
import type { CellRequest, ExecAsked } from "./request.ts";
import { openTime } from "./time.ts";
import { completeOf, unstarted, type Work } from "./work.ts";

/** Runs a cell, or that of a query: opens its machine, runs the loop, delivers the whole result, keeps the end. */
export async function execCell(
  work: Work,
  request: CellRequest,
  { deliver, history: now, ...signals }: ExecAsked,
  interrupted: ExecRecords | null,
): Promise<ExecEnvelope> {
  const { kind } = request;
  const history = await openHistory(work, now ?? null, interrupted?.start ?? null);
  const asked = { ...signals, wantsWhole: !!deliver, history };
  const { machine, over } = await runOnMachine(work, request, asked, interrupted);
  const { end, lost } = over;
  if (tellsOfLoads(work.setup, request)) for (const told of loadWarnings(work.recorder.state())) warn(over.state, told);
  const { library, ...state } = over.state;
  const code = kind === "query" ? queryCodeOf(end) : codeOf(end);
  const coverage = coverageIn(library);
  const fields = { success: code === null, error_code: code, end, state, ...(coverage ? { coverage } : {}) };
  const answer = (complete: Complete, isUnfinished = false) => {
    const facts = envelopeFacts(work.setup, work.recorder.state().account, isUnfinished);
    return envelope({ ...complete, end: complete.end ?? end, state }, facts);
  };
  // The exec of a job whose store failed is not over: a later process goes on where the store is.
  const isGivenBack = work.setup.run !== undefined && work.recorder.hasFailed();
  if (isGivenBack || (signals.suspend?.aborted && lost !== null)) {
    await giveUp(work, kind, machine);
    return answer(completeOf(work, fields), true);
  }
  const keep = async (full: CellEnd | null): Promise<ExecEnvelope> => {
    // A cell that was taken over can end before it has sent what it does not await.
    const left = work.recorder.state().account.last;
    const charged = left ? await giveUpCalls(work.setup, left) : [];
    if (charged.length > 0) await work.recorder.commit(charged);
    if (full) {
      await giveUp(work, kind, machine);
      return answer(await keepFullEnd(work, full, state));
    }
    // No guest code runs after this, so it is all of the result. What fails here leaves the exec to be resumed.
    const whole = code === null && over.whole !== null ? deliveredOf(kind, over.whole) : null;
    if (deliver && whole !== null) await deliver(whole);
    await history.keep(library);
    if (kind === "cell") return answer(await keepCellEnd(work, machine, over, fields));
    await machine?.[Symbol.asyncDispose]();
    return answer(await keepQueryEnd(work, fields));
  };
  try {
    const isRefused = end.kind === "error" && end.code === "store_full";
    return await keep(isRefused ? end : null).catch((error: unknown) => {
      if (isFull(error)) return keep(notRecorded(error));
      throw error;
    });
  } catch (error) {
    await giveUp(work, kind, machine);
    const failed = notKept(error);
    return answer(completeOf(work, { success: false, error_code: codeOf(failed), end: failed }), true);
  }
}

/** True if the envelope goes to the caller that has loaded the context. An ask tells of loads itself; children and jobs get contexts of others. */
function tellsOfLoads({ above, run }: SessionParts, request: CellRequest): boolean {
  return above === undefined && run === undefined && !(request.kind === "cell" && request.ask !== undefined);
}

/** Ends the machine of an exec that is not over: the exec is resumed from the store. */
async function giveUp({ setup }: Work, kind: CellRequest["kind"], machine: Machine | undefined): Promise<void> {
  if (kind === "query") await machine?.[Symbol.asyncDispose]();
  else await setup.guest.end();
}

/** The JSON that the caller asked for: a cell's result, or a query's answer alone. null if the query has none. */
function deliveredOf(kind: CellRequest["kind"], whole: string): string | null {
  if (kind !== "query") return whole;
  const { answer, error } = readQueryResult(JSON.parse(whole));
  return error || answer === null ? null : JSON.stringify(answer);
}

type Asked = ExecSignals & { readonly wantsWhole: boolean; readonly history: ExecHistory };

/** Opens the machine and runs the cell in it. Both can end the exec with an error; the machine is then undefined, or lost. */
async function runOnMachine(
  work: Work,
  request: CellRequest,
  asked: Asked,
  interrupted: ExecRecords | null,
): Promise<{ readonly machine: Machine | undefined; readonly over: Over }> {
  const isScratch = request.kind === "query";
  let machine: Machine | undefined;
  try {
    const opened = interrupted
      ? await reopen(work, interrupted, isScratch)
      : { machine: await openAtState(work, isScratch), from: null };
    machine = opened.machine;
    const equip = async (found: Machine) => {
      await found.useHistory(asked.history.given);
      if (!isScratch) await found.useFunctions(work.setup.functions);
    };
    await equip(machine);
    const lending = openLending(machine, { work, isScratch, equip });
    const over = await runCell(work, request, asked, lending, opened.from).finally(() => {
      machine = lending.machine();
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
async function runCell(
  work: Work,
  request: CellRequest,
  { signal, suspend, wantsWhole, history }: Asked,
  lending: Lending,
  from: Continuation | null,
): Promise<Over> {
  const { setup, recorder, startedAt, events } = work;
  const { account } = recorder.state();
  const { last } = account;
  const wasUnused = account.ledger.tokens === 0;
  const open = last ? inFlight(last).map(({ call_id }) => call_id) : [];
  const unrecorded = (await setup.answers.unrecorded?.(open)) ?? [];
  const budget = openBudget(setup.rules, account, { above: setup.above?.budget, unrecorded });
  const wholeMs = budget.left().remaining_time_ms;
  const spent = placeless(
    "budget_exceeded",
    "BudgetExceededError",
    `the time of the budget is spent (${limitsNow(setup.rules, account).max_time_ms} ms inside execs)`,
    `Summarise and finish, or ${remedy("moreBudget")}.`,
  );
  const state = stateOf(work, request, from);
  // A machine that waits in the middle of a cell cannot be used again.
  if (wholeMs === 0) {
    warn(state, limitWarning("time_ms"));
    return { kind: "over", state, end: spent, lost: from?.at ? "the time was spent" : null, whole: null, asides: [] };
  }
  using time = openTime(setup.patience.time, startedAt, wholeMs);
  const { origin } = setup.row;
  const isForModel = request.kind === "cell" && (request.ask !== undefined || origin === "pi" || origin === "mcp");
  const once = openOnce(work, from);
  const lent = { setup, recorder, budget, time, isForModel, from, once, history: history.context, suspend };
  const calls = sparing(openCalls(lent), work);
  const journal = openExecJournal(work, lending, calls, time, history);
  const ports = { machine: lending, journal, calls, once, clock: setup.env.clock, parking: setup.parking };
  const sites = request.kind === "cell" && request.sites === true;
  // A root model that declared `answer` could no longer answer.
  const kept = request.kind === "cell" && request.ask !== undefined ? ["answer"] : [];
  const given = { source: request.source, state, wantsWhole, facts: calls.facts() };
  const replay = from?.replay ?? [];
  const word = () => Math.floor(setup.env.random() * 2 ** 32);
  const beginning: Beginning = from?.at
    ? { kind: "resume", input: { ...given, waiting: from.at.waiting }, replay }
    : { kind: "start", input: { ...given, sites, kept, seed: [word(), word(), word(), word()] }, replay };
  using out = joinSignals(signal, time.out);
  const over = await runLoop(ports, beginning, { signal: out.signal, suspend });
  const heldBack = suspend?.aborted ? budget.heldBack() : null;
  if (heldBack) setup.parking.holdsBack(heldBack);
  if (events.some(({ denied_tools }) => denied_tools.length > 0)) warn(over.state, "tool_override_denied");
  const results = recorder.state().account.last?.results ?? [];
  for (const field of results.flatMap(({ as_text = [] }) => as_text)) warn(over.state, `number_as_text: ${field}`);
  for (const notice of repliesTold(results)) warn(over.state, notice);
  const asked = results.map(({ model }) => model);
  // An ask tells its caller, and not its model.
  const tells = request.kind === "query" || request.ask === undefined;
  const notices = tells ? setup.answers.noticesOf?.(asked, wasUnused) : [];
  for (const notice of notices ?? []) warn(over.state, notice);
  const { last: records } = recorder.state().account;
  const failed = tells && request.kind === "cell" && over.end.kind === "ok" && records && failedInBatches(records);
  if (failed) warn(over.state, failed);
  const unused = records && (await toolsUnused(records));
  if (unused) warn(over.state, unused);
  const isOut = time.out.aborted && over.end.kind === "cancelled" && !signal?.aborted && !suspend?.aborted;
  tellLimits(work, over.state, isOut);
  return isOut ? { ...over, end: spent, whole: null, asides: [] } : over;
}

/** Warns of the limits that calls of the exec met, and says which are those of the session in all. */
function tellLimits({ setup, recorder }: Work, state: ExecState, isOut: boolean): void {
  const { account } = recorder.state();
  const met = (account.last?.results ?? []).flatMap(limitsMetBy);
  for (const limit of isOut ? [...met, "time_ms" as const] : met) warn(state, limitWarning(limit));
  const { session, question } = leftOfEach(setup.rules, account);
  for (const [at, warning] of state.warnings.entries()) {
    const limit = limitIn(warning);
    if (limit && question && isScarcer(limit, session, question)) state.warnings[at] = `${warning}${IN_ALL}`;
  }
}

/** The warning for calls of batches that failed, since their errors stand among the answers. null if none did. */
function failedInBatches({ calls, results }: ExecRecords): string | null {
  const batched = new Set(calls.filter(({ args }) => args.length > 2).map(({ call_id }) => call_id));
  const answers = results.filter(({ call_id }) => batched.has(call_id));
  const [first, ...more] = answers.filter(({ success }) => !success);
  if (!first) return null;
  const message = isRecord(first.value) ? `: ${first.value.message}` : "";
  return `sub_calls_failed: ${more.length + 1} of ${amount(answers.length, "sub-call")} of a batch failed${message}`;
}

/**
 * The calls; one that the same cell has made before, and that was answered before it was cancelled, takes that answer over. The
 * recorder is told of a store that fails while it is looked up whether a call was answered before.
 */
function sparing(calls: ExecCalls, { recorder, setup: { answers } }: Work): ExecCalls {
  const { account } = recorder.state();
  const spared = openSpared(account.spared, () => recorder.state().account.last?.calls ?? []);
  return {
    ...calls,
    async answer(call, signal, hold) {
      const answer = spared(call.id);
      // Another model may be the reason why the cell is run again.
      const isOfOther = answer?.model && (answers.modelOf?.(call) ?? answer.model) !== answer.model;
      try {
        if (!answer || isOfOther) return await calls.answer(call, signal, hold);
      } catch (error) {
        recorder.noticed(error);
        throw error;
      }
      const { value, model, mended } = answer;
      const record = { ...FREE, model, cached: true, ...given({ mended }) };
      return { settlement: { ok: true, value }, record, cacheKey: null };
    },
  };
}

/** The state that the exec has gathered so far. A store may come from somebody else: its state cannot raise the limits. */
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
