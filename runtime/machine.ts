import { CellSyntaxError } from "./checks.ts";
import { type Clock, openRunClock } from "./clock.ts";
import { neverSettles, outOfMemory, parseThrown, readThrown, resultEnd, sourceTooLarge, syntaxEnd } from "./ends.ts";
import { type Engine, type EngineOptions, MachineFault } from "./engine.ts";
import { isErrorCode, RlmError } from "./errors.ts";
import type { ImageGate } from "./image.ts";
import { fromImage, openImages } from "./images.ts";
import type { Library } from "./library.ts";
import { DEFAULT_EXEC_LIMITS, DRAIN_MS, LIMITS } from "./limits.ts";
import { outputWarning } from "./output.ts";
import { openPost } from "./post.ts";
import { extensionSource, preludeSource } from "./prelude.ts";
import type {
  Answer,
  CallError,
  CellEnd,
  Checkpoint,
  CheckpointRequest,
  ExecInput,
  ExecState,
  Json,
  PendingCall,
  Printed,
  Restoration,
  ResumeInput,
  Settlement,
} from "./protocol.ts";
import { idleState, nothingRunning } from "./running.ts";
import { openScripts } from "./scripts.ts";
import { suggestionFor } from "./suggestions.ts";
import { guestError, type Thrown } from "./traceback.ts";

/** Where a slice of guest running ended: waiting for calls, or the exec is over. */
export type Slice =
  | { readonly kind: "idle"; readonly calls: readonly PendingCall[]; readonly state: ExecState }
  | {
      readonly kind: "ended";
      readonly end: CellEnd;
      readonly state: ExecState;
      readonly clean: boolean;
      /** As in `ResultEnd`. */
      readonly whole: string | null;
    };

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
  /** Of images that are taken. */
  readonly gate: ImageGate;
  /** Makes the guest from an image that passes the gate. */
  readonly restore?: Restoration;
}

/**
 * One guest and the exec that runs in it. Every method runs guest code to rest and may throw `MachineFault`: the
 * machine is then poisoned and must be discarded with its worker.
 */
export interface Machine extends Disposable {
  /** As `Sandbox.origin`. */
  readonly origin: string;
  exec(input: Omit<ExecInput, "replay">): Slice;
  /** Takes up the exec that waits in the image; runs nothing yet. */
  resume(input: Omit<ResumeInput, "replay">): Slice;
  /** Gives calls their answers, in this order: what waits for one goes on before the next is given. */
  settle(answers: readonly Answer[], facts: Json): Slice;
  /** Ends an exec that waits for calls; the host has set the `cancel` word. */
  stop(): Slice;
  /** An image of the guest, which must be at rest: between execs, or while one waits for calls. */
  checkpoint(request: CheckpointRequest, maxMs: number): Checkpoint;
  /** Runs a guest command between execs. @throws RlmError with what the command threw */
  enter(name: string, payload: Json, maxMs: number): Json;
}

export async function openMachine(options: MachineOptions): Promise<Machine> {
  const { library, restore } = options;
  const clock = openRunClock(options.clock, options.shared);
  // P is left out: to name it is to copy the context into the guest.
  const names = [...library.reserved, ...library.younger].filter((name) => !(name in library.texts));
  const scripts = openScripts(library.reserved, names);
  const running = nothingRunning(restore?.image.meta.granted ?? 0);
  const { post, placing, warn } = openPost({ ...options, clock, scripts, running, engine: () => engine });
  const prelude = preludeSource(library.modules);
  // Fresh guests are equal byte for byte: each is made at the same time.
  let now = () => 0;

  const engine = await options.openEngine({
    host: { post, placing, shouldStop: clock.shouldStop, now: () => now() },
    ...(restore ? fromImage(restore.image, library) : {}),
    prelude,
    config: JSON.stringify({
      sync: Object.keys(library.sync).filter((name) => !name.includes(".")),
      async: Object.keys(library.async).filter((name) => library.async[name]?.installed),
      younger: [...library.younger],
      completion: false,
      outputUnits: DEFAULT_EXEC_LIMITS.max_output_bytes,
      messageUnits: LIMITS.errorMessageUnits,
    }),
  });

  now = () => options.clock.now();
  const images = withoutLimit(() =>
    openImages({ library, engine, gate: options.gate, prelude, opened: restore?.image }),
  );
  for (const { number, source } of restore?.cells ?? []) scripts.remember(number, source);
  if (restore?.pending === "drop") forgetCalls();
  if (restore && restore.image.meta.prelude !== images.prelude) bringYoungerBuiltins();

  /** @param spare bytes on top of what the guest may have */
  function setLimit(spare: number): void {
    engine.setMemoryLimit(options.memoryBytes + running.granted + spare);
  }

  /** A limit is of the machine, not of the guest: images are equal whatever it is. */
  function withoutLimit<T>(work: () => T): T {
    engine.setMemoryLimit(0);
    try {
      return work();
    } finally {
      setLimit(0);
    }
  }

  function withSpareBytes<T>(work: () => T): T {
    setLimit(COMMAND_SPARE_BYTES);
    try {
      return work();
    } finally {
      setLimit(0);
    }
  }

  function forgetCalls(): void {
    clock.start(0, DRAIN_MS);
    const dropped = engine.enter("drop", "");
    if (!dropped.ok || engine.hasJob()) throw new MachineFault("the cell in the image could not be dropped");
  }

  /** A guest of an earlier version lacks them. Where it does not take them it goes on without. */
  function bringYoungerBuiltins(): void {
    clock.start(0, DRAIN_MS);
    const { younger, sync, modules } = library;
    const extension = extensionSource(modules.filter(({ name }) => younger.has(name)));
    const config = {
      sync: Object.keys(sync).filter((name) => younger.has(name)),
      younger: [...younger],
      messageUnits: LIMITS.errorMessageUnits,
    };
    withoutLimit(() => engine.extend(extension, JSON.stringify(config)));
  }

  function begin({ state, source, facts, wantsWhole = false }: Omit<ExecInput, "replay" | "seed" | "sites">): void {
    running.state = state;
    running.wantsWhole = wantsWhole;
    running.parts = [];
    running.source = source;
    running.facts = facts;
    running.fresh = [];
    running.outstanding.clear();
    running.done = undefined;
    running.refusal = undefined;
    running.site = undefined;
  }

  function resume(input: Omit<ResumeInput, "replay">): Slice {
    begin(input);
    for (const { id } of input.waiting) running.outstanding.add(id);
    if (input.state.cell > 0) scripts.remember(input.state.cell, input.source);
    return { kind: "idle", calls: [], state: running.state };
  }

  function exec(input: Omit<ExecInput, "replay">): Slice {
    begin(input);
    clock.start(running.state.running_ms, running.state.limits.max_execution_ms);
    if (clock.shouldStop()) return ended({ kind: "cancelled" });
    const isOwn = running.state.cell === 0;
    if (Buffer.byteLength(running.source) > LIMITS.sourceBytes) return ended(sourceTooLarge(running.source));
    try {
      const script = isOwn ? null : scripts.cell(running.state.cell, running.source);
      command("begin", {
        completion: script?.completion ?? false,
        shadows: script?.declared.filter((name) => library.younger.has(name)) ?? [],
        outputUnits: running.state.limits.max_output_bytes,
        sites: input.sites === true,
        ...(input.seed ? { seed: input.seed } : {}),
      });
      for (const { filename, source: text } of preamble()) {
        const ran = engine.runPreamble(text, filename);
        if (!ran.ok) return clock.stopped() ? cut() : ended(thrownEnd(readThrown(ran)));
      }
      if (script) engine.startCell(script.source, script.filename);
      else {
        const own = scripts.own(running.source);
        engine.startOwnCell(own.source, own.filename);
      }
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
      // A cell that is done has no use for further answers, whether they came together or one by one.
      if (running.done) break;
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
    if (!cell.ok) return ended(thrownEnd(parseThrown(cell.payload)));
    const { end, whole } = resultEnd(cell.payload, running, warn);
    return ended(end, true, whole);
  }

  /** Time is over or the exec was cancelled: comes to rest within DRAIN_MS or is not clean. */
  function cut(): Slice {
    const kind = clock.stopped() === "cancelled" ? "cancelled" : "timeout";
    const until = clock.wall() + DRAIN_MS;
    let empty = false;
    while (!empty && clock.wall() < until) empty = engine.runJob() === "empty";
    return ended({ kind }, empty);
  }

  function ended(end: CellEnd, atRest = true, whole: string | null = null): Slice {
    clock.grace(DRAIN_MS);
    running.outstanding.clear();
    running.fresh = [];
    running.parts = [];
    const { output, limits, warnings } = running.state;
    if (output.truncated) warnings.push(outputWarning(output, limits.max_output_bytes));
    const dropped = engine.enter("drop", "");
    const clean = atRest && dropped.ok && (end.kind === "ok" || passesCheck());
    running.state.running_ms = clock.pause();
    checkFault();
    return { kind: "ended", end, state: running.state, clean, whole };
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
    const suggestion = thrown.suggestion ?? suggestionFor(error.name, error.message, running.source, library.younger);
    return { kind: "error", code: thrown.code ?? "js_error", error, suggestion };
  }

  function heapIsFull(): boolean {
    return engine.heapBytes() > (options.memoryBytes + running.granted) * 0.9;
  }

  function enter(name: string, payload: Json, maxMs: number): Json {
    running.state = idleState();
    clock.start(0, maxMs);
    return enterNow(name, payload);
  }

  function enterNow(name: string, payload: Json): Json {
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

  function checkpoint(request: CheckpointRequest, maxMs: number): Checkpoint {
    const from = options.clock.monotonic();
    clock.start(0, maxMs);
    // Cancelling an exec does not keep its state from being saved.
    clock.grace(maxMs);
    const answers = withSpareBytes(() => request.commands.map((name) => enterNow(name, null)));
    if (engine.hasJob()) throw new MachineFault("a checkpoint was asked for while the guest had work to do");
    const delta = withoutLimit(() => images.take(request, running.granted));
    return { delta, answers, waiting: [...running.outstanding], ms: options.clock.monotonic() - from };
  }

  return {
    origin: images.origin,
    exec,
    resume,
    settle,
    stop,
    checkpoint,
    enter,
    [Symbol.dispose]: () => engine[Symbol.dispose](),
  };
}

/** What commands that run before a checkpoint may take beyond the guest's limit: a full guest can be saved too. */
const COMMAND_SPARE_BYTES = 16 * 2 ** 20;

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
