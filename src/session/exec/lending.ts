import {
  type Answer,
  type CellEnd,
  type CheckpointRequest,
  type ExecInput,
  type ExecSignals,
  type ExecState,
  type Json,
  lostEnd,
  type Over,
  placeless,
  RlmError,
  type Slice,
  SUSPENDED,
} from "../../../runtime/index.ts";
import type { Machine } from "../machine/machines.ts";
import { continuationAt } from "./interrupted.ts";
import type { LoopMachine } from "./ports.ts";
import { begin } from "./replay.ts";
import { positionOf } from "./session-state.ts";
import type { Work } from "./work.ts";

export interface LendingParts {
  readonly work: Pick<Work, "setup" | "recorder">;
  /** The machine is not the session's own. */
  readonly isScratch: boolean;
  /** Gives a machine what its cell may use beside the context. */
  equip(machine: Machine): Promise<void>;
}

/** The machine of an exec. */
export interface Lending extends LoopMachine {
  /** The machine that the exec runs in at the moment, or the last one. */
  machine(): Machine;
  /** The guest as it waits now is kept in this checkpoint. */
  kept(step: string): void;
}

/** Time that a machine waits for answers before another one may have its thread, ms. It takes about 10 to open it again. */
const LENT_AFTER_MS = 500;
const NEVER = new AbortController().signal;

/**
 * Lends the thread of a machine whose calls take long. All of its exec is in the newest step and in the records since. The machine
 * is opened again from there when the next answer comes, and is given once more what it was given since. Nothing is recorded for
 * that, so a kill finds what it finds of a machine that stays.
 */
export function openLending(first: Machine, { work: { setup, recorder }, isScratch, equip }: LendingParts): Lending {
  const { guest, env, guestOptions, isDry } = setup;
  /** Ids of the calls whose answers the guest was given. */
  const given = new Set<string>();
  let machine = first;
  let gone: Promise<void> | null = null;
  let callOff = () => {};
  /** The newest checkpoint of this process, and the state in it: one from the store could raise limits. */
  let step: { readonly id: string; readonly state: ExecState } | null = null;
  let exec: { input: Pick<ExecInput, "source" | "state" | "facts" | "wantsWhole">; signals: ExecSignals };

  function giveUp(): Promise<void> {
    gone = isScratch ? Promise.resolve(machine[Symbol.asyncDispose]()) : guest.end();
    return gone;
  }

  /** True if the machine was not given up. It then counts as used again. */
  function isBack(): boolean {
    callOff();
    if (gone === null) machine.sandbox.wake();
    return gone === null;
  }

  async function following(advance: Promise<Slice>): Promise<Slice> {
    const slice = await advance;
    exec.input = { ...exec.input, state: slice.state };
    return slice;
  }

  const over = (end: CellEnd, lost: string): Over => ({
    ...{ kind: "over", end, state: exec.input.state, lost, whole: null, asides: [] },
  });

  async function openAgain(id: string): Promise<ReturnType<typeof continuationAt>> {
    await gone;
    const records = recorder.state().account.last ?? { calls: [], results: [] };
    const position = positionOf(recorder.state());
    const at = await (isScratch ? guest.scratchAtStep(id, position) : guest.useStep(id, "keep", position));
    machine = at.machine;
    gone = null;
    await equip(machine);
    return continuationAt(at.row, records);
  }

  async function reopened(answers: readonly Answer[], facts: Json, image: CheckpointRequest | null): Promise<Slice> {
    const { signal: cancel = NEVER, suspend } = exec.signals;
    const wanted = new Set([...given, ...answers.map(({ id }) => id)]);
    try {
      const { id, state } = step ?? { id: "", state: exec.input.state };
      const { at, replay } = await openAgain(id);
      const input = { ...exec.input, facts, waiting: at?.waiting ?? [], state };
      return await begin(
        machine.sandbox,
        { kind: "resume", input, replay: replay.filter(({ id }) => wanted.has(id)) },
        {
          ...{ cancel, suspend, stop: suspend ?? NEVER, image: () => null },
          settle: (some, isLast) => machine.sandbox.settle(some, facts, isLast ? image : null),
        },
      );
    } catch (error) {
      if (!(error instanceof RlmError)) throw error;
      recorder.noticed(error);
      return over(placeless(error.code, "Error", error.message, error.suggestion), error.message);
    }
  }

  return {
    machine: () => machine,
    start(input, image, signals = {}) {
      exec = { input, signals };
      return following(machine.sandbox.start(input, image, signals));
    },
    resume(input, signals = {}) {
      exec = { input, signals };
      return following(machine.sandbox.resume(input, signals));
    },
    kept(id) {
      step = { id, state: exec.input.state };
    },
    lend() {
      if (step === null || isDry) return;
      const rest = () => machine.sandbox.rest(giveUp, guestOptions.idleMs);
      callOff = env.clock.after(LENT_AFTER_MS, rest);
    },
    async settle(answers, facts, image) {
      const slice = await following(
        isBack() ? machine.sandbox.settle(answers, facts, image) : reopened(answers, facts, image),
      );
      for (const { id } of answers) given.add(id);
      return slice;
    },
    async stop() {
      if (isBack()) return machine.sandbox.stop();
      if (exec.signals.suspend?.aborted) return over(lostEnd(SUSPENDED), SUSPENDED);
      const slice = await reopened([], exec.input.facts, null);
      return slice.kind === "waiting" ? machine.sandbox.stop() : slice;
    },
    end: (why) => machine.sandbox.end(why),
  };
}
