import { once } from "node:events";
import { rmSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { CodemodeSandbox } from "@earendil-works/pi-codemode";
import type { Session, SessionOptions } from "../src/index.ts";
import { size } from "./size.ts";

// Measures in a process of its own, so that nothing else is in its memory; prints a line of JSON for each measure. Times in ms,
// sizes in bytes. Arguments: the built library, and measures: WHAT=COUNT. A store is in BELAY_HOME.

export interface Sessions {
  /** From the first openSession to the last session open, and from the first exec to the last answer. */
  readonly open: number;
  readonly cells: number;
  /** The longest time in which the main thread heard nothing. */
  readonly held: number;
  /** CPU time of the process, all threads. */
  readonly cpu: number;
  /** Resident memory beyond that before the first: with all open and at rest, and when all are closed. */
  readonly rest: number;
  readonly left: number;
  /** A cell in a session whose machine was given up. */
  readonly again: number;
}

/** Resident memory beyond that before the first session, bytes, after all are closed: at once, and when later steps are done. */
export interface Left {
  readonly closed: number;
  readonly threadsEnded: number;
  readonly pagesBack: number;
  /** When V8 has given up the free pages that it keeps for later, as it does if the system is short of memory. */
  readonly collected: number;
}

/** After one round of sessions that were opened, used and closed, bytes. */
export interface Round {
  /** Heap of the main thread. */
  readonly heap: number;
  readonly resident: number;
}

const ROUNDS = size(8, 2);
/** A thread without a session ends after ten seconds. */
const THREADS_HAVE_ENDED_MS = size(11_000, 1);
/** Threads without a session stay for ten seconds, and V8 gives the pages of an ended one back after eight more. */
const MEMORY_IS_BACK_MS = size(19_000, 2);
/** Resolves once the collector has looked at everything. */
const SETTLED_MS = size(500, 1);
const [library = "", ...measures] = process.argv.slice(2);
const { openSession }: { openSession(options?: SessionOptions): Promise<Session> } = await import(library);
const MEASURES: Readonly<Record<string, (count: number) => Promise<unknown>>> = {
  one: (count) => inTurn(count, one),
  "codemode one": (count) => inTurn(count, codemode),
  many: (count) => many(count, {}),
  "many in a store": (count) => many(count, { store: process.env.BELAY_HOME ?? "" }),
  "codemode many": codemodeMany,
  left: leftOfMany,
  rounds,
  parts,
};
for (const measure of measures) {
  const [what = "", count] = measure.split("=");
  console.log(JSON.stringify(await MEASURES[what]?.(Number(count))));
}
process.exit();

/** The first of the process, then others. */
async function inTurn(count: number, once: () => Promise<number>): Promise<number[]> {
  const samples: number[] = [];
  for (let n = 0; n < count; n++) samples.push(await once());
  return samples;
}

async function one(): Promise<number> {
  const from = performance.now();
  const session = await openSession();
  await run(session);
  const ms = performance.now() - from;
  await session.close();
  return ms;
}

/** What opening and a first cell consist of, ms: the first time in the process, then the median of others. */
async function parts(count: number): Promise<Record<string, number[]>> {
  const at = (path: string) => new URL(path, `file://${library}`);
  const built: typeof import("./session-parts.ts") = await import(at("../bench/session-parts.js").href);
  const { openMachines, openSandbox, shareStore } = built;
  const kind = { entry: at("machine-thread-entry.js"), memoryBytes: 2 ** 27 };
  const samples: Record<string, number[]> = {};
  async function part<T>(name: string, work: () => Promise<T>): Promise<T> {
    const from = performance.now();
    const done = await work();
    samples[name] = [...(samples[name] ?? []), performance.now() - from];
    return done;
  }
  const { DEFAULT_EXEC_LIMITS: limits, noOutput } = await import("../runtime/index.ts");
  const machines = openMachines({ cores: 1, kept: 1 });
  for (let n = 0; n < count; n++) {
    await part("an empty thread", async () => {
      const thread = new Worker("", { eval: true });
      await once(thread, "exit");
    });
    const store = await part("the store", () => shareStore(null));
    const fresh = openMachines({ cores: 1, kept: 1 });
    const first = await part("a thread with its modules and a fresh guest", () =>
      openSandbox({ ...kind, machines: fresh }),
    );
    await first[Symbol.asyncDispose]();
    const sandbox = await part("a guest in a thread that is there", () => openSandbox({ ...kind, machines }));
    const exec_id = "x";
    const state = { exec_id, cell: 1, limits, output: noOutput(), warnings: [], running_ms: 0, next_call: 1 };
    await part("the cell", () => sandbox.start({ source: "1+1", state, facts: null }, null));
    const end = { id: `end ${n}`, base: sandbox.origin, kind: "end", commands: ["memory.export"] } as const;
    await part("the checkpoint", () => sandbox.checkpoint(end));
    await part("closing", async () => sandbox[Symbol.asyncDispose]());
    await store[Symbol.asyncDispose]();
  }
  return samples;
}

async function codemode(): Promise<number> {
  const from = performance.now();
  const sandbox = new CodemodeSandbox();
  await check(sandbox);
  const ms = performance.now() - from;
  await sandbox.close();
  return ms;
}

async function many(count: number, options: SessionOptions): Promise<Sessions> {
  const before = await resident();
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const cpu = process.cpuUsage();
  const from = performance.now();
  const sessions = await Promise.all(Array.from({ length: count }, () => openSession(options)));
  const opened = performance.now();
  await Promise.all(sessions.map(run));
  const ran = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  delays.disable();
  const rest = await resident();
  const awake = performance.now();
  for (const session of sessions.slice(0, 20)) await run(session);
  const again = (performance.now() - awake) / Math.min(20, sessions.length);
  await Promise.all(sessions.map((session) => session.close()));
  await delay(MEMORY_IS_BACK_MS);
  const left = await resident();
  if (options.store) rmSync(options.store, { recursive: true });
  return {
    open: opened - from,
    cells: ran - opened,
    held: delays.max / 1e6,
    cpu: (user + system) / 1000,
    rest: rest - before,
    left: left - before,
    again,
  };
}

async function leftOfMany(count: number): Promise<Left> {
  const before = await resident();
  await openAndClose(count);
  const closed = await resident();
  await delay(THREADS_HAVE_ENDED_MS);
  const threadsEnded = await resident();
  await delay(MEMORY_IS_BACK_MS - THREADS_HAVE_ENDED_MS);
  const pagesBack = await resident();
  await globalThis.gc?.({ type: "major", execution: "async", flavor: "last-resort" });
  const collected = await resident();
  return {
    closed: closed - before,
    threadsEnded: threadsEnded - before,
    pagesBack: pagesBack - before,
    collected: collected - before,
  };
}

/** Round after round, so soon that the threads live on. */
async function rounds(count: number): Promise<Round[]> {
  const measured: Round[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    await openAndClose(count);
    const rss = await resident();
    measured.push({ heap: process.memoryUsage().heapUsed, resident: rss });
  }
  return measured;
}

async function openAndClose(count: number): Promise<void> {
  const sessions = await Promise.all(Array.from({ length: count }, () => openSession()));
  await Promise.all(sessions.map(run));
  await Promise.all(sessions.map((session) => session.close()));
}

async function codemodeMany(count: number): Promise<Pick<Sessions, "cells" | "cpu">> {
  const sandboxes = Array.from({ length: count }, () => new CodemodeSandbox());
  const cpu = process.cpuUsage();
  const from = performance.now();
  await Promise.all(sandboxes.map(check));
  const cells = performance.now() - from;
  const { user, system } = process.cpuUsage(cpu);
  return { cells, cpu: (user + system) / 1000 };
}

async function run(session: Session): Promise<void> {
  const { result_json } = await session.exec("1+1");
  if (result_json !== 2) throw new Error(`1+1 is ${JSON.stringify(result_json)}`);
}

async function check(sandbox: CodemodeSandbox): Promise<void> {
  const result = await sandbox.execute("return 1+1");
  if (!result.ok || result.value !== 2) throw new Error("codemode did not answer 2");
}

/** Without what the main thread's collector has not looked at yet. */
async function resident(): Promise<number> {
  await delay(SETTLED_MS);
  globalThis.gc?.();
  await delay(SETTLED_MS);
  return process.memoryUsage.rss();
}
