import { checkHelper } from "./cells/helper-check.ts";
import type { Scripts } from "./cells/scripts.ts";
import type { RunClock } from "./clock.ts";
import type { Engine } from "./engine.ts";
import { RlmError } from "./errors.ts";
import type { Heap } from "./heap.ts";
import type { CallScope, GuestLibrary } from "./library.ts";
import { addWarning, type Running } from "./running.ts";

export interface CallScopeOptions {
  readonly library: GuestLibrary;
  readonly clock: RunClock;
  readonly heap: Heap;
  readonly scripts: Scripts;
  readonly running: Running;
  /** The engine is opened with what uses the scope, so it is there only when the guest posts. */
  engine(): Engine;
  notice(text: string): void;
}

/** The exec as a builtin's host function sees it, and the services that it has for the function. */
export function openCallScope(options: CallScopeOptions): CallScope {
  const { library, clock, heap, scripts, running, engine } = options;
  return {
    get limits() {
      return running.state.limits;
    },
    get facts() {
      return running.facts;
    },
    warn: (text) => addWarning(running, text),
    answer(given) {
      running.state.answer = given;
    },
    offClock: clock.offClock,
    checkTime() {
      if (clock.shouldStop()) throw new RlmError("js_timeout", "the exec's time is over", { suggestion: TIME_OVER });
    },
    notice: options.notice,
    checkHelper: (name, helper) => checkHelper(name, helper, { reserved: library.reserved, scripts, engine: engine() }),
    newCalls: () => running.fresh.reduce((sum, { counts = 1 }) => sum + counts, 0),
    sliceMs: clock.sliceMs,
    releaseText(name) {
      engine().releaseText(name);
      heap.grant(0);
    },
  };
}

/** A cell can catch this error. The engine ends the cell soon afterwards. */
const TIME_OVER = "Search less text or with a simpler pattern, or raise max_execution_ms.";
