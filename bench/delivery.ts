import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type RlmError, systemClock } from "../runtime/index.ts";
import { type BatchAccount, openModels } from "../src/models/index.ts";
import { collectUntil, proofOfRequest } from "../src/provider-batches/index.ts";
import { type BatchStore, type JobRow, type NewBatchRequest, openStore, type Store } from "../src/store/index.ts";
import { promptOf } from "../tests/support/batch-server/answers.ts";
import { type BatchServer, startBatchServer } from "../tests/support/batch-server/index.ts";
import { buildCommand } from "./built.ts";
import { median, takeTurns } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const JOBS = size(40, 2);
const AT_ONCE = 4;
const REQUESTS = size(1000, 2);
const [FEW, MANY] = size([100, 10_000], [1, 1]);
/** Time after its looks until the memory of a process is read, ms. */
const WAITED_MS = size(3000, 1);
/** Approximate bytes of a request. */
const BODY_BYTES = 2048;
/** Time until a batch is over, ms. A process that is asked again at once would meet its own lease. */
const BATCH_MS = 200;
const KEY = "BENCH_DELIVERY_KEY";
const ENV = { [KEY]: "sk-bench", BELAY_SHIPPING_PACE: "0.05" };
const MODEL = "local/bench";
/** Two calls, one after the other. */
const SCRIPT = `const first = await llm_query("first " + job.id, { tools: [] });
await llm_query("second " + first + job.id, { tools: [] })`;

/** Jobs whose calls go by a provider's batches, against jobs whose calls go at once. */
export async function benchDelivery(): Promise<Report> {
  const command = await buildCommand();
  const held = Promise.withResolvers<void>();
  await using server = await startBatchServer({
    fate: ({ rows }) => ({ wait: rows.some(({ body }) => promptOf(body).startsWith(HOLD)) ? held.promise : BATCH_MS }),
  });
  const places = openPlaces(command.main, command.home, server);
  const cost = (name: string, jobs: number, flags: readonly string[]) => ({
    name,
    once: () => ownTime(places.start(places.make(jobs), flags)),
  });
  const [many, one] = [`${JOBS} jobs`, "one job"];
  const measured = await takeTurns(
    [JOBS, 1].flatMap((jobs) => [cost("by batch", jobs, BY_BATCH), cost("at once", jobs, [])]).slice(0, size(4, 2)),
    { rounds: 3, warmups: 1 },
  );
  const [batches = [], lives = [], batch = [], live = []] = measured.map(({ samples }) => samples);
  const perJob = (all: readonly number[], single: readonly number[]) => (median(all) - median(single)) / (JOBS - 1);
  const [byBatch, atOnce] = [perJob(batches, batch), perJob(lives, live)];
  const commits = await commitsOf(join(command.home, "commits"), server);
  const few = await memoryOf(places, server, FEW);
  const most = FEW === MANY ? few : await memoryOf(places, server, MANY);
  held.resolve();
  const ratios = { time: byBatch / atOnce, memory: most.waiter / few.waiter };
  return {
    title: `delivery: jobs of 2 sub-calls by batch, ${AT_ONCE} at once, in a folder: CPU time of the processes`,
    cases: [
      { name: many, measured: measured.slice(0, 2) },
      { name: one, measured: measured.slice(2) },
    ],
    notes: [
      `a further job takes ${byBatch.toFixed(0)} ms of CPU by batch, and ${atOnce.toFixed(0)} ms at once`,
      `a process whose ${FEW} jobs wait takes ${few.waiter.toFixed(0)} MB, and one with ${MANY} takes ${most.waiter.toFixed(0)} MB`,
      `those that have sent the batch themselves take ${few.sender.toFixed(0)} MB and ${most.sender.toFixed(0)} MB`,
      "a request goes with the record of its call, which is a commit of any call",
    ],
    aims: [
      {
        text: "own time of a job by batch ÷ that of a live job, at most 3.5",
        value: ratios.time.toFixed(2),
        met: ratios.time <= 3.5,
      },
      { text: "commits of a request, at most 2", value: commits.toFixed(3), met: commits <= 2 },
      {
        text: `memory with ${MANY} waiting jobs ÷ that with ${FEW}, at most 1.2`,
        value: ratios.memory.toFixed(2),
        met: ratios.memory <= 1.2,
      },
    ],
  };
}

const BY_BATCH = ["--delivery", "batch"];
/** A prompt with this word is not answered before the end. */
const HOLD = "hold";

function openPlaces(main: string, home: string, server: BatchServer) {
  let last = 0;
  return {
    /** The folder of a run of its own. */
    make(jobs: number): string {
      const folder = join(home, `run-${++last}`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "script.js"), SCRIPT);
      const lines = Array.from({ length: jobs }, (_, id) => `${JSON.stringify({ id: `job-${id}` })}\n`);
      writeFileSync(join(folder, "jobs.jsonl"), lines.join(""));
      return folder;
    },
    start(folder: string, flags: readonly string[]): ChildProcess {
      const model = ["--model", MODEL, "--base-url", server.baseUrl("openai-completions"), "--api-key-env", KEY];
      const run = ["batch", "script.js", "--jobs", "jobs.jsonl", "--name", "bench", "--concurrency", String(AT_ONCE)];
      const line = [...run, ...model, "--store", "store", "--quiet", ...flags];
      const env = { ...process.env, ...ENV, BELAY_HOME: home };
      return spawn(process.execPath, [main, ...line], { cwd: folder, env, stdio: ["ignore", "ignore", "inherit"] });
    },
  };
}

type Places = ReturnType<typeof openPlaces>;

/** CPU time of a process and of those that it has started, ms. */
async function ownTime(child: ChildProcess): Promise<number> {
  const before = endedMs();
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`belay batch ended with ${code}`);
  return endedMs() - before;
}

/** CPU time of the processes that this one has started and that have ended, ms. */
function endedMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
  const [user, system] = [Number(fields[13]), Number(fields[14])];
  return (user + system) * TICK_MS;
}

/** Unit of these times, ms: Linux has one for all programs, whatever its own clock. */
const TICK_MS = 10;

const accountOf = (server: BatchServer) => {
  const given = { baseUrl: server.baseUrl("openai-completions"), apiKeyEnv: KEY, env: ENV };
  const models = openModels(given);
  return { models, account: models.resolve(MODEL).batchAccount?.() };
};

const requestOf = (prompt: string) => ({ model: "bench", messages: [{ role: "user", content: prompt }] });

const requestBy = (account: BatchAccount, asked: Omit<NewBatchRequest, "account" | "proof">): NewBatchRequest => ({
  ...asked,
  account: account.id,
  proof: proofOfRequest(account, asked, JSON.stringify(asked.body)),
});

/** Transactions for each request, from its request to its answer. */
async function commitsOf(folder: string, server: BatchServer): Promise<number> {
  await using store = await openStore(folder);
  const { batches, commits } = counting(store.batches);
  const { models, account: asked } = accountOf(server);
  const account = await asked;
  if (!account) throw new Error("the server takes no batches");
  const key = { session: "S", root: "S", run: null, model: MODEL, k: 0 };
  for (let call = 0; call < REQUESTS; call++) {
    const body = requestOf(`${call} ${"x".repeat(BODY_BYTES)}`);
    await batches.keep(requestBy(account, { ...key, call: `call-${call}`, body }));
  }
  process.env.BELAY_SHIPPING_PACE = ENV.BELAY_SHIPPING_PACE;
  const parts = {
    store: { batches },
    models,
    clock: systemClock,
    random: Math.random,
    resendsDoubtful: false,
    lookMs: 20,
    look: async () => (await batches.waits({ root: "S" })).length === 0 || null,
    hindered(_account: string, error: RlmError) {
      throw error;
    },
  };
  await collectUntil(parts, new AbortController().signal);
  return commits() / REQUESTS;
}

/** A store's part that counts what it commits. */
function counting(batches: BatchStore) {
  let commits = 0;
  const counted =
    <Given extends unknown[], T>(write: (...given: Given) => Promise<T>) =>
    (...given: Given) => {
      commits += 1;
      return write(...given);
    };
  const { keep, close, step, answer, end } = batches;
  const writes = { keep: counted(keep), close: counted(close), step: counted(step) };
  return {
    batches: { ...batches, ...writes, answer: counted(answer), end: counted(end) },
    commits: () => commits,
  };
}

/** Resident memory of processes whose jobs all wait for a batch, MB. */
interface Memory {
  /** This one has sent the batch. */
  readonly sender: number;
  /** This one has come back. */
  readonly waiter: number;
}

async function memoryOf(places: Places, server: BatchServer, jobs: number): Promise<Memory> {
  const folder = places.make(jobs);
  // Work on so many jobs would take an hour: the process has them as if it had done it.
  const submitting = places.start(folder, BY_BATCH);
  const exit = once(submitting, "exit");
  await using store = await openStore(join(folder, "store"));
  const rows = await submitted(store, jobs);
  submitting.kill("SIGKILL");
  await exit;
  await parked(store, server, rows);
  const looks = () => server.steps.filter(({ kind }) => kind === "look").length;
  const waiting = async () => {
    const due = looks() + 2;
    const child = places.start(folder, BY_BATCH);
    while (looks() < due && child.exitCode === null) await setTimeout(20);
    await setTimeout(WAITED_MS);
    const [, kb] = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
    child.kill("SIGKILL");
    await once(child, "exit");
    return Number(kb) / 1024;
  };
  const sender = await waiting();
  return { sender, waiter: size(null, sender) ?? (await waiting()) };
}

/** The jobs of a run that another process is submitting. */
async function submitted(store: Store, jobs: number): Promise<readonly JobRow[]> {
  const rows: JobRow[] = [];
  while (rows.length < jobs) {
    const run = await store.jobs.run("bench");
    const page = run ? await store.jobs.list(run.id, { from: rows.length, limit: 1000 }) : [];
    rows.push(...page);
    if (page.length === 0) await setTimeout(20);
  }
  return rows;
}

/** Each job waits for the answer to a request that has not left. */
async function parked(store: Store, server: BatchServer, rows: readonly JobRow[]): Promise<void> {
  const account = await accountOf(server).account;
  if (!account) throw new Error("the server takes no batches");
  const back = { state: "parked", why: "delivery", afterMs: 0, counts: false } as const;
  for (const { run, n, session } of rows) {
    await store.jobs.begin({ run, n }, { ticket: "t", fence: 0, engine: null, lapses: 0, answers: 0 });
    const body = requestOf(`${HOLD} ${n} ${"x".repeat(BODY_BYTES)}`);
    const key = { session, root: session, run, model: MODEL, call: "bench", k: 0 };
    await store.batches.keep(requestBy(account, { ...key, body }));
    await store.jobs.put({ run, n }, 0, back);
  }
}
