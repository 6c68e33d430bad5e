import {
  imageProblem,
  type Json,
  type Machines,
  openSandbox,
  processMachines,
  type Restoration,
  RlmError,
  remedy,
  type Sandbox,
} from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import type { CheckpointRow, Store } from "../../store/index.ts";
import type { CellSource } from "../journal/account.ts";
import { type EndExtras, readEndExtras } from "../journal/records.ts";
import { type ContextMessage, contextMessage } from "./context-message.ts";
import { type ImageChain, openImageChain } from "./image-chain.ts";
import type { IndexFolder } from "./index-folder.ts";

export interface GuestOptions {
  readonly machineEntry: URL;
  readonly memoryBytes: number;
  readonly indexFolder: Pick<IndexFolder, "path">;
  readonly store: Store;
  readonly newId: () => string;
  readonly onNotice: (text: string) => void;
  /** How long a machine stays that nobody uses, ms. */
  readonly idleMs: number;
  readonly machines?: Machines;
}

/** What a machine stands at: a session's state between execs. */
export interface Position {
  /** The checkpoint of an exec's end; null: a fresh guest. */
  readonly checkpoint: string | null;
  readonly context: Context | null;
  readonly sources: readonly CellSource[];
}

export interface Machine extends AsyncDisposable {
  readonly sandbox: Sandbox<ContextMessage>;
  readonly images: ImageChain;
  /** False where variables could not be brought back. */
  readonly isWhole: boolean;
  /** What could not be brought back when it was opened, for the next envelope; none after it was read. */
  takeWarnings(): readonly string[];
}

/** The guest of a session: at most one machine at a time, opened when needed, replaced when lost or reset. */
export interface Guest extends AsyncDisposable {
  /** Begins to start a thread, so that a machine opens soon when one is used. */
  prepare(): void;
  /**
   * Nobody uses the machine, and what it is in is kept: it is given up after `idleMs`, or earlier if another one needs its
   * thread. The next `use` opens it again.
   */
  rest(): void;
  /** A machine that stands there. @throws RlmError `checkpoint_lost` */
  use(position: Position): Promise<Machine>;
  /**
   * The machine of an exec that waits for calls, as it was in one of its checkpoints. `drop` forgets these calls.
   * @throws RlmError `checkpoint_lost`
   */
  useStep(
    step: string,
    pending: Restoration["pending"],
    position: Position,
  ): Promise<{ machine: Machine; row: CheckpointRow }>;
  /** Another machine that stands there and goes its own way. The caller disposes it. @throws as `use` */
  scratch(position: Position): Promise<Machine>;
  scratchAtStep(step: string, position: Position): Promise<{ machine: Machine; row: CheckpointRow }>;
  /** Ends the machine, unless it is fresh: the next one is opened where it is used. */
  reset(): Promise<void>;
  /** Ends the machine: the next one is opened from the store. */
  end(): Promise<void>;
}

interface Live {
  readonly opening: Promise<Machine>;
  /** Once it is open. */
  machine: Machine | undefined;
  untouched: boolean;
}

export function openGuest(options: GuestOptions): Guest {
  const { store, newId } = options;
  let live: Live | undefined;
  let told: Context | null = null;

  const kind = { entry: options.machineEntry, library: null };

  const messageOf = async (context: Context) => contextMessage(context, await options.indexFolder.path());

  async function sandbox(
    context: Context | null,
    image?: () => Promise<Restoration>,
  ): Promise<Sandbox<ContextMessage>> {
    const { memoryBytes, onNotice, machines } = options;
    return openSandbox<null, ContextMessage>({
      ...kind,
      memoryBytes,
      onNotice,
      ...(machines ? { machines } : {}),
      ...(context ? { message: await messageOf(context) } : {}),
      ...(image ? { image } : {}),
    });
  }

  async function fresh(context: Context | null): Promise<Machine> {
    const opened = await sandbox(context);
    const { origin, baseline } = opened;
    // What the first checkpoints are based on.
    if (!(await store.hasBaseline(origin))) await store.putBaseline(origin, baseline.image.meta, baseline.pages);
    return machine(opened, openImageChain(origin, null, newId));
  }

  async function atCheckpoint(id: string, { context, sources }: Position): Promise<Machine> {
    const row = await store.checkpoint(id);
    const problem = await imageProblem(row.meta);
    if (problem !== null) return rebuilt(row, problem, context);
    try {
      const read = async () => ({ image: await store.image(id), pending: "drop", cells: sources }) as const;
      const opened = await sandbox(context, read);
      return machine(opened, openImageChain(id, row, newId));
    } catch (error) {
      if (!(error instanceof RlmError) || error.code !== "checkpoint_lost") throw error;
      return rebuilt(row, error.message, context);
    }
  }

  /** A fresh guest with the memory and the helpers that lie beside an image which cannot be read. */
  async function rebuilt(row: CheckpointRow, why: string, context: Context | null): Promise<Machine> {
    const { memory, helpers }: EndExtras = readEndExtras(row.extras);
    const made = await fresh(context);
    const ops: Json = Object.entries(memory).map(([key, value]) => ({ op: "put", key, value }));
    await made.sandbox.enter("memory", { op: "batch", ops });
    for (const { name, code } of helpers) await made.sandbox.enter("helpers", { op: "add", name, code });
    const warning = `variables_lost: ${why}; the context, memory and helpers are as they were, variables are gone`;
    return machine(made.sandbox, made.images, [warning]);
  }

  async function atStep(step: string, pending: Restoration["pending"], { context, sources }: Position) {
    const row = await store.checkpoint(step);
    const problem = await imageProblem(row.meta);
    if (problem !== null) throw foreign(step, problem);
    const opened = await sandbox(context, async () => ({ image: await store.image(step), pending, cells: sources }));
    return { machine: machine(opened, openImageChain(step, row, newId)), row };
  }

  const open = (position: Position) =>
    position.checkpoint === null ? fresh(position.context) : atCheckpoint(position.checkpoint, position);

  function begin(position: Position, opening: Promise<Machine>): Promise<Machine> {
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

  async function end(): Promise<void> {
    const ending = live;
    live = undefined;
    told = null;
    ending?.machine?.sandbox.wake();
    await (await ending?.opening.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  return {
    prepare: () => (options.machines ?? processMachines()).warm(kind),
    rest: () => live?.machine?.sandbox.rest(end, options.idleMs),
    async use(position) {
      live?.machine?.sandbox.wake();
      const standing = await live?.opening.catch(() => undefined);
      if (standing?.sandbox.isSpent()) await end();
      let opening = live?.opening ?? begin(position, open(position));
      const opened = await opening.catch(() => {
        // It may have failed for what is no longer so.
        opening = begin(position, open(position));
        return opening;
      });
      if (live) live.untouched = false;
      if (position.context && told !== position.context) {
        await opened.sandbox.tell(await messageOf(position.context));
        told = position.context;
      }
      return opened;
    },
    async useStep(step, pending, position) {
      await end();
      const at = await atStep(step, pending, position);
      await begin(position, Promise.resolve(at.machine));
      return at;
    },
    async reset() {
      if (!live?.untouched) await end();
    },
    scratch: open,
    scratchAtStep: (step, position) => atStep(step, "keep", position),
    end,
    [Symbol.asyncDispose]: end,
  };
}

function machine(sandbox: Sandbox<ContextMessage>, images: ImageChain, warnings: readonly string[] = []): Machine {
  let untold = warnings;
  return {
    sandbox,
    images,
    isWhole: warnings.length === 0,
    takeWarnings() {
      const told = untold;
      untold = [];
      return told;
    },
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

function foreign(id: string, problem: string): RlmError {
  return new RlmError("checkpoint_lost", `checkpoint ${id} cannot be read: ${problem}`, {
    suggestion: `Continue with the version of Belay that wrote it; if an exec is interrupted, ${remedy("discard")}.`,
  });
}
