import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FunctionFacts } from "../../../builtins/index.ts";
import {
  hasCode,
  imageProblem,
  type Json,
  limitLowered,
  openSandbox,
  processMachines,
  type Restoration,
  RlmError,
  remedy,
  type Sandbox,
} from "../../../runtime/index.ts";
import { type Context, isSmall, objectOf, pauses } from "../../context/index.ts";
import { entryUrl } from "../../entries.ts";
import type { CheckpointRow } from "../../store/index.ts";
import type { Env } from "../env.ts";
import type { Position } from "../journal/account.ts";
import { readEndExtras } from "../journal/records.ts";
import type { StoreQuota } from "../store-quota.ts";
import type { ContextMessage, GivenHistory, HistoryText, TextMessage } from "./context-message.ts";
import { type ImageChain, openImageChain } from "./image-chain.ts";

export interface GuestOptions extends MachineOptions {
  /** Time that an unused machine stays open, ms. */
  readonly idleMs: number;
}

/** The guest of a session: at most one machine at a time. It is opened when needed and replaced when lost or reset. */
export interface Guest extends AsyncDisposable {
  /**
   * The machine is not in use, and its state is kept: it is given up after `idleMs`, or earlier if another machine needs
   * its thread. The next `use` opens it again.
   */
  rest(): void;
  /** Returns the session's machine. Opens it at this position if there is none. @throws RlmError `checkpoint_lost` */
  use(position: Position): Promise<Machine>;
  /**
   * Opens the machine of an exec that waits for calls, as it was in one of its checkpoints. `drop` forgets these calls.
   * @throws RlmError `checkpoint_lost`
   */
  useStep(step: string, pending: Restoration["pending"], position: Position): Promise<MachineAtStep>;
  /** Ends the machine, unless it is fresh. The next one opens when it is used. */
  reset(): Promise<void>;
  /** Opens another machine at this position, which goes its own way. The caller disposes it. @throws as `use` */
  scratch(position: Position): Promise<Machine>;
  /** As `scratch`, at a checkpoint of an exec that waits for calls. */
  scratchAtStep(step: string, position: Position): Promise<MachineAtStep>;
  /** Ends the machine. The next one opens from the store. */
  end(): Promise<void>;
}

/** A machine that was opened at a checkpoint within an exec. */
interface MachineAtStep {
  readonly machine: Machine;
  readonly row: CheckpointRow;
}

interface Live {
  readonly opening: Promise<Machine>;
  /** Once it is open. */
  machine: Machine | undefined;
  untouched: boolean;
}

export function openGuest(options: GuestOptions): Guest {
  const opener = machineOpener(options);
  let live: Live | undefined;
  let current: Context | null = null;
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
    current = position.context;
    return opening;
  }

  async function end(): Promise<void> {
    const ending = live;
    live = undefined;
    current = null;
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
    // The cause of its failure may have ended by now.
    return opening.catch(() => begin(position, open));
  }

  return {
    rest: () => live?.machine?.sandbox.rest(end, options.idleMs),
    async use(position) {
      live?.machine?.sandbox.wake();
      const standing = await live?.opening.catch(() => undefined);
      if (standing?.sandbox.isSpent()) await end();
      const machine = await opened(position);
      if (live) live.untouched = false;
      if (position.context && current !== position.context) {
        await machine.sandbox.tell(await opener.messageOf(position.context, position.given));
        current = position.context;
      }
      return machine;
    },
    async useStep(step, pending, position) {
      await end();
      const at = await opener.atStep(step, pending, position);
      await begin(position, async () => at.machine);
      return at;
    },
    async reset() {
      if (!live?.untouched) await end();
    },
    scratch: opener.at,
    scratchAtStep: (step, position) => opener.atStep(step, "keep", position),
    end,
    [Symbol.asyncDispose]: end,
  };
}

interface MachineOptions {
  readonly env: Pick<Env, "store" | "newId" | "machines" | "emit">;
  readonly machineEntry: URL;
  readonly memoryBytes: number;
  readonly indexFolder: Pick<IndexFolder, "path">;
  readonly space: Pick<StoreQuota, "indexRoom">;
}

/** A machine of a session, with the images that are captured of it. */
export interface Machine extends AsyncDisposable {
  readonly sandbox: Sandbox<ContextMessage>;
  readonly images: ImageChain;
  /** False if variables could not be brought back. */
  readonly isWhole: boolean;
  /** Lends cells the conversation in which the next exec runs; `null` if there is none. */
  useHistory(history: GivenHistory | null): Promise<void>;
  /** Offers cells the functions that the program lends, unless there are none. */
  useFunctions(functions: readonly FunctionFacts[]): Promise<void>;
  /** Returns warnings about losses when it was opened, for the next envelope. Empty after the first call. */
  takeWarnings(): readonly string[];
}

/** Starts the thread of the next machine, if there is none yet. It takes longer than opening a session and its store. */
export function warmMachine(entry = entryUrl("machine-thread-entry"), machines = processMachines()): void {
  machines.warm(entry);
}

/** Opens machines. Each is the caller's to dispose. */
function machineOpener(options: MachineOptions) {
  const { store, newId, machines, emit } = options.env;
  /** The context as a machine's thread takes it. */
  const messageOf = async (context: Context, given: readonly string[] = []): Promise<TextMessage> => ({
    ...contextMessage(context, await options.indexFolder.path()),
    ...(isSmall(context) ? {} : { indexRoom: options.space.indexRoom(context) }),
    given,
  });

  async function sandbox(
    { context, given }: Pick<Position, "context" | "given">,
    image?: () => Promise<Restoration>,
    isStep = false,
  ) {
    const { machineEntry, memoryBytes } = options;
    const opened = await openSandbox<ContextMessage>({
      entry: machineEntry,
      memoryBytes,
      machines,
      onNotice: (text) => emit({ kind: "notice", text }),
      ...(context ? { message: await messageOf(context, given) } : {}),
      ...(image ? { image, isStep } : {}),
    });
    const { id, meta } = opened.baseline.image;
    // The next checkpoint is based on it.
    if ((!image || isStep) && !(await store.hasBaseline(id))) await store.putBaseline(id, meta, opened.baseline.pages);
    return opened;
  }

  /**
   * The row of a checkpoint whose image may be opened.
   * @throws RlmError `memory_limit_exceeded` for one that takes much more than the limit: that of
   * the session was higher, or the row is another user's
   */
  async function boundedRow(id: string, { context }: Pick<Position, "context">): Promise<CheckpointRow> {
    const row = await store.checkpoint(id);
    const { linearBytes } = row.meta;
    const most = 2 * (options.memoryBytes + (context?.text.length ?? 0)) + SPARE_BYTES;
    if (linearBytes > most) throw limitLowered(linearBytes, options.memoryBytes);
    return row;
  }

  async function fresh(position: Position): Promise<Machine> {
    const opened = await sandbox(position);
    return machineWith(opened, openImageChain(opened.origin, null, newId), messageOf);
  }

  async function atCheckpoint(id: string, position: Position): Promise<Machine> {
    const row = await boundedRow(id, position);
    const problem = imageProblem(row.meta);
    if (problem !== null) return rebuilt(row, problem, position);
    try {
      const read = async () => ({ image: await store.image(id), pending: "drop", cells: position.sources }) as const;
      return machineWith(await sandbox(position, read), openImageChain(id, row, newId), messageOf);
    } catch (error) {
      if (!hasCode(error, "checkpoint_lost")) throw error;
      return rebuilt(row, error.message, position);
    }
  }

  /** The image cannot be read: a fresh guest with the memory and the helpers that the checkpoint keeps beside it. */
  async function rebuilt(row: CheckpointRow, why: string, position: Position): Promise<Machine> {
    const { memory, helpers } = readEndExtras(row.extras);
    const made = await fresh(position);
    const ops: Json = Object.entries(memory).map(([key, value]) => ({ op: "put", key, value }));
    await made.sandbox.enter("memory", { op: "batch", ops });
    for (const { name, code } of helpers) await made.sandbox.enter("helpers", { op: "add", name, code });
    const warning = `variables_lost: ${why}; the context, memory and helpers are as they were, variables are gone`;
    return machineWith(made.sandbox, made.images, messageOf, [warning]);
  }

  return {
    /** @throws RlmError `checkpoint_lost` */
    at: (position: Position) =>
      position.checkpoint === null ? fresh(position) : atCheckpoint(position.checkpoint, position),
    /**
     * A machine at a checkpoint within an exec.
     * @param pending `drop` forgets the calls that the guest waits for. @throws RlmError `checkpoint_lost`
     */
    async atStep(step: string, pending: Restoration["pending"], position: Position) {
      const row = await boundedRow(step, position);
      const problem = imageProblem(row.meta);
      if (problem !== null) throw foreign(step, problem);
      const image = async () => ({ image: await store.image(step), pending, cells: position.sources });
      const opened = await sandbox(position, image, true);
      const images = openImageChain(step, row, newId, opened.baseline.image.id);
      return { machine: machineWith(opened, images, messageOf), row };
    },
    messageOf,
  };
}

/** Linear memory that a guest may have beyond twice its limit: it has 5/3 of it, and room for what the host does in it. */
const SPARE_BYTES = 32 * 2 ** 20;

function machineWith(
  sandbox: Sandbox<ContextMessage>,
  images: ImageChain,
  messageOf: (context: Context) => Promise<TextMessage>,
  warnings: readonly string[] = [],
): Machine {
  let untold = warnings;
  let hasHistory = false;
  return {
    sandbox,
    images,
    isWhole: warnings.length === 0,
    async useHistory(history) {
      if (history === null && !hasHistory) return;
      hasHistory = history !== null;
      await sandbox.tell({ history: history && (await historyText(history, messageOf)) });
    },
    async useFunctions(functions) {
      if (functions.length > 0) await sandbox.tell({ functions });
    },
    takeWarnings() {
      const taken = untold;
      untold = [];
      return taken;
    },
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

function foreign(id: string, problem: string): RlmError {
  return new RlmError("checkpoint_lost", `checkpoint ${id} cannot be read: ${problem}`, {
    suggestion: `Continue with the version of Belay that wrote it; if an exec is interrupted, ${remedy("discard")}.`,
  });
}

export function contextMessage(context: Context, indexDir: string): TextMessage {
  const documents = isSmall(context) ? context.documents : [];
  return { ...context, text: context.text.data, documents, indexDir };
}

/** @param messageOf the context as a machine's thread takes it */
async function historyText(
  history: GivenHistory,
  messageOf: (context: Context) => Promise<TextMessage>,
): Promise<HistoryText> {
  if ("lost" in history) return history;
  const objects: string[] = [];
  const pause = pauses();
  for (const document of history.documents) {
    const { id } = await objectOf({ of: "history", context: history, document }, pause);
    objects.push(id);
  }
  return { message: await messageOf(history), objects };
}

/** The folder of a session's search indexes. A temporary one is removed when it is disposed of. */
export interface IndexFolder extends AsyncDisposable {
  path(): Promise<string>;
}

/** @param kept a folder that stays. Without one a temporary folder is made when it is first asked for. */
export function openIndexFolder(kept: string | undefined): IndexFolder {
  let temporary: Promise<string> | undefined;
  return {
    async path() {
      if (kept !== undefined) return kept;
      temporary ??= mkdtemp(join(tmpdir(), "belay-"));
      return temporary;
    },
    async [Symbol.asyncDispose]() {
      const made = await temporary?.catch(() => undefined);
      if (made !== undefined) await rm(made, { recursive: true, force: true });
    },
  };
}
