import { tmpdir } from "node:os";
import {
  applyPart,
  type Checkpoint,
  type CheckpointRequest,
  DEFAULT_EXEC_LIMITS,
  type ExecInput,
  type ExecSignals,
  type ExecState,
  type GuestImage,
  type ImageDelta,
  type ImageMeta,
  type Json,
  noOutput,
  type Over,
  openSandbox,
  type PendingCall,
  type Restoration,
  type ResumeInput,
  type Sandbox,
  type Settlement,
  systemClock,
} from "../../runtime/index.ts";
import { type Context, load } from "../../src/context/index.ts";
import { runLoop } from "../../src/session/exec/loop.ts";
import type { LoopMachine, LoopParts, Replayed } from "../../src/session/exec/ports.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import { contextMessage } from "../../src/session/machine/guest.ts";
import { FREE } from "../../src/session/sub-calls/port.ts";
import { openSuspension } from "../../src/session/suspension.ts";
import { threadEntry } from "./command.ts";
import { unpacked } from "./unpacked.ts";

export interface GuestOptions {
  readonly image?: Restoration;
  readonly context?: Context;
  readonly memoryBytes?: number;
}

/** A guest whose cells can call `later(value)` and `fails(code)`. The context is at hand before the guest is made. */
export function openGuest({
  image,
  context,
  memoryBytes = 128 * 2 ** 20,
}: GuestOptions = {}): Promise<Sandbox<ContextMessage>> {
  return openSandbox<ContextMessage>({
    entry: threadEntry("async"),
    memoryBytes,
    ...(image ? { image: async () => image } : {}),
    ...(context ? { message: contextMessage(context, tmpdir()) } : {}),
  });
}

export function contextOf(text: string): Promise<Context> {
  return load({ kind: "text", text, name: "text.txt" }, { roots: [tmpdir()], cwd: tmpdir() });
}

export function newState(exec_id = "x", cell = 1): ExecState {
  return { exec_id, cell, limits: DEFAULT_EXEC_LIMITS, output: noOutput(), warnings: [], running_ms: 0, next_call: 1 };
}

/** Images by id, as a store would keep them: whole ones, and changes of others. */
export interface Images {
  add(delta: ImageDelta): void;
  /** A copy of its own. */
  image(id: string): GuestImage;
  readonly deltas: readonly ImageDelta[];
}

export function keepImages(): Images {
  const byId = new Map<string, ImageDelta>();
  function write(id: string, memory: Uint8Array): void {
    const delta = byId.get(id);
    if (!delta) throw new Error(`there is no image ${id}`);
    if (delta.base !== null) write(delta.base, memory);
    for (const part of delta.pages) applyPart(memory, unpacked(part));
  }
  function metaOf(id: string): ImageMeta {
    const delta = byId.get(id);
    if (!delta) throw new Error(`there is no image ${id}`);
    return delta.meta;
  }
  return {
    add: (delta) => void byId.set(delta.id, delta),
    image(id) {
      const meta = metaOf(id);
      const memory = new Uint8Array(meta.linearBytes);
      write(id, memory);
      return { id, meta, memory };
    },
    get deltas() {
      return [...byId.values()];
    },
  };
}

/** A moment at which an exec waited for calls, and was saved. */
export interface Saved {
  readonly id: string;
  readonly state: ExecState;
  readonly waiting: readonly PendingCall[];
  /** Ids of the calls that the guest had its answers of. */
  readonly answered: readonly string[];
}

/** Who answers the calls of a guest, and saves it. */
export interface CallHost {
  facts(): Json;
  checkpoint(): CheckpointRequest | null;
  begin(calls: readonly PendingCall[], state: ExecState, taken: Checkpoint | null): Promise<void>;
  run(call: PendingCall, signal: AbortSignal): Promise<Settlement>;
}

type Records = { readonly replay?: readonly Replayed[] };

export function exec(
  machine: LoopMachine,
  { replay = [], ...input }: ExecInput & Records,
  host: CallHost,
  signals: ExecSignals = {},
): Promise<Over> {
  return runLoop(loopParts(machine, host), { kind: "start", input, replay }, signals);
}

export function resume(
  machine: LoopMachine,
  { replay = [], ...input }: ResumeInput & Records,
  host: CallHost,
  signals: ExecSignals = {},
): Promise<Over> {
  return runLoop(loopParts(machine, host), { kind: "resume", input, replay }, signals);
}

function loopParts(machine: LoopMachine, host: CallHost): LoopParts {
  return {
    machine,
    journal: {
      nextImage: host.checkpoint,
      keepStep: async ({ calls, state, image }) => (calls.length > 0 ? host.begin(calls, state, image) : undefined),
      keepRun: async () => {},
      keepResult: async () => {},
      keepSuspend: async () => {},
    },
    calls: {
      facts: host.facts,
      callOffMs: () => undefined,
      answer: async (call, signal) => ({ settlement: await host.run(call, signal), record: FREE, cacheKey: null }),
    },
    once: { waitMs: () => 0, left: () => [] },
    clock: systemClock,
    suspension: openSuspension(),
  };
}

/** Answers one call after the other, saves the guest whenever it makes new ones, and remembers all of it. */
export interface Recorder extends CallHost {
  readonly saved: readonly Saved[];
  /** In the order in which the guest gets them: the newest may be on its way. */
  readonly answers: readonly Replayed[];
  readonly sent: readonly string[];
}

export function recorder(
  sandbox: Sandbox<ContextMessage>,
  images: Images | undefined,
  answer: (call: PendingCall) => Settlement = answerOf,
): Recorder {
  const saved: Saved[] = [];
  const answers: Replayed[] = [];
  const sent: string[] = [];
  const made = new Map<string, PendingCall>();
  let last = sandbox.origin;
  const next = () => ({ id: `${sandbox.origin}/${saved.length}`, base: last, kind: "step", commands: [] }) as const;
  const held: (() => void)[] = [];
  let released = false;
  function release(): void {
    const next = held.shift();
    released = next !== undefined;
    next?.();
  }
  return {
    saved,
    answers,
    sent,
    facts() {
      released = false;
      queueMicrotask(release);
      return null;
    },
    checkpoint: () => (images ? next() : null),
    async begin(calls, state, taken) {
      for (const call of calls) made.set(call.id, call);
      if (!images) return;
      const checkpoint = taken ?? (await sandbox.checkpoint(next()));
      images.add(checkpoint.delta);
      const { id } = checkpoint.delta;
      last = id;
      const waiting = checkpoint.waiting.flatMap((call) => made.get(call) ?? []);
      const answered = [...made.keys()].filter((call) => !checkpoint.waiting.includes(call));
      saved.push({ id, state: structuredClone(state), waiting, answered });
    },
    run(call, signal) {
      sent.push(call.id);
      return new Promise((resolve) => {
        held.push(() => {
          const settlement = answer(call);
          answers.push({ id: call.id, name: call.name, args: call.args, settlement });
          resolve(settlement);
        });
        signal.addEventListener("abort", () => resolve({ ok: true, value: null }));
        if (!released) release();
      });
    },
  };
}

export async function take(
  sandbox: Sandbox<ContextMessage>,
  images: Images,
  request: CheckpointRequest,
): Promise<Checkpoint> {
  const checkpoint = await sandbox.checkpoint(request);
  images.add(checkpoint.delta);
  return checkpoint;
}

/** Keeps the image of a fresh guest, which others are changes of. */
export async function keepBaseline(sandbox: Sandbox<ContextMessage>, images: Images): Promise<void> {
  await take(sandbox, images, { id: sandbox.origin, base: null, kind: "end", commands: [] });
}

/** `later` gives its value, `fails` its code. */
function answerOf(call: PendingCall): Settlement {
  const [value = null] = call.args;
  if (call.name === "later") return { ok: true, value };
  const code = String(value);
  return { ok: false, error: { name: "Error", code, message: `it fails: ${code}`, suggestion: "Expect it." } };
}

/** Runs a cell that makes no calls; its value, or its error's text. */
export async function run(sandbox: Sandbox<ContextMessage>, source: string, state = newState()): Promise<Json> {
  const { end } = await exec(sandbox, { source, state, facts: null }, recorder(sandbox, undefined));
  if (end.kind === "ok") return JSON.parse(end.result);
  return end.kind === "error" ? `${end.code}: ${end.error.message}` : end.kind;
}
