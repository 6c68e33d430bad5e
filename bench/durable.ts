import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Machines, openMachines } from "../runtime/threads/machines.ts";
import type { Session } from "../src/index.ts";
import { openSessionWith } from "../src/session/session.ts";
import { openStore } from "../src/store/open.ts";
import type { Store } from "../src/store/port.ts";
import { startModelServer } from "../tests/support/model-server.ts";
import { buildCommand } from "./built.ts";
import { type Contestant, type Measured, median, p95, takeTurns, timed } from "./measure.ts";
import { aimAtMost, type Case, type Report } from "./report.ts";
import { size } from "./size.ts";

const MB = 2 ** 20;
const STEPS = size(20, 1);
const BUDGET = { max_sub_calls: 1_000_000, max_tokens: 1_000_000_000, max_time_ms: 3_600_000 };

/** What durability costs: a step, its bytes, a restore, and a process that takes another one's exec over. */
export async function benchDurable(): Promise<Report> {
  // Beside the sources: a temporary folder may be in memory, where fdatasync is free.
  const folder = mkdtempSync(fileURLToPath(new URL("../.bench-", import.meta.url)));
  const store = await openStore(folder);
  try {
    const steps = await benchSteps(store, folder);
    const bytes = await bytesPerStep(store);
    const restore = await benchRestore(store);
    const resume = await benchResume();
    const [durable = Number.NaN, bare = Number.NaN, inRow = Number.NaN] = steps.measured.map((of) =>
      median(of.samples),
    );
    const [small = Number.NaN, , large = Number.NaN] = restore.measured.map((of) => median(of.samples));
    const resumed = median(resume.measured[0]?.samples ?? []);
    return {
      title: "durable: checkpoints in a store on disk",
      cases: [steps, restore, resume],
      notes: [
        `checkpoint + commit: the guest's changed pages are captured in the slice that ends in the call, and one transaction keeps them with the call's record. It is measured from the guest at rest to the call allowed, without the message in between, which is sent without durability too. p95 ${p95(steps.measured[0]?.samples ?? []).toFixed(2)} ms. The bare write has as many bytes as the store keeps of a step, and is made where a step would be.`,
        `A step takes ${(durable / inRow).toFixed(2)}x such writes in a row, with nothing between them.`,
        ...bytes.lines,
        "The process is the command as npm installs it, whose modules an earlier run has kept compiled; Node's own start is part of it.",
      ],
      aims: [
        aimAtMost("a durable step ≤ 2x a bare write + fdatasync", durable / bare, 2, "x"),
        aimAtMost("bytes per step with P of 100 MB, untouched ≤ 1.2x those without", bytes.untouched, 1.2, "x"),
        aimAtMost("bytes per step with P of 100 MB, touched ≤ 1.2x those without", bytes.touched, 1.2, "x"),
        aimAtMost("restore of the smallest guest ≤ 10 ms", small, 10, " ms"),
        aimAtMost("restore of 152 MB ≤ 120 ms", large, 120, " ms"),
        aimAtMost("process start to the resumed call ≤ 1 s", resumed, 1000, " ms"),
      ],
    };
  } finally {
    await store[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A session whose calls are answered at once. */
export function openBenched(
  store: Store,
  onStep: (ms: number) => void = () => {},
  memoryMb = 128,
  machines?: Machines,
): Promise<Session> {
  return openSessionWith(
    { budget: BUDGET, keepSteps: true, memoryMb, onCheckpoint: ({ kind, ms }) => kind === "step" && onStep(ms) },
    {
      store,
      ...(machines ? { machines } : {}),
      answers: {
        facts: { no_model: null },
        answer: async () => ({
          settlement: { ok: true, value: "ok" },
          record: {
            usage: { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 },
            attempts: [],
            model: "none",
            refused: false,
            cached: false,
            tool_override_event: null,
          },
          cacheKey: null,
        }),
        repeatable: () => true,
      },
    },
  );
}

const LOOP = `for (let i = 0; i < ${STEPS}; i++) await llm_query("say " + i, { tools: [] })`;

async function steps(session: Session): Promise<void> {
  const ran = await session.exec(LOOP);
  if (!ran.success) throw new Error(ran.error_message);
}

async function benchSteps(store: Store, folder: string): Promise<Case> {
  const taken: number[] = [];
  const bare: number[] = [];
  const inRow: number[] = [];
  // Each keeps its machine: one whose state is not kept cannot be opened again.
  const machines = openMachines({ kept: 3 });
  const open = (of: Store, onStep?: (ms: number) => void) => openBenched(of, onStep, undefined, machines);
  await using session = await open(store, (ms) => taken.push(ms));
  await using forgetful = await open({ ...store, commit: async () => 0 });
  await steps(session);
  const stored = (await store.checkpoints(session.id)).filter(({ kind }) => kind === "step");
  const stepBytes = Math.round(median(stored.map(({ stored_bytes }) => stored_bytes)));
  const file = openSync(join(folder, "bare"), "w");
  const bytes = Buffer.alloc(stepBytes, 1);
  const write = () =>
    timed(() => {
      writeSync(file, bytes);
      fdatasyncSync(file);
    });
  await using writing = await open({
    ...store,
    commit: async (_session, { checkpoint }) => {
      if (checkpoint?.kind === "step") bare.push(await write());
      return 0;
    },
  });
  const rounds: Contestant[] = [
    { name: "whole", once: () => timed(() => steps(session)) },
    { name: "not kept", once: () => timed(() => steps(forgetful)) },
    { name: "bare", once: () => timed(() => steps(writing)) },
    {
      name: "in a row",
      once: () =>
        timed(async () => {
          for (let i = 0; i < STEPS; i++) inRow.push(await write());
        }),
    },
  ];
  // Until the engine has compiled what a step runs through.
  for (let i = 0; i < size(20, 1); i++) for (const { once } of rounds) await once();
  for (const samples of [taken, bare, inRow]) samples.length = 0;
  const [whole, notKept] = await takeTurns(rounds, { rounds: 15, warmups: 0 });
  closeSync(file);
  const perStep = (measured: Measured | undefined) => (measured?.samples ?? []).map((ms) => ms / STEPS);
  return {
    name: `a step of ${(stepBytes / 1024).toFixed(1)} KB`,
    measured: [
      { name: "checkpoint + commit", samples: taken, gaveUp: false },
      { name: "write + fdatasync", samples: bare, gaveUp: false },
      { name: "write + fdatasync, in a row", samples: inRow, gaveUp: false },
      { name: "await to await, kept", samples: perStep(whole), gaveUp: false },
      { name: "await to await, not kept", samples: perStep(notKept), gaveUp: false },
    ],
  };
}

/** What the store keeps of a step, bytes, by the size of P. */
async function bytesPerStep(store: Store): Promise<{ lines: string[]; untouched: number; touched: number }> {
  const measure = async (megabytes: number, touch: boolean, letter: string): Promise<number> => {
    await using session = await openBenched(store);
    if (megabytes > 0) {
      const text = `${letter.repeat(63)}\n`.repeat((megabytes * MB) / Buffer.byteLength(`${letter.repeat(63)}\n`));
      await session.load({ text, name: "p.txt" });
      if (touch) await session.exec("P.length");
    }
    await steps(session);
    const kept = (await store.checkpoints(session.id)).filter(({ kind }) => kind === "step");
    return kept.reduce((sum, { stored_bytes }) => sum + stored_bytes, 0) / kept.length;
  };
  const none = await measure(0, false, "a");
  const kb = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;
  const lines = [`bytes per step: ${kb(none)} without a context`];
  let untouched = 0;
  let touched = 0;
  const sizes: readonly (readonly [number, string])[] = size(
    [
      [10, "a"],
      [10, "ж"],
      [99, "a"],
    ],
    [[1, "a"]],
  );
  for (const [megabytes, letter] of sizes) {
    untouched = await measure(megabytes, false, letter);
    touched = await measure(megabytes, true, letter);
    const what = letter === "a" ? "ASCII" : "Cyrillic";
    lines.push(`bytes per step, P of ${megabytes} MB (${what}): ${kb(untouched)} untouched, ${kb(touched)} touched`);
  }
  return { lines, untouched: untouched / none, touched: touched / none };
}

/** The image of a guest's newest checkpoint, read, verified and put together. */
async function benchRestore(store: Store): Promise<Case> {
  const measured: Measured[] = [];
  for (const megabytes of size([0, 50, 150], [0])) {
    await using session = await openSessionWith({ memoryMb: 400, budget: BUDGET }, { store });
    // Words that differ, so that they do not compress to nothing.
    const fill = `globalThis.big = []; for (let i = 0; i < ${megabytes}; i++) { const a = new Uint32Array(2 ** 18); for (let j = 0; j < a.length; j += 8) a[j] = Math.random() * 2 ** 32; big.push(a) }`;
    const ran = await session.exec(fill, { limits: { max_execution_ms: 120_000 } });
    if (!ran.success) throw new Error(ran.error_message);
    const row = (await store.checkpoints(session.id)).at(-1);
    if (!row) throw new Error("the exec left no checkpoint");
    const size = (row.meta.linearBytes / MB).toFixed(1);
    const restore: Contestant = { name: `${size} MB`, once: () => timed(() => store.image(row.id)) };
    // One size after the other: to give back the memory of a large image takes longer than to restore a small one.
    measured.push(...(await takeTurns([restore], { rounds: 15, warmups: 2 })));
  }
  return { name: "restore", measured };
}

/** From the start of `belay resume` to the request that it sends again. */
async function benchResume(): Promise<Case> {
  const built = await buildCommand();
  let arrived = () => {};
  await using server = await startModelServer(() => {
    arrived();
    return { end: "stuck" };
  });
  const env = { ...process.env, BELAY_HOME: built.home };
  const run = (...args: string[]) => spawn(process.execPath, [built.main, ...args], { env, stdio: "ignore" });
  const untilAsked = async (start: () => ChildProcess) => {
    const asked = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const child = start();
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await asked;
    child.kill("SIGKILL");
    await ended;
  };
  // A process that ends by itself keeps what it has compiled, in the store's folder.
  for (const session of size(["first", "second"], []))
    await once(run("exec", "-e", "1 + 1", "--session", session), "exit");
  const model = ["--model", "local/bench", "--base-url", server.url];
  await untilAsked(() => run("exec", "-e", `await llm_query("x", { tools: [] })`, "--session", "b", ...model));
  const resume = () => timed(() => untilAsked(() => run("resume", "b")));
  return {
    name: "a process",
    measured: await takeTurns([{ name: "belay resume", once: resume }], { rounds: 10, warmups: 2 }),
  };
}
