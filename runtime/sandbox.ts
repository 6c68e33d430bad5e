import { type Clock, systemClock } from "./clock.ts";
import { isErrorCode, RlmError } from "./errors.ts";
import { imageProblem } from "./gate.ts";
import type { Baseline } from "./image.ts";
import { COMMAND_MS } from "./limits.ts";
import { type MachineKind, type Machines, processMachines } from "./machines.ts";
import type {
  CellEnd,
  Checkpoint,
  CheckpointRequest,
  ExecInput,
  ExecState,
  FromWorker,
  Json,
  PendingCall,
  Restoration,
  ResumeInput,
  SetAside,
  Settlement,
  ToWorker,
} from "./protocol.ts";
import { machineLost, runRounds } from "./rounds.ts";
import type { MachineSetup } from "./serve.ts";
import { openThread } from "./thread.ts";

export interface SandboxOptions<Setup, Message> extends MachineKind<Setup> {
  /** Bytes of the guest's own heap. */
  readonly memoryBytes: number;
  readonly onNotice?: (text: string) => void;
  readonly clock?: Clock;
  /**
   * Makes the guest from an image, which is read when it is this machine's turn to be opened: images of many machines
   * are not in memory together. Opening rejects with what it rejects with.
   */
  readonly image?: () => Promise<Restoration>;
  /** Given to the library before the guest is made, so that texts of an image can be written back. */
  readonly message?: Message;
  /** Where its thread comes from; default: those of the process. */
  readonly machines?: Machines;
}

/** The side of an exec that answers its calls. */
export interface CallHost {
  /** The checkpoint to take as soon as the guest waits for new calls, without commands; null: none. Asked before each slice. */
  checkpoint(): CheckpointRequest | null;
  /**
   * Before calls are sent: resolves once they may be. A rejection ends the exec as `checkpoint_failed`, and no call of
   * this round is sent.
   * @param taken of the guest as it is now; null where none was wanted before the guest ran
   */
  begin(calls: readonly PendingCall[], state: ExecState, taken: Checkpoint | null): Promise<void>;
  /**
   * Answers one call; ends early when the signal aborts. A failing call is a settlement: a rejection means that the
   * answer could not be recorded, and ends the exec as `checkpoint_failed`.
   */
  run(call: PendingCall, signal: AbortSignal): Promise<Settlement>;
  /** The session's facts as they stand now. */
  facts(): Json;
}

export interface ExecEnd {
  readonly end: CellEnd;
  readonly state: ExecState;
  /** Why the guest is gone with all its variables, or null where it lives on. */
  readonly lost: string | null;
  /** JSON of the result if it was wanted whole; null otherwise, and if it has more than `LIMITS.wholeResultBytes`. */
  readonly whole: string | null;
  /** Helpers that failed in it. */
  readonly asides: readonly SetAside[];
}

/** How an exec can be ended from outside. */
export interface ExecSignals {
  /** Ends the exec as `cancelled`; the guest lives on where it comes to rest. */
  readonly signal?: AbortSignal;
  /** Ends the machine where it is, within a second: `cancelled`, with `lost: "suspended"`. */
  readonly suspend?: AbortSignal;
}

/**
 * A guest in a thread of its own, supervised: what does not come to rest in time is terminated. Disposed, a sound one
 * leaves its thread to the next guest.
 */
export interface Sandbox<Message = unknown> extends AsyncDisposable {
  /** Id of the image that the guest was opened from; of a fresh guest `baseline:` and the SHA-256 of its memory and meta. */
  readonly origin: string;
  /** The image that fresh guests are opened from. */
  readonly baseline: Baseline;
  exec(input: ExecInput, calls: CallHost, signals?: ExecSignals): Promise<ExecEnd>;
  /** Goes on with the exec that a guest opened from an image waits in. A record that does not fit ends it as `checkpoint_lost`. */
  resume(input: ResumeInput, calls: CallHost, signals?: ExecSignals): Promise<ExecEnd>;
  /**
   * Takes an image: between execs, or while an exec waits for calls (within `CallHost.begin`).
   * @throws RlmError `machine_lost` where the guest is not at rest or gone; of an exec's end `memory_limit_exceeded` where no other
   * cell could run in it
   */
  checkpoint(request: CheckpointRequest): Promise<Checkpoint>;
  /** A checkpoint has used the guest up: it must be opened anew from that one. */
  isSpent(): boolean;
  /** Runs a guest command. @throws RlmError with what it threw; `machine_lost` where the guest is gone */
  enter(name: string, payload: Json): Promise<Json>;
  /** A message for the library alone. @throws as `enter` */
  tell(message: Message): Promise<void>;
  /**
   * Nobody uses the guest. `giveUp`, which disposes it, is called once: after `ms`, or earlier if another guest needs the
   * thread. Not after `wake`.
   */
  rest(giveUp: () => Promise<void>, ms: number): void;
  /** The guest is used again. */
  wake(): void;
}

/** @throws RlmError `checkpoint_lost` for an image that this build cannot read or whose texts the library has not */
export async function openSandbox<Setup, Message>(options: SandboxOptions<Setup, Message>): Promise<Sandbox<Message>> {
  const { message, memoryBytes, clock = systemClock, machines = processMachines() } = options;
  const { seat, baseline } = await machines.take(options);
  const thread = openThread<Message>({ seat, clock, notice: options.onNotice });

  /** The answer, or what it says went wrong. */
  async function accepted(reply: FromWorker): Promise<FromWorker> {
    if (reply.kind === "refused") {
      const { code, suggestion } = reply.error;
      throw new RlmError(isErrorCode(code) ? code : "js_error", reply.error.message, { suggestion });
    }
    if (reply.kind !== "failed") return reply;
    await thread.end(reply.message);
    throw machineLost(reply.message);
  }

  let spent = false;
  async function taken(reply: FromWorker): Promise<Checkpoint> {
    const answer = await accepted(reply);
    if (answer.kind === "checkpointed") {
      spent ||= answer.checkpoint.isSpent;
      return answer.checkpoint;
    }
    throw machineLost(`it answered ${answer.kind}`);
  }

  async function command(message: ToWorker<Message>): Promise<FromWorker> {
    thread.cancel(false);
    return accepted(await thread.ask(message, COMMAND_MS));
  }

  async function open(): Promise<FromWorker> {
    const image = await options.image?.();
    const problem = image ? await imageProblem(image.image.meta) : null;
    if (problem) throw new RlmError("checkpoint_lost", problem, { suggestion: "Open it with the build that made it." });
    const setup: MachineSetup<Message> = {
      memoryBytes,
      from: image ?? baseline,
      ...(message === undefined ? {} : { message }),
    };
    return accepted(await thread.open(setup, image ? ownBuffer(image.image.memory) : []));
  }

  const opened = await open().catch(async (error: unknown) => {
    await thread.release("it was not opened");
    throw error;
  });
  seat.opened();

  let inFlight = 0;
  /** While the guest waits for answers, its thread has nothing to do. */
  function watched(calls: CallHost): CallHost {
    return {
      ...calls,
      run(call, signal) {
        if (inFlight++ === 0) seat.waits(true);
        return calls.run(call, signal).finally(() => {
          if (--inFlight === 0) seat.waits(false);
        });
      },
    };
  }

  return {
    origin: opened.kind === "ready" ? opened.origin : "",
    baseline,
    exec(input, calls, signals = {}) {
      const { replay = [], ...given } = input;
      const first = { kind: "exec", input: given, checkpoint: replay.length > 0 ? null : calls.checkpoint() } as const;
      const rounds = { thread, clock, taken, first, state: input.state, waiting: [], replay, calls: watched(calls) };
      return runRounds(rounds, signals);
    },
    resume(input, calls, signals = {}) {
      const { replay, ...given } = input;
      const first = { kind: "resume", input: given } as const;
      const { state, waiting } = input;
      return runRounds({ thread, clock, taken, first, state, waiting, replay, calls: watched(calls) }, signals);
    },
    async checkpoint(request) {
      return taken(await thread.ask({ kind: "checkpoint", request, maxMs: COMMAND_MS }, COMMAND_MS, "not"));
    },
    isSpent: () => spent,
    async enter(name, payload) {
      const reply = await command({ kind: "enter", name, payload, maxMs: COMMAND_MS });
      return reply.kind === "entered" ? reply.value : null;
    },
    async tell(message) {
      await command({ kind: "library", message, maxMs: COMMAND_MS });
    },
    rest: seat.rest,
    wake: seat.wake,
    async [Symbol.asyncDispose]() {
      await thread.release("it was closed");
    },
  };
}

/** What can cross to the worker without a copy: the buffer of a view that shows all of it. */
function ownBuffer({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
