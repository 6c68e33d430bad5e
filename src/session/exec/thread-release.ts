import {
  type Answer,
  type CellEnd,
  type ExecState,
  type Json,
  lostEnd,
  type Over,
  placeless,
  RlmError,
  type Slice,
  type SliceImage,
  SUSPENDED,
} from "../../../runtime/index.ts";
import { positionOf } from "../journal/account.ts";
import type { Machine } from "../machine/guest.ts";
import { continuationAt } from "./interrupted.ts";
import { begin } from "./loop.ts";
import type { Continuation, LoopMachine, WaitingExec } from "./ports.ts";
import type { Work } from "./work.ts";

interface ReleaseParts {
  readonly work: Pick<Work, "setup" | "recorder">;
  /** The machine is not the session's own. */
  readonly isScratch: boolean;
  /** Gives a machine what its cell may use beside the context. */
  equip(machine: Machine): Promise<void>;
}

/** The machine of an exec, whose thread other machines may use while the exec waits. */
export interface ThreadRelease extends LoopMachine {
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
const RELEASED_AFTER_MS = 500;
const NEVER = new AbortController().signal;

/**
 * Releases the thread of a machine whose calls take long. All of its exec is in the newest step and in the records since. The
 * machine is opened again from there when the next answer comes, and is given once more what it was given since. Nothing is
 * recorded for that, so a kill finds what it finds of a machine that stays.
 */
export function openThreadRelease(first: Machine, parts: ReleaseParts): ThreadRelease {
  const { setup, recorder } = parts.work;
  const released = openReleasedMachine(first, parts);
  /** Ids of the calls whose answers the guest was given. */
  const given = new Set<string>();
  let newest: KeptStep | null = null;
  const sandbox = () => released.machine().sandbox;

  async function openAgain(
    { step, exec }: Released,
    answers: readonly Answer[],
    facts: Json,
    image: SliceImage | null,
  ): Promise<Slice> {
    const wanted = new Set([...given, ...answers.map(({ id }) => id)]);
    try {
      const { at, replay } = await released.openAt(step.id);
      const input = { ...exec.input, facts, waiting: at?.waiting ?? [], state: step.state };
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
      return over(exec, placeless(error.code, "Error", error.message, error.suggestion), error.message);
    }
  }

  return {
    machine: released.machine,
    start: first.sandbox.start,
    resume: first.sandbox.resume,
    kept(step) {
      newest = step;
    },
    release(exec) {
      if (newest && !setup.isDry) released.release({ step: newest, exec });
    },
    async settle(answers, facts, image) {
      const gone = released.takeBack();
      const slice = await (gone ? openAgain(gone, answers, facts, image) : sandbox().settle(answers, facts, image));
      for (const { id } of answers) given.add(id);
      return slice;
    },
    async stop() {
      const gone = released.takeBack();
      if (!gone) return sandbox().stop();
      const { exec } = gone;
      if (exec.signals.suspend?.aborted) return over(exec, lostEnd(SUSPENDED), SUSPENDED);
      const slice = await openAgain(gone, [], exec.input.facts, null);
      return slice.kind === "waiting" ? sandbox().stop() : slice;
    },
    end: (why) => sandbox().end(why),
  };
}

function over({ state }: WaitingExec, end: CellEnd, lost: string): Over {
  return { kind: "over", end, state, lost, whole: null, asides: [] };
}

/** The state from which an exec continues whose machine was given up. */
interface Released {
  readonly step: KeptStep;
  readonly exec: WaitingExec;
}

/** Opens the machine whose thread is released, and knows whether the machine is still there. */
function openReleasedMachine(first: Machine, { work: { setup, recorder }, isScratch, equip }: ReleaseParts) {
  const { guest, env, guestOptions } = setup;
  let machine = first;
  let gone: { readonly released: Released; readonly ending: Promise<void> } | null = null;
  let callOff = () => {};

  function giveUp(released: Released): Promise<void> {
    const ending = isScratch ? Promise.resolve(machine[Symbol.asyncDispose]()) : guest.end();
    gone = { released, ending };
    return ending;
  }

  return {
    machine: () => machine,
    release(released: Released): void {
      const rest = () => machine.sandbox.rest(() => giveUp(released), guestOptions.idleMs);
      callOff = env.clock.after(RELEASED_AFTER_MS, rest);
    },
    /** Ends the release. Returns what a machine that was given up is opened from; `null` if it is still there. */
    takeBack(): Released | null {
      callOff();
      if (gone === null) machine.sandbox.wake();
      return gone?.released ?? null;
    },
    /** Opens the machine again at a checkpoint. Returns what was recorded since. @throws RlmError as `useStep` */
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
