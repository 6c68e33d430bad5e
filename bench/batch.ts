import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type ModelServer, startModelServer } from "../tests/support/model-server.ts";
import { buildCommand } from "./built.ts";
import { median, takeTurns, timed } from "./measure.ts";
import { aimAtMost, type Report } from "./report.ts";
import { size } from "./size.ts";

const JOBS = size(60, 2);
const CALLS = size(5, 1);
const AT_ONCE = 4;
const EMPTY_JOBS = 200;
const ANSWER_MS = size(100, 1);
const LOOP = fileURLToPath(new URL("./batch-loop.ts", import.meta.url));

/** What `belay batch` takes beside its model, against a loop of pi-ai over the same server with the same pool. */
export async function benchBatch(): Promise<Report> {
  const command = await buildCommand();
  const hold = Promise.withResolvers<void>();
  await using server = await startModelServer(async ({ prompt }) => {
    if (prompt.startsWith("hold")) await hold.promise;
    return { text: "ok", delayMs: ANSWER_MS };
  });
  const batch = openBatches(command.main, command.home, server);
  const [belay, loop] = await takeTurns(
    [
      { name: "belay batch", once: () => timed(() => batch.run(script(CALLS), JOBS, AT_ONCE).ended) },
      { name: "pi-ai in p-queue", once: () => timed(() => loopOf(server.url)) },
    ],
    { rounds: 3, warmups: 1 },
  );
  const [all, alone] = [median(belay?.samples ?? []), median(loop?.samples ?? [])];
  const perJob = (all - alone) / JOBS;
  const one = size(null, 1) ?? (await timed(() => batch.run("1", 1, AT_ONCE).ended));
  const empty = size(null, one) ?? (await timed(() => batch.run("1", EMPTY_JOBS, AT_ONCE).ended));
  const emptyJobs = (EMPTY_JOBS - 1) / ((empty - one) / 1000);
  const again = await recovery(batch, server);
  const open = size(null, again.resident) ?? (await memoryOf(batch, server));
  hold.resolve();
  await batch.end();
  return {
    title: `batch: ${JOBS} jobs of ${CALLS} sub-calls that take ${ANSWER_MS} ms, ${AT_ONCE} at once, in a folder`,
    cases: [{ name: "all jobs", measured: [belay, loop].filter((each) => each !== undefined) }],
    notes: [
      `${perJob.toFixed(0)} ms of each job are Belay's: the process, its sessions and what they keep`,
      `${emptyJobs.toFixed(1)} empty jobs a second; a run of one takes ${one.toFixed(0)} ms`,
      `a job whose process was killed sends its next request ${again.ms.toFixed(0)} ms after the same line was typed again`,
      `an open job that waits for its model takes ${open.toFixed(0)} MB`,
    ],
    aims: [
      aimAtMost("all jobs ≤ 1.3x pi-ai in p-queue", all / alone, 1.3, "x"),
      {
        text: "empty jobs a second ≥ 300",
        value: emptyJobs.toFixed(1),
        met: Number.isFinite(emptyJobs) && emptyJobs >= 300,
      },
    ],
  };
}

interface Running {
  readonly pid: number | undefined;
  readonly ended: Promise<void>;
  kill(): Promise<void>;
}

function openBatches(main: string, home: string, { url }: ModelServer) {
  const running = new Set<Running>();
  let last = 0;

  function start(folder: string, atOnce: number): Running {
    const args = [
      "batch",
      join(folder, "script.js"),
      "--jobs",
      join(folder, "jobs.jsonl"),
      "--out",
      join(folder, "out.jsonl"),
    ];
    const model = ["--model", "local/bench", "--base-url", url, "--concurrency", String(atOnce)];
    const child = spawn(process.execPath, [main, ...args, ...model, "--store", join(folder, "store")], {
      env: { ...process.env, BELAY_HOME: home },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let told = "";
    child.stderr.on("data", (text) => {
      told += text;
    });
    const exit = once(child, "exit");
    const ended = exit.then(([code]) => {
      running.delete(one);
      if (code !== 0) throw new Error(`belay batch ended with ${code}: ${told}`);
    });
    ended.catch(() => {});
    const one: Running = {
      pid: child.pid,
      ended,
      async kill() {
        child.kill("SIGKILL");
        await exit;
      },
    };
    running.add(one);
    return one;
  }

  return {
    /** A run of its own, in a store of its own. */
    run(code: string, jobs: number, atOnce: number): Running & { again(): Running } {
      const folder = folderOf(home, ++last, code, jobs);
      return { ...start(folder, atOnce), again: () => start(folder, atOnce) };
    },
    async end() {
      await Promise.all([...running].map((one) => one.kill()));
    },
  };
}

type Batches = ReturnType<typeof openBatches>;

function folderOf(home: string, number: number, code: string, jobs: number): string {
  const folder = join(home, `batch-${number}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "script.js"), code);
  const lines = Array.from({ length: jobs }, (_, id) => `${JSON.stringify({ id: `job-${id}` })}\n`);
  writeFileSync(join(folder, "jobs.jsonl"), lines.join(""));
  return folder;
}

/** Asks so many times at once, with prompts that begin with this word. */
function script(calls: number, word = "ask"): string {
  return `(await Promise.all(Array.from({ length: ${calls} }, (_, call) => llm_query(\`${word} \${job.id} \${call}\`)))).length`;
}

async function loopOf(url: string): Promise<void> {
  const child = spawn(process.execPath, [LOOP, url, String(JOBS), String(CALLS), String(AT_ONCE)], {
    stdio: "inherit",
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`the loop ended with ${code}`);
}

/** From the same line, typed again after a kill, until the request of the job that was cut, ms; and the memory of that process, MB. */
async function recovery(batch: Batches, server: ModelServer): Promise<{ ms: number; resident: number }> {
  const run = batch.run(script(1, "hold recovery"), 1, 1);
  const before = await requests(server, "hold recovery", 1);
  await run.kill();
  const from = performance.now();
  const next = run.again();
  await requests(server, "hold recovery", before + 1);
  const ms = performance.now() - from;
  const resident = residentOf(next.pid);
  await next.kill();
  return { ms, resident };
}

/** After so long a job that waits has given its thread to others, ms. */
const LENT_MS = 3000;

/** Resident memory of a process whose jobs all wait, against one with fewer of them; MB for each. */
async function memoryOf(batch: Batches, server: ModelServer): Promise<number> {
  const [few, many] = [2, 40];
  const sizes: number[] = [];
  for (const atOnce of [few, many]) {
    const word = `hold ${atOnce} of`;
    const run = batch.run(script(1, word), atOnce, atOnce);
    await requests(server, word, atOnce);
    await setTimeout(LENT_MS);
    sizes.push(residentOf(run.pid));
    await run.kill();
  }
  const [small = Number.NaN, large = Number.NaN] = sizes;
  return (large - small) / (many - few);
}

/** Waits until the server has so many requests whose prompts begin with this. */
async function requests(server: ModelServer, word: string, count: number): Promise<number> {
  const seen = () => server.requests.filter(({ prompt }) => prompt.startsWith(word)).length;
  const until = performance.now() + 60_000;
  while (seen() < count) {
    if (performance.now() > until) throw new Error(`${seen()} of ${count} requests arrived`);
    await setTimeout(5);
  }
  return seen();
}

/** MB. */
function residentOf(pid: number | undefined): number {
  const [, kb = "0"] = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1024;
}
