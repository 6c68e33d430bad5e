import type { Session, SessionOptions } from "../src/index.ts";

// Measures execs of so many sub-calls in a process of its own; prints it as JSON. Arguments: the built library, the model
// server's URL, how many calls, how many execs.

/** One for each exec: ms for a call, bytes on the main thread's heap for a call, and the most that the process had resident, MB. */
export interface ManyCalls {
  readonly ms: readonly number[];
  readonly heap: readonly number[];
  readonly resident: number;
}

const MOST_OF_A_BATCH = 1000;
const WARM_BATCHES = 10;
const [library = "", baseUrl = "", count = "1", execs = "1"] = process.argv.slice(2);
const { openSession }: { openSession(options?: SessionOptions): Promise<Session> } = await import(library);
const calls = Number(count);
const session = await openSession({
  model: "local/bench",
  baseUrl,
  limits: { max_execution_ms: 3_600_000 },
  budget: { max_sub_calls: 100_000_000, max_tokens: 1_000_000_000_000, max_time_ms: 36_000_000 },
});
// V8 compiles on the way: that cost belongs to the process, and each size has the same start.
await run(Math.min(calls, MOST_OF_A_BATCH) * WARM_BATCHES);
const [ms, heap]: [number[], number[]] = [[], []];
for (let n = 0; n < Number(execs); n++) {
  // The records of the newest exec are in memory.
  await session.exec("1");
  const before = heapSize();
  const from = performance.now();
  await run(calls);
  ms.push((performance.now() - from) / calls);
  heap.push((heapSize() - before) / calls);
}
const resident = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({ ms, heap, resident } satisfies ManyCalls));
process.exit();

async function run(calls: number): Promise<void> {
  const each = Math.min(calls, MOST_OF_A_BATCH);
  const code = `let done = 0;
    for (let i = 0; i < ${calls / each}; i++) {
      const { results } = await llm_query_batch(Array(${each}).fill("hello"), { tools: [], max_concurrent: 20 });
      done += results.filter((each) => each === "ok").length;
    }
    done`;
  const answer = await session.exec(code);
  if (answer.result_json !== calls) throw new Error(JSON.stringify(answer));
}

function heapSize(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
