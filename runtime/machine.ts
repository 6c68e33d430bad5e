import { type Clock, openRunClock } from "./clock.ts";
import { neverSettles, outOfMemory, parseThrown, readThrown, resultEnd, sourceTooLarge, syntaxEnd } from "./ends.ts";
import { type Engine, type EngineImage, type EngineOptions, MachineFault } from "./engine.ts";
import { isErrorCode, RlmError } from "./errors.ts";
import type { Library } from "./library.ts";
import { DEFAULT_EXEC_LIMITS, DRAIN_MS, LIMITS } from "./limits.ts";
import { openPost } from "./post.ts";
import { preludeSource } from "./prelude.ts";
import type {
  Answer,
  CallError,
  CellEnd,
  ExecInput,
  ExecState,
  Json,
  PendingCall,
  Printed,
  Settlement,
} from "./protocol.ts";
import { idleState, nothingRunning } from "./running.ts";
import { openScripts } from "./scripts.ts";
import { suggestionFor } from "./suggestions.ts";
import { guestError, type Thrown } from "./traceback.ts";
import { CellSyntaxError } from "./transform.ts";

/** Where a slice of guest running ended: waiting for calls, or the exec is over. */
export type Slice =
  | { readonly kind: "idle"; readonly calls: readonly PendingCall[]; readonly state: ExecState }
  | { readonly kind: "ended"; readonly end: CellEnd; readonly state: ExecState; readonly clean: boolean };

export interface MachineOptions {
  readonly library: Omit<Library, "receive">;
  /** Bytes of the guest's own heap. What P takes when it is materialised comes on top. */
  readonly memoryBytes: number;
  readonly clock: Clock;
  /** The words of `SHARED`, over a SharedArrayBuffer. */
  readonly shared: Int32Array;
  readonly notice: (text: string) => void;
  readonly printed: (part: Printed) => void;
  openEngine(options: EngineOptions): Promise<Engine>;
  /** Makes the guest a copy of another machine's. */
  readonly image?: MachineImage;
}

/** A guest at rest with what the machine knows of it. */
export interface MachineImage {
  readonly engine: EngineImage;
  /** Bytes beyond its own limit that the guest was granted. */
  readonly granted: number;
}

/**
 * One guest and the exec that runs in it. Every method runs guest code to rest and may throw `MachineFault`: the
 * machine is then poisoned and must be discarded with its worker.
 */
export interface Machine extends Disposable {
  exec(input: ExecInput): Slice;
  /** Gives calls their answers, in this order: what waits for one goes on before the next is given. */
  settle(answers: readonly Answer[], facts: Json): Slice;
  /** Ends an exec that waits for calls; the host has set the `cancel` word. */
  stop(): Slice;
  /** A copy of the guest between execs. */
  image(): MachineImage;
  /** Runs a guest command between execs. @throws RlmError with what the command threw */
  enter(name: string, payload: Json, maxMs: number): Json;
}

export async function openMachine(options: MachineOptions): Promise<Machine> {
  const { library } = options;
  const clock = openRunClock(options.clock, options.shared);
  const scripts = openScripts(library.reserved);
  const running = nothingRunning(options.image?.granted ?? 0);
  const { post, warn } = openPost({ ...options, clock, scripts, running, engine: () => engine });

  const engine = await options.openEngine({
    host: { post, shouldStop: clock.shouldStop, now: () => options.clock.now() },
    memoryLimit: options.memoryBytes + running.granted,
    ...(options.image ? { image: options.image.engine } : {}),
    prelude: preludeSource(library.modules),
    config: JSON.stringify({
      sync: Object.keys(library.sync).filter((name) => !name.includes(".")),
      async: Object.keys(library.async).filter((name) => library.async[name]?.installed),
      completion: false,
      outputUnits: DEFAULT_EXEC_LIMITS.max_output_bytes,
      resultUnits: LIMITS.resultBytes,
      messageUnits: LIMITS.errorMessageUnits,
    }),
  });

  function exec(input: ExecInput): Slice {
    running.state = input.state;
    running.source = input.source;
    running.facts = input.facts;
    running.fresh = [];
    running.done = undefined;
    running.refusal = undefined;
    running.site = undefined;
    clock.start(running.state.running_ms, running.state.limits.max_execution_ms);
    if (clock.shouldStop()) return ended({ kind: "cancelled" });
    if (Buffer.byteLength(running.source) > LIMITS.sourceBytes) return ended(sourceTooLarge(running.source));
    try {
      const script = scripts.cell(running.state.cell, running.source);
      command("begin", {
        completion: script.completion,
        outputUnits: running.state.limits.max_output_bytes,
        sites: input.sites === true,
      });
      for (const { filename, source: text } of preamble()) {
        const ran = engine.runPreamble(text, filename);
        if (!ran.ok) return clock.stopped() ? cut() : ended(thrownEnd(readThrown(ran)));
      }
      engine.startCell(script.source, script.filename);
    } catch (error) {
      if (error instanceof CellSyntaxError) return ended(syntaxEnd(error, running.state.cell));
      throw error;
    }
    return toIdle();
  }

  function* preamble(): Iterable<{ filename: string; source: string }> {
    if (!library.preambleCommand) return;
    for (const item of asList(command(library.preambleCommand, null))) {
      const script = scripts.helper(text(item, "name"), text(item, "code"));
      yield { filename: script.filename, source: script.source };
    }
  }

  function settle(answers: readonly Answer[], newFacts: Json): Slice {
    running.facts = newFacts;
    running.fresh = [];
    clock.start(running.state.running_ms, running.state.limits.max_execution_ms);
    for (const { id, settlement } of answers) {
      deliver(id, settlement);
      if (!runJobs()) return cut();
    }
    return toIdle();
  }

  function stop(): Slice {
    clock.start(running.state.running_ms, running.state.limits.max_execution_ms);
    clock.shouldStop();
    return cut();
  }

  function deliver(id: string, settlement: Settlement): void {
    if (!running.outstanding.delete(id)) return;
    command("settle", settlement.ok ? { id, value: settlement.value } : { id, error: { ...settlement.error } });
  }

  /** Runs jobs until none is left, then says where that leaves the exec. */
  function toIdle(): Slice {
    if (!runJobs()) return cut();
    if (running.done) return finish(running.done);
    if (running.fresh.length > 0 || running.outstanding.size > 0) {
      running.state.running_ms = clock.pause();
      checkFault();
      return { kind: "idle", calls: running.fresh, state: running.state };
    }
    return ended(heapIsFull() ? outOfMemory(options.memoryBytes) : neverSettles());
  }

  /** False where the exec's time ended or it was cancelled. */
  function runJobs(): boolean {
    for (let ran = 0; ; ran++) {
      if (ran % 64 === 0) clock.shouldStop();
      if (clock.stopped()) return false;
      if (engine.runJob() === "empty") return true;
    }
  }

  /** The cell is done; what it did not wait for is told so, and may run on a last time inside the limit. */
  function finish(cell: { ok: boolean; payload: string }): Slice {
    for (const message of asList(command("unhandled", null))) warn(`unhandled_rejection: ${String(message)}`);
    if (running.outstanding.size > 0) {
      warn(`unawaited_sub_calls: ${running.outstanding.size}`);
      running.refusal = NOT_AWAITED;
      for (const id of [...running.outstanding]) deliver(id, { ok: false, error: NOT_AWAITED });
      running.fresh = [];
      if (!runJobs()) return cut();
    }
    return ended(cell.ok ? resultEnd(cell.payload, warn) : thrownEnd(parseThrown(cell.payload)));
  }

  /** Time is over or the exec was cancelled: comes to rest within DRAIN_MS or is not clean. */
  function cut(): Slice {
    const kind = clock.stopped() === "cancelled" ? "cancelled" : "timeout";
    const until = clock.wall() + DRAIN_MS;
    let empty = false;
    while (!empty && clock.wall() < until) empty = engine.runJob() === "empty";
    return ended({ kind }, empty);
  }

  function ended(end: CellEnd, atRest = true): Slice {
    clock.grace(DRAIN_MS);
    running.outstanding.clear();
    running.fresh = [];
    const dropped = engine.enter("drop", "");
    const clean = atRest && dropped.ok && (end.kind === "ok" || passesCheck());
    running.state.running_ms = clock.pause();
    checkFault();
    return { kind: "ended", end, state: running.state, clean };
  }

  function passesCheck(): boolean {
    const checked = engine.enter("check", "");
    return checked.ok && checked.value === "jtrue" && engine.runJob() === "empty";
  }

  function checkFault(): void {
    if (running.fault) throw running.fault;
  }

  /** A step that only a fault of ours, or a guest out of memory, can make fail. */
  function command(name: string, payload: Json): Json {
    const entered = engine.enter(name, payload === null ? "" : JSON.stringify(payload));
    if (entered.ok && entered.value[0] === "j") return JSON.parse(entered.value.slice(1));
    if (clock.stopped()) return null;
    const thrown = entered.ok ? parseThrown(entered.value.slice(1)) : readThrown(entered);
    throw new MachineFault(`the guest's ${name} failed: ${thrown.name}: ${thrown.message}`);
  }

  function thrownEnd(thrown: Thrown): CellEnd {
    const oom = thrown.name === "InternalError" && thrown.message === "out of memory";
    if (oom || (thrown.thrown === "nothing" && heapIsFull())) return outOfMemory(options.memoryBytes);
    const error = guestError(thrown, scripts.columnOf);
    const suggestion = thrown.suggestion ?? suggestionFor(error.name, error.message, running.source);
    return { kind: "error", code: thrown.code ?? "js_error", error, suggestion };
  }

  function heapIsFull(): boolean {
    return engine.heapBytes() > (options.memoryBytes + running.granted) * 0.9;
  }

  function enter(name: string, payload: Json, maxMs: number): Json {
    running.state = idleState();
    clock.start(0, maxMs);
    const entered = engine.enter(name, payload === null ? "" : JSON.stringify(payload));
    const stopped = clock.stopped();
    clock.pause();
    checkFault();
    if (stopped) throw new MachineFault(`${name} did not come to an end`);
    if (entered.ok && entered.value[0] === "j") return JSON.parse(entered.value.slice(1));
    const thrown = entered.ok ? parseThrown(entered.value.slice(1)) : readThrown(entered);
    throw new RlmError(thrown.code && isErrorCode(thrown.code) ? thrown.code : "js_error", thrown.message, {
      suggestion: thrown.suggestion ?? suggestionFor(thrown.name, thrown.message, ""),
    });
  }

  const image = (): MachineImage => ({ engine: engine.image(), granted: running.granted });

  return { exec, settle, stop, image, enter, [Symbol.dispose]: () => engine[Symbol.dispose]() };
}

const NOT_AWAITED: CallError = {
  name: "Error",
  code: "not_awaited",
  message: "the cell ended before this call was awaited",
  suggestion: "Await every call, for instance with `await Promise.all(calls)`.",
};

const asList = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);

function text(value: Json, key: string): string {
  const found = typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : "";
  return typeof found === "string" ? found : "";
}
