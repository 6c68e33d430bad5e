import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { openStore, type Store } from "../../src/store/index.ts";
import { type ModelServer, startModelServer } from "../../tests/support/model-server.ts";
import { type Cluster, startCluster } from "../../tests/support/postgres/cluster.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import { type BatchPlan, type BatchReport, STEPS_OF_TRIES, SUBMITTED } from "./campaign.ts";
import {
  askedOf,
  askerIn,
  endOf,
  idsOf,
  LINE,
  NAME,
  OUT,
  startCommand,
  undisturbedRun,
  writeInputs,
} from "./command.ts";
import { type Cut, type Journals, judge, look } from "./judge.ts";
import { isGivenUp, POISON, withoutPoison, wrongPoison } from "./poison.ts";
import { startPooler } from "./pooler.ts";
import { answerTo, STEPS } from "./script.ts";

const WORKERS = 4;
const JOBS_OF_WORKER = 3;
/** Whoever has sent one of the last so many requests is at work. */
const RECENT = 50;
/** So far the kills may lag behind the work. */
const KILLS_BEHIND = 4;
/** Longer than a lease and a heartbeat last. */
const STOPPED_MS = 40_000;

/** As `batchCampaign`, with workers over PostgreSQL; one of them is stopped for a while, and the database is restarted once. */
export async function workersCampaign(plan: BatchPlan): Promise<BatchReport> {
  const ids = idsOf(plan.jobs);
  const undisturbed = await undisturbedRun(plan, ids);
  await using cluster = await startCluster();
  await using pooler = plan.pooler ? await startPooler(cluster.url) : null;
  const storeUrl = pooler?.url ?? cluster.url;
  const cuts: Cut[] = [];
  await using server: ModelServer = await startModelServer(async ({ prompt }) => {
    // The work waits for the kills.
    while (killsDue({ plan, server }) > cuts.length + KILLS_BEHIND) await setTimeout(20);
    return { text: answerTo(prompt), delayMs: plan.answerMs };
  });
  const place = join(plan.folder, "killed");
  writeInputs(place, plan.poison ? [...ids, POISON] : ids);
  const ground: Ground = { plan, cluster, storeUrl, server, place, cuts };
  const submitting = [...LINE, "--store", storeUrl, "--detach"];
  for (const step of SUBMITTED) await command(ground, submitting, "killed", step);
  await command(ground, submitting, 0);
  await using store = await openStore(cluster.url);
  const journals: Journals = new Map();
  const retried = await disturbed(ground, store, journals);
  await command(ground, ["jobs", "out", NAME, "--out", OUT, "--store", storeUrl], 0);
  const end = await look(store, NAME, journals);
  if (!end) throw new Error("the store has no run");
  const asked = askedOf(server);
  const evidence = {
    ids,
    asked,
    cuts,
    undisturbed,
    retried,
    ...withoutPoison(end, readFileSync(join(place, OUT), "utf8")),
  };
  const judged = judge(evidence);
  const mismatches = [...judged.mismatches, ...(plan.poison ? wrongPoison(end) : [])];
  return { ...judged, mismatches, kills: cuts.length, requests: asked.length };
}

interface Ground {
  readonly plan: BatchPlan;
  readonly cluster: Cluster;
  /** The store's, maybe by way of a pooler. */
  readonly storeUrl: string;
  readonly server: ModelServer;
  readonly place: string;
  readonly cuts: Cut[];
}

async function command(
  { place, server }: Ground,
  line: readonly string[],
  expected: number | "killed",
  step: string | null = null,
): Promise<void> {
  const code = await endOf(startCommand(line, { place, url: server.url, step }));
  if (code !== expected) throw new Error(`belay ${line.join(" ")} ended with ${code}`);
}

/** Has workers work until every job is done, and disturbs them as planned meanwhile. Answers the jobs that were given up once. */
async function disturbed(ground: Ground, store: Store, journals: Journals): Promise<ReadonlySet<string>> {
  const { plan, server, cuts } = ground;
  const random = seededRandom(plan.seed);
  let isRestarted = false;
  const crew = openCrew(ground, random, () => cuts.length < plan.kills);
  const retried = new Set<string>();
  const note = async (by: string | null, before: number) => {
    const looked = await look(store, NAME, journals);
    cuts.push({ by, before, after: server.requests.length, recorded: looked?.recorded ?? new Set() });
    plan.say(`${cuts.length}: ${by ?? "all"} cut, ${looked?.recorded.size} answers on record`);
  };
  while (!(await isOver(store)) || (await triedAgain(ground, store, { journals, retried }))) {
    for (const { by, before } of crew.buried()) await note(by, before);
    await setTimeout(random() * 300);
    if (cuts.length >= plan.kills / 3 && crew.stop()) await note(crew.stopped(), server.requests.length);
    else if (cuts.length >= plan.kills / 2 && !isRestarted) {
      isRestarted = true;
      await note(null, await restart(ground));
    } else if (cuts.length < killsDue(ground)) crew.kill();
  }
  for (const { by, before } of crew.buried()) await note(by, before);
  await crew.end();
  if (!isRestarted || crew.stopped() === null)
    throw new Error("the run was over before all was done to it: take more jobs");
  return retried;
}

/** Six kills in a row that leave a job no time for an answer make it look like a poison. As a person would, this has it tried again. */
async function triedAgain(
  ground: Ground,
  store: Store,
  { journals, retried }: { readonly journals: Journals; readonly retried: Set<string> },
): Promise<boolean> {
  const looked = await look(store, NAME, journals);
  const given = looked?.jobs.filter((job) => isGivenUp(job) && job.id !== POISON) ?? [];
  if (given.length === 0) return false;
  for (const { id, lapses } of given) {
    ground.plan.say(`${id} was given up after ${lapses} lapses, and is tried again`);
    if (retried.has(id)) throw new Error(`${id} was given up twice`);
    retried.add(id);
  }
  const ids = given.map(({ id }) => id);
  await command(ground, ["jobs", "retry", NAME, ...ids, "--store", ground.storeUrl], 0);
  return true;
}

/** Kills are spread over the work: those of the last jobs alone would take these for jobs that end their processes. */
function killsDue({ plan, server }: Pick<Ground, "plan" | "server">): number {
  return Math.min(plan.kills, (plan.kills * server.requests.length) / (plan.jobs * STEPS));
}

async function isOver(store: Store): Promise<boolean> {
  const run = await store.jobs.run(NAME);
  const counts = run && (await store.jobs.counts(run.id));
  return counts !== null && counts.waiting + counts.running + counts.parked + counts.cancelling === 0;
}

/** Answers how many requests there were before. */
async function restart({ cluster, server }: Ground): Promise<number> {
  const before = server.requests.length;
  await cluster.stop("fast");
  await cluster.start();
  return before;
}

/** Workers: each that dies is followed by another one. Some kill themselves at a step of a try. */
function openCrew({ plan, place, server, storeUrl }: Ground, random: () => number, mayDie: () => boolean) {
  const alive = new Map<string, ChildProcess>();
  /** Each has the number of requests that there had been when it died. */
  const dead: { readonly by: string; readonly before: number }[] = [];
  let count = 0;
  let stopped: string | null = null;
  let isEnding = false;

  function hire(): void {
    const by = `worker-${++count}`;
    const name = STEPS_OF_TRIES[Math.floor(random() * STEPS_OF_TRIES.length)];
    const step = mayDie() && random() < 0.5 ? `${name}:${1 + Math.floor(random() * 12)}` : null;
    const line = ["worker", "--quiet", "--store", storeUrl, "--concurrency", String(JOBS_OF_WORKER)];
    const child = startCommand(line, { place, url: server.url, step, by, isPoisoned: plan.poison === true });
    alive.set(by, child);
    child.once("close", () => {
      alive.delete(by);
      dead.push({ by, before: server.requests.length });
      if (!isEnding) hire();
    });
  }

  for (let worker = 0; worker < WORKERS; worker++) hire();
  return {
    /** Those that have died since this was asked. */
    buried: () => dead.splice(0),
    /** Kills one that has begun to work. */
    kill() {
      const atWork = new Set(server.requests.slice(-RECENT).map(({ headers }) => askerIn(headers)));
      const all = [...alive].filter(([by]) => by !== stopped && atWork.has(by));
      all[Math.floor(random() * all.length)]?.[1].kill("SIGKILL");
    },
    /** Stops one for a while, once. False: one was stopped before. */
    stop(): boolean {
      const [first] = alive;
      if (stopped !== null || !first) return false;
      const [by, child] = first;
      stopped = by;
      child.kill("SIGSTOP");
      void setTimeout(STOPPED_MS).then(() => child.kill("SIGCONT"));
      return true;
    },
    stopped: () => stopped,
    async end() {
      isEnding = true;
      const ended = [...alive.values()].map((child) => endOf(child));
      for (const child of alive.values()) {
        child.kill("SIGCONT");
        child.kill("SIGTERM");
      }
      await Promise.all(ended);
    },
  };
}
