import type { Restoration } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import type { Position } from "../state.ts";
import { type Machine, type MachineOptions, machineOpener } from "./machines.ts";

export interface GuestOptions extends MachineOptions {
  /** Time that an unused machine stays open, ms. */
  readonly idleMs: number;
}

/** The guest of a session: at most one machine at a time. It is opened when needed and replaced when lost or reset. */
export type Guest = ReturnType<typeof openGuest>;

interface Live {
  readonly opening: Promise<Machine>;
  /** Once it is open. */
  machine: Machine | undefined;
  untouched: boolean;
}

export function openGuest(options: GuestOptions) {
  const opener = machineOpener(options);
  let live: Live | undefined;
  let told: Context | null = null;
  /** The end of the machine before, whose thread may take its time: two guests of a session are not in memory together. */
  let gone: Promise<void> | undefined;

  async function begin(position: Position, open: () => Promise<Machine>): Promise<Machine> {
    const opening = Promise.allSettled([gone]).then(open);
    const begun: Live = { opening, machine: undefined, untouched: position.checkpoint === null };
    opening.then(
      (machine) => {
        begun.machine = machine;
      },
      () => {},
    );
    live = begun;
    told = position.context;
    return opening;
  }

  /** Ends the machine. The next one opens from the store. */
  async function end(): Promise<void> {
    const ending = live;
    live = undefined;
    told = null;
    ending?.machine?.sandbox.wake();
    if (ending)
      gone = ending.opening.then(
        (machine) => machine[Symbol.asyncDispose](),
        () => {},
      );
    await gone;
  }

  async function opened(position: Position): Promise<Machine> {
    const open = () => opener.at(position);
    const opening = live?.opening ?? begin(position, open);
    // What made it fail may be over by now.
    return opening.catch(() => begin(position, open));
  }

  return {
    /**
     * The machine is not in use, and its state is kept: it is given up after `idleMs`, or earlier if another machine needs
     * its thread. The next `use` opens it again.
     */
    rest: () => live?.machine?.sandbox.rest(end, options.idleMs),
    /** The session's machine. Opens it at this position if there is none. @throws RlmError `checkpoint_lost` */
    async use(position: Position): Promise<Machine> {
      live?.machine?.sandbox.wake();
      const standing = await live?.opening.catch(() => undefined);
      if (standing?.sandbox.isSpent()) await end();
      const machine = await opened(position);
      if (live) live.untouched = false;
      if (position.context && told !== position.context) {
        await machine.sandbox.tell(await opener.messageOf(position.context, position.given));
        told = position.context;
      }
      return machine;
    },
    /**
     * The machine of an exec that waits for calls, as it was in one of its checkpoints. `drop` forgets these calls.
     * @throws RlmError `checkpoint_lost`
     */
    async useStep(step: string, pending: Restoration["pending"], position: Position) {
      await end();
      const at = await opener.atStep(step, pending, position);
      await begin(position, async () => at.machine);
      return at;
    },
    /** Ends the machine, unless it is fresh. The next one opens when it is used. */
    async reset(): Promise<void> {
      if (!live?.untouched) await end();
    },
    /** Another machine at this position, which goes its own way. The caller disposes it. @throws as `use` */
    scratch: opener.at,
    scratchAtStep: (step: string, position: Position) => opener.atStep(step, "keep", position),
    end,
    [Symbol.asyncDispose]: end,
  };
}
