import { CellSyntaxError } from "./cells/checks.ts";
import { runHelpers } from "./cells/run-helpers.ts";
import { openScripts } from "./cells/scripts.ts";
import { type Clock, openRunClock } from "./clock.ts";
import { cutExec, endExec, thrownEnd } from "./end-exec.ts";
import { foundEnd, neverSettles, parseThrown, resultEnd, sourceTooLarge, syntaxEnd } from "./ends.ts";
import { type Engine, type EngineOptions, MachineFault } from "./engine.ts";
import { listOf, runCommand, step } from "./enter.ts";
import type { Guest } from "./guest.ts";
import { openHeap } from "./heap.ts";
import type { Baseline, ImageFormat } from "./images/image.ts";
import { captureImage, fromImage, openImages } from "./images/images.ts";
import type { GuestLibrary } from "./library.ts";
import { DEFAULT_EXEC_LIMITS, DRAIN_MS, LIMITS } from "./limits.ts";
import { openPost, STRING_SLACK_BYTES } from "./post.ts";
import { extensionSource, preludeSource } from "./prelude.ts";
import type {
  Answer,
  CallError,
  CellEnd,
  Checkpoint,
  CheckpointRequest,
  Ended,
  ExecInput,
  Json,
  Printed,
  Restoration,
  ResumeInput,
  Settlement,
  SliceEnd,
} from "./protocol.ts";
import {
  addWarning,
  beginExec,
  keepLibraryState,
  nothingRunning,
  type Running,
  TYPES_LEFT_OUT,
  warnOfRoundedText,
} from "./running.ts";

/**
 * One guest and the exec that runs in it. Every method runs guest code to rest and may throw
 * `MachineFault`: the machine is then poisoned and must be discarded with its thread.
 */
export interface Machine extends Disposable {
  /** Begins an exec and runs its cell until the guest waits for calls or the exec has ended. */
  startCell(input: ExecInput): SliceEnd;
  /**
   * Continues the exec that waits in the image. Runs nothing: the guest still waits for its calls.
   */
  resume(input: ResumeInput): SliceEnd;
  /**
   * Gives calls their answers, in this order. Jobs of one answer run before the next answer is
   * given.
   */
  settle(answers: readonly Answer[], facts: Json): SliceEnd;
  /** Ends an exec that waits for calls, as cancelled: the host has set the `cancel` word. */
  stop(): Ended;
  /** Captures an image of the guest: see `captureImage`. */
  checkpoint(request: CheckpointRequest): Checkpoint;
  /**
   * Runs a guest command for the host, between execs.
   *
   * @throws RlmError with what the command threw
   */
  enter(name: string, payload: Json): Json;
  /** The guest as it was when it was opened, in shared memory. */
  baseline(): Baseline;
  /** Bytes of linear memory. */
  linearBytes(): number;
}

interface GuestOptions {
  readonly library: GuestLibrary;
  /**
   * Limit of the guest's own heap, bytes. The texts that the guest takes from the library come on
   * top.
   */
  readonly memoryBytes: number;
  readonly clock: Clock;
  /** The words of `SHARED`, over a SharedArrayBuffer. */
  readonly shared: Int32Array;
  readonly notice: (text: string) => void;
  readonly printed: (part: Printed) => void;
  /** Format of the images that this build makes. */
  readonly format: ImageFormat;
  /** SHA-256 of the prelude, hex; `null` if it is to be computed. */
  readonly prelude: string | null;
  openEngine(options: EngineOptions): Promise<Engine>;
  /** If given, the guest is made from this image, which this build must be able to read. */
  readonly restore?: Restoration;
}

export async function openMachine(options: GuestOptions): Promise<Machine> {
  const guest = await makeGuest(options);
  const { engine, heap } = guest;
  const { restore } = options;
  const images = heap.withoutLimit(() => openImages(guest, options, restore));
  heap.holdsCopy(images.heldBytes());
  if (restore) adoptGuest(guest, restore, images.prelude);
  return {
    startCell: (input) => startCell(guest, input),
    resume: (input) => resumeExec(guest, input),
    settle: (answers, facts) => settle(guest, answers, facts),
    stop: () => stopExec(guest),
    checkpoint: (request) => captureImage(guest, images, request, startCell),
    enter: (name, payload) => runCommand(guest, name, payload),
    baseline: images.baseline,
    linearBytes: engine.linearBytes,
    [Symbol.dispose]: () => engine[Symbol.dispose](),
  };
}

/** Makes a guest: a fresh one, or the one in an image. No cell has run in it in this process. */
async function makeGuest(options: GuestOptions): Promise<Guest> {
  const { library, restore } = options;
  const clock = openRunClock(options.clock, options.shared);
  const isTaken = (source: string) => engine.compile(source, "<cell>", "cell").ok;
  const scripts = openScripts(library.reserved, namesForOwnCells(library), isTaken);
  const running = nothingRunning();
  const granted = Math.min(restore?.image.meta.granted ?? 0, mostGranted(library));
  const heap = openHeap({ limitBytes: options.memoryBytes, granted, engine: () => engine });
  const { post, placing } = openPost({ ...options, clock, scripts, running, heap, engine: () => engine });
  const prelude = () => ({ source: preludeSource(library.modules), config: preludeConfig(library) });
  // Fresh guests are equal byte for byte, so each one is made at the same time.
  let now = () => 0;
  const engine = await options.openEngine({
    host: { post, placing, shouldStop: clock.shouldStop, now: () => now() },
    ...(restore ? fromImage(restore.image, library) : {}),
    prelude,
  });
  now = () => options.clock.now();
  return { engine, heap, clock, library, scripts, running, prelude };
}

/**
 * The most that a guest can have been granted: an image may come from another user, and does not
 * raise the limit of this one.
 */
function mostGranted({ texts }: GuestLibrary): number {
  const loaded = Object.values(texts).filter((text) => text.id() !== null);
  return loaded.reduce((sum, text) => sum + 2 * text.read().length + STRING_SLACK_BYTES, 0);
}

function preludeConfig(library: GuestLibrary): string {
  return JSON.stringify({
    ...installedNames(library),
    younger: [...library.younger],
    completion: false,
    outputUnits: DEFAULT_EXEC_LIMITS.max_output_bytes,
    messageUnits: LIMITS.errorMessageUnits,
  });
}

/**
 * Functions that cells reach by their own names. A module installs its name itself, and calls the
 * function behind it.
 */
function installedNames({ sync, async, modules }: GuestLibrary) {
  const isModule = (name: string) => modules.some((module) => module.name === name);
  return {
    sync: Object.keys(sync).filter((name) => !name.includes(".") && !isModule(name)),
    async: Object.keys(async).filter((name) => async[name]?.installed),
  };
}

/** P is left out: to name it is to copy the context into the guest. */
function namesForOwnCells({ reserved, younger, texts }: GuestLibrary): string[] {
  return [...reserved, ...younger].filter((name) => !(name in texts));
}

function startCell(guest: Guest, input: ExecInput): SliceEnd {
  const { clock, library, running } = guest;
  beginExec(running, input);
  library.exec?.begin();
  startClock(guest);
  if (clock.shouldStop()) return endExec(guest, { kind: clock.stopped() ?? "cancelled" });
  if (Buffer.byteLength(input.source) > LIMITS.sourceBytes) return endExec(guest, sourceTooLarge(input.source));
  try {
    const ended = enterCell(guest, input);
    if (ended) return ended;
  } catch (error) {
    const end = endOf(guest, error);
    if (end) return endExec(guest, end);
    throw error;
  }
  return runToRest(guest);
}

/**
 * Runs the helpers and then the cell, up to the cell's first wait. Returns the exec's end if a
 * helper ended it.
 */
function enterCell(guest: Guest, { sites = false, seed, kept }: ExecInput): Ended | undefined {
  const { engine, heap, library, running, scripts } = guest;
  const { cell, limits } = running.state;
  // Cell 0 is the host's own: it gets builtins as parameters.
  const script = cell === 0 ? null : scripts.cell(cell, running.source, kept);
  if (script?.isTypeScript) addWarning(running, TYPES_LEFT_OUT);
  const options = {
    completion: script?.completion ?? false,
    shadows: script?.declared.filter((name) => library.younger.has(name)) ?? [],
    outputUnits: limits.max_output_bytes,
    sites,
    ...(seed ? { seed } : {}),
  };
  heap.withSpareBytes(() => step(guest, "begin", options));
  const command = library.beginning();
  if (command !== null) step(guest, command, null);
  const ended = runHelpers(guest);
  if (ended) return ended;
  if (script) engine.startCell(script.source, script.filename);
  else {
    const own = scripts.own(running.source);
    engine.startOwnCell(own.source, own.filename);
  }
  return undefined;
}

/** The end of a cell that could not be started; null if that is a fault. */
function endOf({ heap, running }: Guest, error: unknown): CellEnd | null {
  if (error instanceof CellSyntaxError) return syntaxEnd(error, running.state.cell);
  const lowered = error instanceof MachineFault ? heap.overLimit() : null;
  return lowered && foundEnd(lowered);
}

function resumeExec({ library, running, scripts }: Guest, input: ResumeInput): SliceEnd {
  beginExec(running, input);
  library.exec?.resume(input.state.library ?? null);
  for (const { id } of input.waiting) running.outstanding.add(id);
  if (input.state.cell > 0) scripts.remember(input.state.cell, input.source);
  return { kind: "idle", calls: [], state: running.state };
}

function settle(guest: Guest, answers: readonly Answer[], facts: Json): SliceEnd {
  const { running } = guest;
  running.facts = facts;
  running.fresh = [];
  startClock(guest);
  for (const { id, settlement } of answers) {
    // A cell that is done ignores further answers, whether they came together or one by one.
    if (running.done) break;
    deliver(guest, id, settlement);
    if (!runJobs(guest)) return cutExec(guest);
  }
  return runToRest(guest);
}

function stopExec(guest: Guest): Ended {
  startClock(guest);
  guest.clock.shouldStop();
  return cutExec(guest);
}

/** Continues the exec's running time, which paused when its last slice ended. */
function startClock({ clock, running: { state } }: Pick<Guest, "clock" | "running">): void {
  clock.start(state.running_ms, state.limits.max_execution_ms);
}

/** Runs jobs until none is left. The guest then waits for calls, or its exec has ended. */
function runToRest(guest: Guest): SliceEnd {
  const { clock, heap, running } = guest;
  if (!runJobs(guest)) return cutExec(guest);
  if (running.done) return finishCell(guest, running.done);
  if (running.fresh.length > 0 || running.outstanding.size > 0) {
    running.state.running_ms = clock.pause();
    keepLibraryState(guest, null);
    if (running.fault) throw running.fault;
    return { kind: "idle", calls: running.fresh, state: running.state };
  }
  return endExec(guest, heap.isFull() ? heap.fullEnd() : neverSettles());
}

/** Returns false if the exec ran out of time or was cancelled. */
function runJobs({ engine, clock }: Guest): boolean {
  for (let ran = 0; ; ran++) {
    if (ran % JOBS_BETWEEN_LOOKS === 0) clock.shouldStop();
    if (clock.stopped()) return false;
    if (engine.runJob() === "empty") return true;
  }
}

const JOBS_BETWEEN_LOOKS = 64;

function deliver(guest: Guest, id: string, settlement: Settlement): void {
  if (!guest.running.outstanding.delete(id)) return;
  step(guest, "settle", settlement.ok ? { id, value: settlement.value } : { id, error: { ...settlement.error } });
}

/**
 * Ends the exec of a cell that is done. Calls that the cell did not await are refused, and their
 * callbacks run once more.
 */
function finishCell(guest: Guest, done: NonNullable<Running["done"]>): Ended {
  const { running } = guest;
  const warn = (text: string) => addWarning(running, text);
  for (const message of listOf(step(guest, "unhandled", null))) warn(`unhandled_rejection: ${String(message)}`);
  if (running.outstanding.size > 0) {
    warn(`unawaited_sub_calls: ${running.outstanding.size}`);
    running.refusal = NOT_AWAITED;
    for (const id of [...running.outstanding]) deliver(guest, id, { ok: false, error: NOT_AWAITED });
    running.fresh = [];
    if (!runJobs(guest)) return cutExec(guest);
  }
  if (!done.ok) {
    const thrown = parseThrown(done.payload);
    warnOfRoundedText(guest, thrown.message);
    return endExec(guest, thrownEnd(guest, thrown));
  }
  const { end, whole } = resultEnd(done.payload, running, warn);
  if (end.kind === "ok") warnOfRoundedText(guest, whole ?? end.result);
  return endExec(guest, end, whole);
}

const NOT_AWAITED: CallError = {
  name: "Error",
  code: "not_awaited",
  message: "the cell ended before this call was awaited",
  suggestion: "Await every call, for instance with `await Promise.all(calls)`.",
};

/**
 * Prepares a guest that was made from an image for its next exec. `prelude` is that of this build,
 * see `ImageMeta.prelude`.
 */
function adoptGuest(guest: Guest, { image, pending, cells }: Restoration, prelude: string): void {
  for (const { number, source } of cells) guest.scripts.remember(number, source);
  if (pending === "drop") dropCalls(guest);
  if (image.meta.prelude !== prelude) addYoungerBuiltins(guest);
}

/** The guest forgets the calls that it waits for, and with them the cell that made them. */
function dropCalls({ engine, clock }: Guest): void {
  clock.start(0, DRAIN_MS);
  const dropped = engine.enter("drop", "");
  if (!dropped.ok || engine.hasJob()) throw new MachineFault("the cell in the image could not be dropped");
}

/**
 * A guest of an earlier version lacks these builtins. If it does not take them, it continues
 * without them.
 */
function addYoungerBuiltins({ engine, clock, heap, library }: Guest): void {
  clock.start(0, DRAIN_MS);
  const { younger, modules } = library;
  const { sync, async } = installedNames(library);
  const extension = extensionSource(modules.filter(({ name }) => younger.has(name)));
  const config = {
    sync: sync.filter((name) => younger.has(name)),
    async: async.filter((name) => younger.has(name)),
    younger: [...younger],
    messageUnits: LIMITS.errorMessageUnits,
  };
  heap.withoutLimit(() => engine.extend(extension, JSON.stringify(config)));
}
