import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Session, SessionOptions } from "../src/index.ts";
import { size } from "./size.ts";

// Measures in a process of its own what one thing that waits takes, bytes of resident memory; prints it, in a line for each measure.
// Arguments: the built library, a model server that never answers, and measures: WHAT=COUNT, what waits and how many.

const [library = "", url = "", ...measures] = process.argv.slice(2);
const { openSession }: { openSession(options?: SessionOptions): Promise<Session> } = await import(library);
const folder = mkdtempSync(join(tmpdir(), "belay-waiting-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const SETTLED_MS = size(3000, 1);
/** So many jobs that wait are in memory at most: the others wait in the store. */
const HELD = 1000;
const store = join(folder, "store");
const MODEL = { model: "local/m", baseUrl: url, store };

let queues = 0;
const WAITING: Readonly<Record<string, (count: number) => Promise<void>>> = {
  /** Sessions whose machines were given up. */
  rest: (many) =>
    each(many, async () => {
      const session = await openSession({ store, idleMs: 0 });
      await session.exec("1+1");
    }),
  /** Asks whose first turn is out. */
  asks: (many) =>
    each(many, async () => {
      const session = await openSession(MODEL);
      await session.load({ text: "some text", name: "text" });
      void session.ask("hold");
    }),
  /** Cells that wait for a sub-call. */
  calls: (many) =>
    each(many, async () => {
      const session = await openSession(MODEL);
      void session.exec('await llm_query("hold", { tools: [] })');
    }),
  parked,
};

for (const measure of measures) {
  const [what = "", count] = measure.split("=");
  const wait = WAITING[what];
  if (!wait) throw new Error(`nothing waits as ${what}`);
  // What the first one loads is not counted.
  for (const first of size([1], [])) await wait(first);
  const before = await resident();
  await wait(Number(count));
  console.log(((await resident()) - before) / Number(count));
}
process.exit();

async function each(many: number, begin: () => Promise<void>): Promise<void> {
  for (let n = 0; n < many; n++) await begin();
  await delay(SETTLED_MS);
}

/** Jobs that wait for a provider's rate, in a process that works on. One that comes first has its turn, and waits for its answer. */
async function parked(many: number): Promise<void> {
  const { newSpec, openInProcess, runsIn, shareStore, work } = await parts();
  const kept = await shareStore(store);
  const runs = runsIn(kept);
  const script = { name: "s.js", source: 'await llm_query("plain", { tools: [] })' };
  const rates = [{ provider: "local", perMinute: 0.001, of: "requests" as const }];
  const spec = newSpec({ script, model: "local/m", context: "none", rates });
  const turns = queues === 0 ? 1 : 0;
  const name = `queue-${queues++}`;
  const limits = { nanodollars: null, tokens: null, sub_calls: null };
  const jobs = Array.from({ length: many + turns }, (_, n) => ({ id: `job-${n}`, input: `${n}`, context: null }));
  const { run } = await runs.submit({ name, queue: name, share: 1, spec, limits }, jobs);
  const dispatcher = openInProcess();
  const all = Promise.withResolvers<void>();
  const held = Math.min(many, HELD);
  let left = held;
  const never = new AbortController().signal;
  void work({
    ...{ store: kept, place: null, queues: [{ name, dispatcher }], concurrency: 2, signal: never, suspend: never },
    session: { models: null, baseUrl: url },
    onProgress: ({ kind }) => kind === "left" && --left === 0 && all.resolve(),
  });
  // It ends when the last job is in memory.
  void runs.offer(run, dispatcher);
  await all.promise;
  const counts = await kept.jobs.counts(run.id);
  if (counts.parked < held) throw new Error(`${JSON.stringify(counts)}: fewer are parked than are held`);
}

function parts(): Promise<typeof import("./session-parts.ts")> {
  return import(new URL("../bench/session-parts.js", `file://${library}`).href);
}

/** Without what the collector has not looked at yet, and what V8 keeps for later. */
async function resident(): Promise<number> {
  await delay(SETTLED_MS);
  await globalThis.gc?.({ type: "major", execution: "async", flavor: "last-resort" });
  await delay(SETTLED_MS);
  return process.memoryUsage.rss();
}
