import { type Clock, openRunClock } from "./clock.ts";
import { neverSettles, outOfMemory, resultEnd, sourceTooLarge, syntaxEnd } from "./ends.ts";
import { type Engine, type EngineImage, type EngineOptions, type Entered, MachineFault } from "./engine.ts";
import { isErrorCode, RlmError } from "./errors.ts";
import type { CallScope, Library } from "./library.ts";
import { DEFAULT_EXEC_LIMITS, DRAIN_MS, LIMITS } from "./limits.ts";
import { appendOutput, noOutput, type Stream } from "./output.ts";
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
import { openScripts } from "./scripts.ts";
import { suggestionFor } from "./suggestions.ts";
import { callSite, guestError, type Thrown } from "./traceback.ts";
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
  const outstanding = new Set<string>();
  let state = idleState();
  let source = "";
  let facts: Json = null;
  let granted = options.image?.granted ?? 0;
  let fresh: PendingCall[] = [];
  let done: { ok: boolean; payload: string } | undefined;
  let site: string | undefined;
  let refusal: CallError | undefined;
  let fault: MachineFault | undefined;

  const scope: CallScope = {
    get limits() {
      return state.limits;
    },
    get facts() {
      return facts;
    },
    warn,
    offClock: clock.offClock,
    notice: options.notice,
    checkHelper(name, helper) {
      if (library.reserved.has(name)) {
        throw new RlmError("policy_violation", `helpers.add: ${name} is the name of a builtin`, {
          suggestion: "Choose another name for the helper.",
        });
      }
      const script = scripts.helper(name, helper);
      const compiled = engine.compile(script.source, script.filename);
      if (compiled.ok) return;
      const thrown = readThrown(compiled);
      throw new RlmError("js_error", thrown.message, {
        guestName: "SyntaxError",
        suggestion: suggestionFor("SyntaxError", thrown.message, helper),
      });
    },
    newCalls: () => fresh.length,
    sliceMs: clock.sliceMs,
    grantBytes(bytes) {
      granted = bytes;
      engine.setMemoryLimit(options.memoryBytes + granted);
    },
  };

  const engine = await options.openEngine({
    host: { post, shouldStop: clock.shouldStop, now: () => options.clock.now() },
    memoryLimit: options.memoryBytes + granted,
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

  function post(kind: string, name: string, payload: string): string | Uint8Array {
    try {
      switch (kind) {
        case "sync":
          return reply(library.sync[name]?.(fromGuest(payload), scope) ?? null);
        case "site":
          site = payload;
          return "";
        case "call":
          return startCall(name, fromGuest(payload));
        case "print":
          print(name === "stderr" ? "stderr" : "stdout", payload);
          return "";
        case "done":
          done = { ok: name === "ok", payload };
          return "";
        case "text":
          return library.texts[name]?.(scope) ?? "";
        case "bytes":
          return String(Buffer.byteLength(payload));
        default:
          throw new MachineFault(`the guest posted ${kind}`);
      }
    } catch (error) {
      return `e${JSON.stringify(callError(error))}`;
    }
  }

  function print(stream: Stream, text: string): void {
    if (state.output.truncated) return;
    appendOutput(state.output, stream, text, state.limits.max_output_bytes);
    if (state.output.truncated) warn("output_truncated");
    options.printed({ stream, text });
  }

  function startCall(name: string, args: readonly Json[]): string {
    if (refusal) return `e${JSON.stringify(refusal)}`;
    library.async[name]?.check(args, scope);
    const id = `${state.exec_id}.${state.next_call++}`;
    const where = site === undefined ? undefined : callSite(site);
    fresh.push({ id, name, args, ...(where ? { site: where } : {}) });
    outstanding.add(id);
    return `s${id}`;
  }

  /** What the guest may know of a failure: a mistake of the caller whole, a fault of ours by name alone. */
  function callError(error: unknown): CallError {
    if (error instanceof RlmError) {
      const { guestName: name, code, message, suggestion, retriable } = error;
      return { name, code, message, suggestion, ...(retriable === undefined ? {} : { retriable }) };
    }
    fault ??= error instanceof MachineFault ? error : new MachineFault(`a builtin failed: ${String(error)}`);
    return { name: "Error", code: "machine_lost", message: "the builtin failed inside", suggestion: "Run it again." };
  }

  function warn(text: string): void {
    if (!state.warnings.includes(text) && state.warnings.length < 100) state.warnings.push(text);
  }

  function exec(input: ExecInput): Slice {
    state = input.state;
    source = input.source;
    facts = input.facts;
    fresh = [];
    done = undefined;
    refusal = undefined;
    site = undefined;
    clock.start(state.running_ms, state.limits.max_execution_ms);
    if (clock.shouldStop()) return ended({ kind: "cancelled" });
    if (Buffer.byteLength(source) > LIMITS.sourceBytes) return ended(sourceTooLarge(source));
    try {
      const script = scripts.cell(state.cell, source);
      command("begin", {
        completion: script.completion,
        outputUnits: state.limits.max_output_bytes,
        sites: input.sites === true,
      });
      for (const { filename, source: text } of preamble()) {
        const ran = engine.runPreamble(text, filename);
        if (!ran.ok) return clock.stopped() ? cut() : ended(thrownEnd(readThrown(ran)));
      }
      engine.startCell(script.source, script.filename);
    } catch (error) {
      if (error instanceof CellSyntaxError) return ended(syntaxEnd(error, state.cell));
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
    facts = newFacts;
    fresh = [];
    clock.start(state.running_ms, state.limits.max_execution_ms);
    for (const { id, settlement } of answers) {
      deliver(id, settlement);
      if (!runJobs()) return cut();
    }
    return toIdle();
  }

  function stop(): Slice {
    clock.start(state.running_ms, state.limits.max_execution_ms);
    clock.shouldStop();
    return cut();
  }

  function deliver(id: string, settlement: Settlement): void {
    if (!outstanding.delete(id)) return;
    command("settle", settlement.ok ? { id, value: settlement.value } : { id, error: { ...settlement.error } });
  }

  /** Runs jobs until none is left, then says where that leaves the exec. */
  function toIdle(): Slice {
    if (!runJobs()) return cut();
    if (done) return finish(done);
    if (fresh.length > 0 || outstanding.size > 0) {
      state.running_ms = clock.pause();
      checkFault();
      return { kind: "idle", calls: fresh, state };
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
    if (outstanding.size > 0) {
      warn(`unawaited_sub_calls: ${outstanding.size}`);
      refusal = NOT_AWAITED;
      for (const id of [...outstanding]) deliver(id, { ok: false, error: NOT_AWAITED });
      fresh = [];
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
    outstanding.clear();
    fresh = [];
    const dropped = engine.enter("drop", "");
    const clean = atRest && dropped.ok && (end.kind === "ok" || passesCheck());
    state.running_ms = clock.pause();
    checkFault();
    return { kind: "ended", end, state, clean };
  }

  function passesCheck(): boolean {
    const checked = engine.enter("check", "");
    return checked.ok && checked.value === "jtrue" && engine.runJob() === "empty";
  }

  function checkFault(): void {
    if (fault) throw fault;
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
    const suggestion = thrown.suggestion ?? suggestionFor(error.name, error.message, source);
    return { kind: "error", code: thrown.code ?? "js_error", error, suggestion };
  }

  function heapIsFull(): boolean {
    return engine.heapBytes() > (options.memoryBytes + granted) * 0.9;
  }

  function readThrown(entered: Entered & { ok: false }): Thrown {
    return entered.failure === null
      ? { thrown: "nothing", name: "Error", message: "an error that could not be shown", stack: "", classes: [] }
      : parseThrown(entered.failure);
  }

  function enter(name: string, payload: Json, maxMs: number): Json {
    state = idleState();
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

  const image = (): MachineImage => ({ engine: engine.image(), granted });

  return { exec, settle, stop, image, enter, [Symbol.dispose]: () => engine[Symbol.dispose]() };
}

const NOT_AWAITED: CallError = {
  name: "Error",
  code: "not_awaited",
  message: "the cell ended before this call was awaited",
  suggestion: "Await every call, for instance with `await Promise.all(calls)`.",
};

function idleState(): ExecState {
  return {
    exec_id: "",
    cell: 0,
    limits: DEFAULT_EXEC_LIMITS,
    output: noOutput(),
    warnings: [],
    running_ms: 0,
    next_call: 0,
  };
}

/** A guest that is out of memory cannot hand a string over; the engine then gives a text that is no JSON. */
function fromGuest(payload: string): readonly Json[] {
  try {
    return JSON.parse(payload);
  } catch (cause) {
    throw new RlmError("memory_limit_exceeded", "out of memory: the guest heap is full", {
      suggestion: "Keep less in variables, or work in slices.",
      cause,
    });
  }
}

function reply(value: Json): string {
  return typeof value === "string" ? `s${value}` : `j${JSON.stringify(value)}`;
}

function parseThrown(json: string): Thrown {
  return JSON.parse(json);
}

const asList = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);

function text(value: Json, key: string): string {
  const found = typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : "";
  return typeof found === "string" ? found : "";
}
