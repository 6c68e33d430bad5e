import { Worker } from "node:worker_threads";
import { openSession } from "../src/index.ts";
import { bareRequest } from "./bare-model.ts";
import { type Contestant, median, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const CALLS = size(200, 2);
const CONCURRENCY = 20;
const DELAY_MS = size(50, 1);
/** Sub-calls in parallel, against the provider's library alone. */
export async function benchCalls(): Promise<Report> {
  const server = new Worker(new URL("./model-thread.ts", import.meta.url), { workerData: { delayMs: DELAY_MS } });
  const url = await new Promise<string>((resolve) => server.once("message", resolve));
  await using session = await openSession({
    model: "local/bench",
    baseUrl: url,
    budget: { max_sub_calls: 1_000_000, max_tokens: 1_000_000_000, max_time_ms: 3_600_000 },
  });
  const cell = `(await llm_query_batch(Array(${CALLS}).fill("hello"), { tools: [], max_concurrent: ${CONCURRENCY} })).results.filter((each) => each === "ok").length`;
  const contestants: Contestant[] = [
    {
      name: "Belay llm_query_batch",
      once: () =>
        timed(async () => {
          const answer = await session.exec(cell);
          if (answer.result_json !== CALLS) throw new Error(JSON.stringify(answer));
        }),
    },
    { name: "pi-ai completeSimple", once: () => timed(() => bare(url)) },
  ];
  const measured = await takeTurns(contestants, { rounds: 15, warmups: 2 });
  await server.terminate();
  const [belay = 0, alone = 0] = measured.map(({ samples }) => median(samples));
  const overhead = (belay - alone) / CALLS;
  const latency = ((belay - alone) * CONCURRENCY) / CALLS;
  return {
    title: `calls: ${CALLS} sub-calls of ${DELAY_MS} ms, ${CONCURRENCY} at once, all of them`,
    cases: [{ name: "plain calls", measured }],
    notes: [
      `A call keeps its place among the ${CONCURRENCY} in flight for ${latency.toFixed(2)} ms longer than with pi-ai alone: they share one thread.`,
      "The server runs in a thread of its own, on loopback.",
    ],
    aims: [{ text: "overhead per call ≤ 3 ms", value: `${overhead.toFixed(2)} ms`, met: overhead <= 3 }],
  };
}

async function bare(baseUrl: string): Promise<void> {
  let next = 0;
  const runner = async () => {
    while (next++ < CALLS) await bareRequest(baseUrl);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runner));
}
