import { callIn, resultIn } from "../journal/exec-records.ts";
import type { Budget } from "../sub-calls/budget.ts";
import { noticeOf, openPhases } from "./told-workflow.ts";
import type { Work } from "./work.ts";

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
export function openCallProgress({ setup, recorder, budget }: ProgressOptions): CallProgressReport {
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
    const { tokens, cost_usd } = account().ledger;
    const { tokens: held_tokens, cost_usd: held_cost_usd } = budget.held();
    const { remaining_sub_calls: left, remaining_functions: functions_left } = budget.left();
    const spent = { tokens, cost_usd, held_tokens, held_cost_usd };
    const lent = functions_left === undefined ? {} : { functions_left };
    emit({ kind: "calls", done, running: running.size, left, ...spent, ...lent, ...byPhase() });
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
