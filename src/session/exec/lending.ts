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
import { positionOf } from "../state.ts";
import { continuationAt } from "./interrupted.ts";
import { begin } from "./loop.ts";
import type { Continuation, LoopMachine } from "./ports.ts";
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
  kept(step: KeptStep): void;
}

/** A checkpoint that this process has made, and the state in it: one from the store could raise limits. */
interface KeptStep {
  readonly id: string;
  readonly state: ExecState;
}

/** Time that a machine waits for answers before another one may have its thread, ms. It takes about 10 to open it again. */
const LENT_AFTER_MS = 500;
const NEVER = new AbortController().signal;

/**
 * Lends the thread of a machine whose calls take long. All of its exec is in the newest step and in the records since. The machine
 * is opened again from there when the next answer comes, and is given once more what it was given since. Nothing is recorded for
 * that, so a kill finds what it finds of a machine that stays.
 */
export function openLending(first: Machine, parts: LendingParts): Lending {
  const { setup, recorder } = parts.work;
  const lent = openLent(first, parts);
  /** Ids of the calls whose answers the guest was given. */
  const given = new Set<string>();
  let newest: KeptStep | null = null;
  let exec: { input: Pick<ExecInput, "source" | "state" | "facts" | "wantsWhole">; signals: ExecSignals };
  const sandbox = () => lent.machine().sandbox;

  async function following(advance: Promise<Slice>): Promise<Slice> {
    const slice = await advance;
    exec.input = { ...exec.input, state: slice.state };
    return slice;
  }

  const over = (end: CellEnd, lost: string): Over => ({
    kind: "over",
    end,
    state: exec.input.state,
    lost,
    whole: null,
    asides: [],
  });

  async function openAgain(
    { id, state }: KeptStep,
    answers: readonly Answer[],
    facts: Json,
    image: CheckpointRequest | null,
  ): Promise<Slice> {
    const wanted = new Set([...given, ...answers.map(({ id }) => id)]);
    try {
      const { at, replay } = await lent.openAt(id);
      const input = { ...exec.input, facts, waiting: at?.waiting ?? [], state };
      const beginning = { kind: "resume", input, replay: replay.filter(({ id }) => wanted.has(id)) } as const;
      return await begin(sandbox(), beginning, {
        signals: exec.signals,
        stop: exec.signals.suspend ?? NEVER,
        image: () => null,
        settle: (some, isLast) => sandbox().settle(some, facts, isLast ? image : null),
      });
    } catch (error) {
      if (!(error instanceof RlmError)) throw error;
      recorder.noticed(error);
      return over(placeless(error.code, "Error", error.message, error.suggestion), error.message);
    }
  }

  return {
    machine: lent.machine,
    start(input, image, signals = {}) {
      exec = { input, signals };
      return following(sandbox().start(input, image, signals));
    },
    resume(input, signals = {}) {
      exec = { input, signals };
      return following(sandbox().resume(input, signals));
    },
    kept(step) {
      newest = step;
    },
    lend() {
      if (newest && !setup.isDry) lent.lend(newest);
    },
    async settle(answers, facts, image) {
      const step = lent.takeBack();
      const slice = await following(
        step ? openAgain(step, answers, facts, image) : sandbox().settle(answers, facts, image),
      );
      for (const { id } of answers) given.add(id);
      return slice;
    },
    async stop() {
      const step = lent.takeBack();
      if (!step) return sandbox().stop();
      if (exec.signals.suspend?.aborted) return over(lostEnd(SUSPENDED), SUSPENDED);
      const slice = await openAgain(step, [], exec.input.facts, null);
      return slice.kind === "waiting" ? sandbox().stop() : slice;
    },
    end: (why) => sandbox().end(why),
  };
}

/** The machine whose thread is lent, and whether it is still there. */
function openLent(first: Machine, { work: { setup, recorder }, isScratch, equip }: LendingParts) {
  const { guest, env, guestOptions } = setup;
  let machine = first;
  let gone: { readonly step: KeptStep; readonly ending: Promise<void> } | null = null;
  let callOff = () => {};

  function giveUp(step: KeptStep): Promise<void> {
    const ending = isScratch ? Promise.resolve(machine[Symbol.asyncDispose]()) : guest.end();
    gone = { step, ending };
    return ending;
  }

  return {
    machine: () => machine,
    lend(step: KeptStep): void {
      const rest = () => machine.sandbox.rest(() => giveUp(step), guestOptions.idleMs);
      callOff = env.clock.after(LENT_AFTER_MS, rest);
    },
    /** Ends the lending. Answers the step that a machine which was given up is opened from; null: it is still there. */
    takeBack(): KeptStep | null {
      callOff();
      if (gone === null) machine.sandbox.wake();
      return gone?.step ?? null;
    },
    /** Opens the machine again at a checkpoint. Answers what was recorded since. @throws RlmError as `useStep` */
    async openAt(id: string): Promise<Continuation> {
      await gone?.ending;
      const now = recorder.state();
      const position = positionOf(now);
      const at = await (isScratch ? guest.scratchAtStep(id, position) : guest.useStep(id, "keep", position));
      machine = at.machine;
      gone = null;
      await equip(machine);
      return continuationAt(at.row, now.account.last ?? { calls: [], results: [] });
    },
  };
}
