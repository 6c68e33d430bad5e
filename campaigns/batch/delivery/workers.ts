import type { ChildProcess } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import type { Store } from "../../../src/store/index.ts";
import { startCluster } from "../../../tests/support/postgres/cluster.ts";
import { OUT } from "../command.ts";
import { type DeliveryPlan, type DeliveryReport, type Disturbed, deliveryCampaign, type Round } from "./campaign.ts";
import { endWithin, HANGS_MS, lineOf, startIn } from "./command.ts";
import { look } from "./judge.ts";

const WORKERS = 2;
const LOOK_MS = 200;

/** Does what `deliveryCampaign` does, with two workers at once over PostgreSQL. */
export async function deliveryWorkersCampaign(plan: DeliveryPlan): Promise<DeliveryReport> {
  // Else the doctor warns of it.
  await using cluster = await startCluster({ settings: ["fsync=on"] });
  return await deliveryCampaign({ ...plan, storeUrl: cluster.url }, (round) => disturbWorkers(round, cluster.url));
}

async function disturbWorkers(round: Round, storeUrl: string): Promise<Disturbed> {
  const { plan, store, name } = round;
  const problems: string[] = [];
  const typed = async (line: readonly string[]) => {
    const code = await endWithin(startIn(round, [...line, "--store", storeUrl], "submitter", null));
    if (code !== 0) problems.push(`belay ${line.join(" ")} ended with ${code}`);
  };
  await typed([...lineOf(name, plan.concurrency), "--detach"]);
  const crew = openCrew(round, ["worker", "--quiet", "--store", storeUrl, "--concurrency", String(plan.concurrency)]);
  const until = performance.now() + HANGS_MS;
  while (!(await isOver(store, name))) {
    await setTimeout(LOOK_MS);
    if (performance.now() < until) continue;
    problems.push("the run does not end");
    break;
  }
  await crew.end();
  await typed(["jobs", "out", name, "--out", OUT]);
  return { inFlight: crew.inFlight(), problems: [...problems, ...crew.problems] };
}

async function isOver(store: Store, name: string): Promise<boolean> {
  const run = await store.jobs.run(name);
  const counts = run && (await store.jobs.counts(run.id));
  return counts !== null && counts.waiting + counts.running + counts.parked + counts.cancelling === 0;
}

/** Workers: each that dies is followed by another one. */
function openCrew(round: Round, line: readonly string[]) {
  const { faults, store, name } = round;
  const alive = new Set<ChildProcess>();
  const ended: Promise<void>[] = [];
  const problems: string[] = [];
  let [count, inFlight, isEnding] = [0, 0, false];

  function hire(): void {
    const [by, death] = [`${name}-worker-${++count}`, round.next()];
    const child = startIn(round, line, by, death);
    alive.add(child);
    if (death) faults.condemn(by, child, death);
    ended.push(follow(child, by));
  }

  async function follow(child: ChildProcess, by: string): Promise<void> {
    const code = await endWithin(child);
    alive.delete(child);
    if (code === "killed") {
      round.died(by);
      inFlight += (await look(store, name))?.inFlight ?? 0;
    } else if (!isEnding) problems.push(`a worker ended with ${code}`);
    if (!isEnding) hire();
  }

  for (let worker = 0; worker < WORKERS; worker++) hire();
  return {
    problems,
    inFlight: () => inFlight,
    async end(): Promise<void> {
      isEnding = true;
      for (const child of alive) child.kill("SIGTERM");
      for (let at = 0; at < ended.length; at++) await ended[at];
    },
  };
}
