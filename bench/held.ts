import { mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openStore } from "../src/store/open.ts";
import type { Store } from "../src/store/port.ts";
import { verifyStore } from "../src/store/whole-reads.ts";
import { openBenched } from "./durable.ts";
import type { Measured } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const MB = 2 ** 20;
const GUEST_MB = size(32, 1);
const CONTEXT_MB = size(99, 1);
const STEPS = size(40, 2);
const SESSIONS = size(16, 1);
/** A screen stutters if it is not drawn for longer. */
const MOST_HELD_MS = 20;

/** For how long a store holds the thread of its caller, beside which a screen is drawn. */
export async function benchHeld(): Promise<Report> {
  // Beside the sources: a temporary folder may be in memory, where the disk is never waited for.
  const folder = mkdtempSync(fileURLToPath(new URL("../.bench-", import.meta.url)));
  const store = await openStore(folder);
  try {
    const measured: Measured[] = [];
    for (const [name, work] of WORK) measured.push({ name, samples: await gapsIn(() => work(store)), gaveUp: false });
    return {
      title: "held: times between two ticks of a timer of 1 ms, while the store works",
      cases: measured.map((one) => ({ name: one.name, measured: [one] })),
      notes: measured.map(({ name, samples }) => `${name}: the longest ${Math.max(...samples).toFixed(1)} ms`),
      aims: measured.map(({ name, samples }) => {
        const value = percentile(samples, 0.99);
        return {
          text: `${name}: p99 ≤ ${MOST_HELD_MS} ms`,
          value: `${value.toFixed(1)} ms`,
          met: value <= MOST_HELD_MS,
        };
      }),
    };
  } finally {
    await store[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

const LOOP = `for (let i = 0; i < ${STEPS}; i++) await llm_query("say " + i, { tools: [] })`;

const WORK: readonly (readonly [name: string, work: (store: Store) => Promise<unknown>])[] = [
  ["steps of a session", (store) => run(store, LOOP)],
  [`${SESSIONS} sessions at once`, (store) => Promise.all(Array.from({ length: SESSIONS }, () => run(store, LOOP)))],
  [
    `steps of a guest of ${GUEST_MB} MB`,
    (store) =>
      run(
        store,
        `globalThis.big = [];
        for (let i = 0; i < ${GUEST_MB}; i++) big.push(new Uint32Array(2 ** 18).map(() => Math.random() * 2 ** 32));
        for (let i = 0; i < 5; i++) {
          for (const words of big) for (let at = 0; at < words.length; at += 1024) words[at]++;
          await llm_query("say " + i, { tools: [] });
        }`,
      ),
  ],
  [
    `a context of ${CONTEXT_MB} MB`,
    async (store) => {
      await using session = await openBenched(store);
      const line = () => `${Math.random().toString(36).slice(2)} ${"a line of a text that was read ".repeat(3)}\n`;
      const lines = Array.from({ length: 10_000 }, line).join("");
      await session.load({ text: lines.repeat(Math.ceil((CONTEXT_MB * MB) / lines.length)), name: "p.txt" });
    },
  ],
  [
    "verify",
    async (store) => {
      for await (const { findings } of verifyStore(store)) if (findings.length > 0) throw new Error(findings.join());
    },
  ],
  ["gc of all", (store) => store.gc({ now: Date.now() + 1e12, anonymousMs: 0, namedMs: 0, pi: true, dryRun: false })],
];

async function run(store: Store, cell: string): Promise<void> {
  await using session = await openBenched(store, () => {}, 400);
  const ran = await session.exec(cell, { limits: { max_execution_ms: 120_000 } });
  if (!ran.success) throw new Error(ran.error_message);
}

/** Times between two ticks while the work is done, ms. */
async function gapsIn(work: () => Promise<unknown>): Promise<number[]> {
  const gaps: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }, 1);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return gaps;
}

function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
