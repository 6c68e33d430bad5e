import type { Json, PendingCall } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { given } from "../../platform/json.ts";
import { callIn } from "../journal/exec-records.ts";
import type { ToolCall } from "../journal/records.ts";
import type { Budget, SharedBudget } from "../sub-calls/budget.ts";
import type { Answered, CallContext } from "../sub-calls/port.ts";
import type { OnceCalls } from "./once.ts";
import type { Continuation } from "./ports.ts";
import type { ExecTime } from "./time.ts";
import type { Work } from "./work.ts";

export type ExecCalls = ReturnType<typeof openCalls>;

export interface ExecCallsOptions extends Pick<Work, "setup" | "recorder"> {
  readonly budget: Budget;
  readonly time: ExecTime;
  /** A root model reads what the cell prints. */
  readonly isForModel: boolean;
  readonly from: Continuation | null;
  readonly once: Pick<OnceCalls, "hasBegun" | "processRestarted">;
  readonly history: Context | null;
  readonly suspend: AbortSignal | undefined;
}

/** Opens the calls of one exec. They are answered, hold a part of the budget, and are reported as progress. */
export function openCalls(options: ExecCallsOptions) {
  const { setup, recorder, budget, time, from, once, history, suspend } = options;
  /** By the records committed so far. */
  const account = () => recorder.state().account;
  const running = new Set<string>();
  /** Open calls that a child answers. */
  const children = new Set<string>();
  let done = 0;
  const tell = () => {
    const { tokens, cost_usd } = account().ledger;
    const { tokens: held_tokens, cost_usd: held_cost_usd } = budget.held();
    const { remaining_sub_calls: left, remaining_functions: functions_left } = budget.left();
    const spent = { tokens, cost_usd, held_tokens, held_cost_usd };
    const lent = functions_left === undefined ? {} : { functions_left };
    setup.env.emit({ kind: "calls", done, running: running.size, left, ...spent, ...lent });
  };
  return {
    /** The facts of a new call that its record keeps: how it is asked if it does not say it itself, the effects of a function. */
    marks(call: Pick<PendingCall, "name">): Pick<ToolCall, "thinking" | "sampling" | "effects"> {
      const effects = setup.answers.effectsOf?.(call);
      const { thinking = "off" } = setup.answers;
      const { sampling } = setup.options;
      return { ...(thinking === "off" ? {} : { thinking }), ...given({ sampling, effects }) };
    },
    /** The session's facts as they stand now. */
    facts: (): Json => ({
      ...setup.answers.facts,
      ...budget.left(),
      remaining_time_ms: time.left(),
      job: setup.job && { ...setup.job },
      for_model: options.isForModel,
    }),
    /**
     * Must not reject: a call that fails is an answer. Ends early when the signal aborts.
     * @param hold as {@link CallContext.hold}
     */
    async answer(call: PendingCall, signal: AbortSignal, hold: CallContext["hold"]): Promise<Answered> {
      const hasChild = setup.answers.resumes?.(call) === true;
      if (hasChild) children.add(call.id);
      const isAgain = from?.recorded.has(call.id) === true;
      const interrupted = isAgain && !hasChild;
      const { thinking = "off", sampling = {}, effects } = callIn(account().last, call.id) ?? {};
      const mayRepeat = effects === "once" ? !once.hasBegun(call.id) : setup.answers.repeatable(call);
      const fails = interrupted && (setup.rules.onRestart === "fail" || !mayRepeat);
      if (fails && !(await setup.answers.isUnderWay?.(call.id))) return once.processRestarted(call);
      return setup.answers.answer(call, {
        budget: toldOf(budget.open(call.id), tell),
        thinking,
        sampling,
        isAgain,
        signal,
        hold,
        suspend,
        timeOver: time.over,
        history,
        timeLeft: time.left,
        begun() {
          running.add(call.id);
          tell();
        },
      });
    },
    /** Time that the calls that are out may take to end when they are aborted, ms; undefined: as plain calls. */
    callOffMs: () => (children.size > 0 ? CHILD_OFF_MS : undefined),
    /** The records of new calls are kept. */
    made() {
      budget.follow(account());
      tell();
    },
    /** The record of an answer is kept: the ledger has what the call spent. */
    answered({ id }: PendingCall, isDone: boolean) {
      budget.close(id, account());
      children.delete(id);
      // A call that was aborted counts as running to the end: it was given up.
      if (isDone) {
        running.delete(id);
        done++;
      }
      tell();
    },
  };
}

/** A part of the budget; each hold in it is told. */
function toldOf(open: SharedBudget, tell: () => void): SharedBudget {
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
