import type { PendingCall } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { duration } from "../../platform/figures.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { callIn, pendingCount, resultIn } from "../journal/exec-records.ts";
import { functionOf } from "../journal/ledger.ts";
import type { Suspend } from "../journal/records.ts";
import { askedBy, openReuse } from "../journal/reused-answers.ts";
import type { Budget, SharedBudget } from "../sub-calls/budget.ts";
import { CANCELLED, type ExecTime, TIME_SPENT } from "../sub-calls/call-time.ts";
import type { Answered, CallContext } from "../sub-calls/port.ts";
import { FREE, refused } from "../sub-calls/port.ts";
import type { TakenOver } from "../sub-calls/taken-over.ts";
import type { Continuation, ExecCalls, OnceCalls } from "./ports.ts";
import type { Work } from "./work.ts";
import { noticeOf, openPhases } from "./workflow-reports.ts";

interface ExecCallsOptions extends Pick<Work, "setup" | "recorder" | "exec_id"> {
  readonly budget: Budget;
  readonly time: ExecTime;
  /** A root model reads what the cell prints. */
  readonly isForModel: boolean;
  readonly from: Continuation | null;
  readonly once: Pick<OnceCalls, "hasBegun" | "processRestarted">;
  readonly history: Context | null;
  readonly suspend: AbortSignal | undefined;
  readonly takenOver: TakenOver;
  /** Calls wait for the user in place of failing. */
  readonly waits: boolean;
}

export function openCalls(options: ExecCallsOptions): ExecCalls {
  const { setup, recorder, exec_id, budget, time, from, once, history, suspend } = options;
  /** By the records committed so far. */
  const account = () => recorder.state().account;
  /** Open calls that a child answers. */
  const children = new Set<string>();
  const progress = openCallProgress(options);
  const reusedAnswer = openReusedAnswers(options);

  async function answer(call: PendingCall, signal: AbortSignal, hold: CallContext["hold"]): Promise<Answered> {
    const isLate = options.waits && time.left() === 0;
    const lack = isLate ? TIME_SPENT : options.takenOver.lack(call);
    if (lack) {
      await setup.suspension.wait(call.id, { why: "trouble", error: lack, model: "" }, signal);
      return refused(CANCELLED);
    }
    const hasChild = setup.answers.resumes?.(call) === true;
    if (hasChild) children.add(call.id);
    const isAgain = from?.recorded.has(call.id) === true;
    const interrupted = isAgain && !hasChild;
    const { thinking = "off", sampling = {}, effects } = callIn(account().last, call.id) ?? {};
    const mayRepeat = effects === "once" ? !once.hasBegun(call.id) : setup.answers.repeatable(call);
    const fails = interrupted && (setup.rules.onRestart === "fail" || !mayRepeat);
    if (fails && !(await setup.answers.isUnderWay?.(call.id))) return once.processRestarted(call);
    return setup.answers.answer(call, {
      budget: reported(budget.open(call.id), progress.tell),
      thinking,
      sampling,
      isAgain,
      signal,
      hold,
      startsAgent: (agent) =>
        recorder.commit([{ record: "rlm_run", exec_id, call_id: call.id, agent, at: setup.env.clock.now() }]),
      suspend,
      timeOver: time.over,
      history,
      timeLeft: time.left,
      begun: () => progress.begun(call.id),
    });
  }

  return {
    marks(call) {
      const effects = setup.answers.effectsOf?.(call);
      const { thinking = "off" } = setup.answers;
      const { sampling } = setup.options;
      return { ...(thinking === "off" ? {} : { thinking }), ...withoutUndefined({ sampling, effects }) };
    },
    facts: () => ({
      ...setup.answers.facts,
      ...moneyOf(budget, account().ledger),
      // A call that waits for its user is made, and waits.
      remaining_time_ms: options.waits ? Math.max(1, time.left()) : time.left(),
      job: setup.job && { ...setup.job },
      for_model: options.isForModel,
    }),
    // The answers of a session in a store are looked up there, and the store may fail.
    async answer(call, signal, hold) {
      try {
        return reusedAnswer(call) ?? options.takenOver.answer(call) ?? (await answer(call, signal, hold));
      } catch (error) {
        recorder.noticed(error);
        throw error;
      }
    },
    callOffMs: () => (children.size > 0 ? CHILD_OFF_MS : undefined),
    made() {
      budget.follow(account());
      progress.tell();
    },
    answered({ id }, isDone) {
      budget.close(id, account());
      children.delete(id);
      progress.answered(id, isDone);
    },
  };
}

/** The rest of the budget and the spending since the last load, as cells are told of them. */
function moneyOf(budget: Budget, { tokens, cost_usd }: { readonly tokens: number; readonly cost_usd: number }) {
  return { ...budget.left(), spent_tokens: tokens, spent_cost_usd: cost_usd };
}

/** Finds the answer that the same cell got before it was cancelled; `undefined`: the call is to be answered. */
function openReusedAnswers({ setup, recorder }: ExecCallsOptions): (call: PendingCall) => Answered | undefined {
  const account = () => recorder.state().account;
  const reuse = openReuse(account().reusable, () => account().last?.calls ?? [], askedBy);
  return (call) => {
    const answer = reuse(call.id);
    if (!answer) return undefined;
    const { value, model, mended, by_hand } = answer;
    // Another model may be the reason why the cell is run again.
    if (model && (setup.answers.modelOf?.(call) ?? model) !== model) return undefined;
    const record = { ...FREE, model, cached: true, ...withoutUndefined({ mended, by_hand }) };
    return { settlement: { ok: true, value }, record, cacheKey: null };
  };
}

/** A part of the budget; each hold in it is reported. */
function reported(open: SharedBudget, tell: () => void): SharedBudget {
  return {
    ...open,
    async reserve(estimate, aborted) {
      const held = await open.reserve(estimate, aborted);
      tell();
      return held;
    },
  };
}

/** A child that is aborted first ends its own calls, and keeps what they were charged. */
const CHILD_OFF_MS = 10_000;

/** @param from what the exec continues from; null: it is new */
export function openOnce({ setup, recorder }: Pick<Work, "setup" | "recorder">, from: Continuation | null): OnceCalls {
  const { env, row, rules } = setup;
  const suspended = from?.suspended ?? null;
  return {
    hasBegun: (id) => from?.running.includes(id) === true,
    waitMs(running) {
      // Another process may have the session: no answer could be kept.
      if (row.lost?.aborted) return 0;
      const names = [...new Set(running.map(({ name }) => functionOf(name) ?? name))].join(", ");
      const wait = `stopping: waiting up to ${duration(rules.onceWaitMs)} for ${names}, which must not run twice`;
      env.emit({ kind: "notice", text: `${wait}; stop again to end at once` });
      return rules.onceWaitMs;
    },
    left(begun) {
      if (row.lost?.aborted) return [];
      const { last } = recorder.state().account;
      return (last?.running ?? []).filter((id) => begun.has(id));
    },
    processRestarted({ id, name }) {
      const error = {
        name: "Error",
        code: "process_restarted",
        message: `Process was restarted${howItEnded(id, functionOf(name), suspended)}`,
        suggestion: "The call may or may not have been carried out: make it again, or continue without its answer.",
        retriable: true,
      };
      return { settlement: { ok: false, error }, record: FREE, cacheKey: null };
    },
  };
}

function howItEnded(id: string, called: string | null, suspended: Suspend | null): string {
  if (called === null) return "";
  if (!suspended?.still_running.includes(id)) return `: it ended before ${called} had answered`;
  return `: ${called} still ran ${duration(suspended.waited_ms)} after it was to stop`;
}

/** Reports the calls of an exec to people who wait. */
interface CallProgressReport {
  tell(): void;
  /** The first request of a call leaves. */
  begun(id: string): void;
  /**
   * The record of an answer is kept.
   * @param isDone false: the call was aborted, and counts as running to the end
   */
  answered(id: string, isDone: boolean): void;
}

interface ProgressOptions extends Pick<Work, "setup" | "recorder"> {
  readonly budget: Budget;
}

/** Those of a workflow are told by their phases too, and each answer of them by itself. */
function openCallProgress({ setup, recorder, budget }: ProgressOptions): CallProgressReport {
  const { emit, clock } = setup.env;
  /** By the records committed so far. */
  const account = () => recorder.state().account;
  const running = new Set<string>();
  let done = 0;
  const { last: exec } = account();
  const phases = exec?.start.workflow ? openPhases(exec) : null;

  function byPhase() {
    const { last } = account();
    return phases && last ? { phases: phases.counts(last, running) } : {};
  }

  function tell(): void {
    const { ledger, last } = account();
    const { tokens, cost_usd } = ledger;
    const waiting = last ? Math.max(0, pendingCount(last) - running.size) : 0;
    const { tokens: held_tokens, cost_usd: held_cost_usd } = budget.held();
    const { remaining_sub_calls: left, remaining_functions: functions_left } = budget.left();
    const spent = { tokens, cost_usd, held_tokens, held_cost_usd };
    const lent = functions_left === undefined ? {} : { functions_left };
    const counts = { done, running: running.size, waiting, left };
    emit({ kind: "calls", ...counts, ...spent, ...lent, ...byPhase() });
  }

  function tellAnswer(id: string): void {
    const { last } = account();
    const call = callIn(last, id);
    const result = phases && resultIn(last, id);
    if (!call || !result) return;
    phases.answered(result);
    emit({ kind: "call", ...noticeOf(call, result, clock.now()) });
  }

  return {
    tell,
    begun(id) {
      running.add(id);
      tell();
    },
    answered(id, isDone) {
      if (isDone) {
        running.delete(id);
        done++;
        tellAnswer(id);
      }
      tell();
    },
  };
}
