import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { buildCommand } from "./built.ts";
import type { ManyCalls } from "./many-calls-process.ts";
import { median } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const PROCESS = fileURLToPath(new URL("./many-calls-process.ts", import.meta.url));
/** Calls of an exec, and how many execs. */
const EXECS = size(
  [
    [1000, 9],
    [10_000, 3],
    [100_000, 1],
  ] as const,
  [[2, 1]] as const,
);
/** A call of the largest exec may cost so many times one of the smallest, which pays what each exec costs once. */
const MOST = 1.3;

/** Measures a call's time and memory in execs of few and of many calls. */
export async function benchManyCalls(): Promise<Report> {
  const { library } = await buildCommand();
  const server = new Worker(new URL("./model-thread.ts", import.meta.url), { workerData: { delayMs: 0 } });
  try {
    const url = await new Promise<string>((resolve) => server.once("message", resolve));
    const found: (ManyCalls & { readonly name: string })[] = [];
    for (const [calls, execs] of EXECS) {
      const args = ["--expose-gc", PROCESS, library, url, String(calls), String(execs)];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const told: ManyCalls = JSON.parse(stdout);
      found.push({ ...told, name: `of ${calls.toLocaleString("en-US")}` });
    }
    const growth = (of: (each: ManyCalls) => readonly number[]) => {
      const middles = found.map((each) => median(of(each)));
      return Math.max(...middles.slice(1)) / (middles[0] ?? 0);
    };
    const [time, memory] = [growth(({ ms }) => ms), growth(({ heap }) => heap)];
    const kept = found.map(({ name, heap }) => `${name}: ${(median(heap) / 1024).toFixed(2)} KB`).join(", ");
    const resident = found.map(({ name, resident }) => `${name}: ${resident.toFixed(0)} MB`).join(", ");
    return {
      title: "many-calls: one sub-call in an exec of so many, in batches of at most 1,000, answered at once",
      cases: [{ name: "a call", measured: found.map(({ name, ms }) => ({ name, samples: ms, gaveUp: false })) }],
      notes: [
        `what the main thread's heap keeps of a call while its exec is the newest: ${kept}`,
        `the most that the process had resident: ${resident}`,
      ],
      aims: [
        { text: `time of a call in larger execs at most ${MOST}x`, value: `${time.toFixed(2)}x`, met: time <= MOST },
        {
          text: `memory of a call in larger execs at most ${MOST}x`,
          value: `${memory.toFixed(2)}x`,
          met: memory <= MOST,
        },
      ],
    };
  } finally {
    await server.terminate();
  }
}
