import { CellSyntaxError } from "./checks.ts";
import { type Clock, openRunClock } from "./clock.ts";
import {
  type ErrorEnd,
  foundEnd,
  limitLowered,
  neverSettles,
  noRoom,
  outOfMemory,
  parseThrown,
  readThrown,
  resultEnd,
  sourceTooLarge,
  syntaxEnd,
} from "./ends.ts";
import { type Engine, type EngineOptions, type Entered, MachineFault } from "./engine.ts";
import { isErrorCode, RlmError } from "./errors.ts";
import type { Baseline, ImageFormat } from "./image.ts";
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
  SetAside,
  Settlement,
} from "./protocol.ts";
import { SHARED } from "./protocol.ts";
import { remedy } from "./remedies.ts";
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
      /** Helpers that failed. */
      readonly asides: readonly SetAside[];
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
  readonly gate: ImageFormat;
  /** Makes the guest from an image that this build can read. */
  readonly restore?: Restoration;
}

/**
 * One guest and the exec that runs in it. Every method runs guest code to rest and may throw `MachineFault`: the
 * machine is then poisoned and must be discarded with its worker.
 */
export interface Machine extends Disposable {
  /** As `Sandbox.origin`. */
  readonly origin: string;
  exec(input: ExecInput): Slice;
  /** Takes up the exec that waits in the image; runs nothing yet. */
  resume(input: ResumeInput): Slice;
  /** Gives calls their answers, in this order: what waits for one goes on before the next is given. */
  settle(answers: readonly Answer[], facts: Json): Slice;
  /** Ends an exec that waits for calls; the host has set the `cancel` word. */
  stop(): Slice;
  /** An image of the guest, which must be at rest: between execs, or while one waits for calls. */
  checkpoint(request: CheckpointRequest, maxMs: number): Checkpoint;
  /** Runs a guest command between execs. @throws RlmError with what the command threw */
  enter(name: string, payload: Json, maxMs: number): Json;
  /** The guest as it was when it was opened, in shared memory. */
  baseline(): Baseline;
  /** Bytes of linear memory. */
  linearBytes(): number;
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
  /** Bytes of what the guest may have that are kept from it while it is checked. */
  let withheld = 0;
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
    engine.setMemoryLimit(options.memoryBytes + running.granted - withheld + spare);
  }

  function withholding<T>(bytes: number, work: () => T): T {
    withheld = bytes;
    setLimit(0);
    try {
      return work();
    } finally {
      withheld = 0;
      setLimit(0);
    }
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
    running.asides = [];
    running.refusal = undefined;
    running.site = undefined;
  }

  function resume(input: ResumeInput): Slice {
    begin(input);
    for (const { id } of input.waiting) running.outstanding.add(id);
    if (input.state.cell > 0) scripts.remember(input.state.cell, input.source);
    return { kind: "idle", calls: [], state: running.state };
  }

  function exec(input: ExecInput): Slice {
    begin(input);
    clock.start(running.state.running_ms, running.state.limits.max_execution_ms);
    if (clock.shouldStop()) return ended({ kind: "cancelled" });
    const isOwn = running.state.cell === 0;
    if (Buffer.byteLength(running.source) > LIMITS.sourceBytes) return ended(sourceTooLarge(running.source));
    try {
      const script = isOwn ? null : scripts.cell(running.state.cell, running.source);
      const options = {
        completion: script?.completion ?? false,
        shadows: script?.declared.filter((name) => library.younger.has(name)) ?? [],
        outputUnits: running.state.limits.max_output_bytes,
        sites: input.sites === true,
        ...(input.seed ? { seed: input.seed } : {}),
      };
      withSpareBytes(() => command("begin", options));
      const failed = runHelpers();
      if (failed) return failed;
      if (script) engine.startCell(script.source, script.filename);
      else {
        const own = scripts.own(running.source);
        engine.startOwnCell(own.source, own.filename);
      }
    } catch (error) {
      if (error instanceof CellSyntaxError) return ended(syntaxEnd(error, running.state.cell));
      const lowered = error instanceof MachineFault ? ifLowered() : null;
      if (lowered) return ended(foundEnd(lowered));
      throw error;
    }
    return toIdle();
  }

  /** One that fails is left out from now on; it ends the exec, unless there was no memory for it. */
  function runHelpers(): Slice | undefined {
    const { preamble } = library;
    if (!preamble) return undefined;
    for (const item of asList(withSpareBytes(() => command(preamble.list, null)))) {
      const name = text(item, "name");
      const why = text(item, "aside");
      const script = scripts.helper(name, text(item, "code"));
      if (why) warnOf({ name, why });
      const ran = why ? null : engine.runPreamble(script.source, script.filename);
      const failed = ran && !ran.ok ? helperFailed(name, ran) : undefined;
      if (failed) return failed;
    }
    return undefined;
  }

  function helperFailed(name: string, ran: Entered & { ok: false }): Slice | undefined {
    if (clock.stopped() === "cancelled") return cut();
    if (clock.stopped()) {
      setAside(name, "it did not end in time");
      return cut();
    }
    const end = thrownEnd(readThrown(ran));
    const isFull = end.code === "memory_limit_exceeded";
    // The helper is not at fault, and will run if the limit is raised.
    if (isFull && ifLowered()) return ended(end);
    setAside(name, isFull ? OUT_OF_MEMORY : (end.error.traceback.split("\n", 1)[0] ?? ""));
    const suggestion = `The helper ${name} is left out from now on: add it again when it is corrected, or ${remedy("removeHelper", JSON.stringify(name))}.`;
    return isFull ? undefined : ended({ ...end, suggestion });
  }

  function setAside(name: string, why: string): void {
    running.asides.push({ name, why });
    warnOf({ name, why });
  }

  const warnOf = ({ name, why }: SetAside) => warn(`helper_set_aside: ${name}: ${why}`);

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
    return ended(heapIsFull() ? fullEnd() : neverSettles());
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
    withSpareBytes(() => {
      for (const aside of running.asides) {
        if (library.preamble) engine.enter(library.preamble.setAside, JSON.stringify(aside));
      }
    });
    const dropped = engine.enter("drop", "");
    const clean = atRest && dropped.ok && (end.kind === "ok" || passesCheck());
    running.state.running_ms = clock.pause();
    checkFault();
    return { kind: "ended", end, state: running.state, clean, whole, asides: running.asides };
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

  function thrownEnd(thrown: Thrown): ErrorEnd {
    const oom = thrown.name === "InternalError" && thrown.message === "out of memory";
    if (oom || (thrown.thrown === "nothing" && heapIsFull())) return fullEnd();
    const error = guestError(thrown, scripts.columnOf);
    const suggestion = thrown.suggestion ?? suggestionFor(error.name, error.message, running.source, library.younger);
    return { kind: "error", code: thrown.code ?? "js_error", error, suggestion };
  }

  function fullEnd(): ErrorEnd {
    const lowered = ifLowered();
    return lowered ? foundEnd(lowered) : outOfMemory(options.memoryBytes);
  }

  /** For a guest that holds more than its limit; null for every other. */
  function ifLowered(): RlmError | null {
    const held = engine.heapBytes() - running.granted;
    return held > options.memoryBytes ? limitLowered(held, options.memoryBytes) : null;
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
    const lowered = ifLowered();
    if (lowered) throw lowered;
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
    const helpers = library.preamble && answers[request.commands.indexOf(library.preamble.list)];
    const isSpent = helpers !== undefined && !hasRoom(helpers);
    const delta = withoutLimit(() => images.take(request, running.granted));
    const waiting = [...running.outstanding];
    if (isSpent) tryOut();
    return { delta, answers, waiting, ms: options.clock.monotonic() - from, isSpent };
  }

  /** Whether the next cell certainly finds the guest sound, and with room for it and its helpers. Costs next to nothing. */
  function hasRoom(helpers: Json): boolean {
    const room = asList(helpers).reduce<number>((sum, item) => {
      const { source, names } = scripts.helper(text(item, "name"), text(item, "code"));
      return sum + source.length * ROOM_PER_HELPER_UNIT + names * ROOM_PER_HELPER_NAME;
    }, ROOM_BYTES);
    const dropped = withholding(Math.min(room, options.memoryBytes / 2), () => engine.enter("drop", PROBE));
    return dropped.ok && (dropped.value === "jtrue" || dropped.value === "jnull");
  }

  /**
   * Runs helpers and a small cell with little room to spare. The guest is then not as it was.
   *
   * @throws where the next cell could not run: RlmError `memory_limit_exceeded`, else MachineFault
   */
  function tryOut(): void {
    const limits = { ...DEFAULT_EXEC_LIMITS, max_execution_ms: TRIAL_MS };
    const input = { source: "1 + 1", state: { ...idleState(), cell: 1, limits }, facts: null };
    // That the exec was cancelled, whose end this is, does not matter to the next one.
    const cancelled = Atomics.exchange(options.shared, SHARED.cancel, 0);
    const tried = withholding(TRIAL_SPARE_BYTES, () => exec(input));
    Atomics.store(options.shared, SHARED.cancel, cancelled);
    if (tried.kind === "idle") throw new MachineFault("the guest did not end a cell");
    const { end, clean, asides } = tried;
    const isFull = end.kind === "error" && end.code === "memory_limit_exceeded";
    if (isFull || asides.some(({ why }) => why === OUT_OF_MEMORY)) throw noRoom("another cell");
    // What else a helper does is its own affair: it is told of by the next cell.
    if (!clean || (end.kind !== "ok" && asides.length === 0)) throw new MachineFault("the guest cannot run a cell");
  }

  return {
    origin: images.origin,
    exec,
    resume,
    settle,
    stop,
    checkpoint,
    enter,
    baseline: images.baseline,
    linearBytes: () => engine.image().memory.length,
    [Symbol.dispose]: () => engine[Symbol.dispose](),
  };
}

/** What commands that run before a checkpoint may take beyond the guest's limit: a full guest can be saved too. */
const COMMAND_SPARE_BYTES = 16 * 2 ** 20;

/**
 * A guest with less room than this is tried out before its state is kept. What a helper takes, in bytes for each unit of its code
 * and for each name: helpers of 900 KB took 20 MB with 9,000 functions, 13 MB as one list, 70 MB with 60,000 small functions.
 */
const ROOM_BYTES = 4 * 2 ** 20;
const ROOM_PER_HELPER_UNIT = 16;
const ROOM_PER_HELPER_NAME = 1024;
/** JSON that is longer than what the engine keeps room for in small blocks: it must ask for memory. */
const PROBE = `${" ".repeat(1024)}null`;
/** What a tried guest must have left. */
const TRIAL_SPARE_BYTES = 2 ** 20;
const TRIAL_MS = 5000;

const OUT_OF_MEMORY = "out of memory";

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
