import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BATCH_APIS, type BatchApi } from "../../../src/provider-batches/providers/index.ts";
import { openStore, type Store } from "../../../src/store/index.ts";
import {
  type BatchServer,
  type BatchServerOptions,
  startBatchServer,
} from "../../../tests/support/batch-server/index.ts";
import { seededRandom } from "../../../tests/support/seeded-random.ts";
import { OUT } from "../command.ts";
import {
  accountOf,
  doctorOf,
  endWithin,
  lineOf,
  type Place,
  startIn,
  type Undisturbed,
  undisturbedRun,
  writePlace,
} from "./command.ts";
import { type Death, type Faults, openFaults, randomDeath } from "./deaths.ts";
import { judge, look } from "./judge.ts";
import { answeredTo, idsOf } from "./script.ts";

export interface DeliveryPlan {
  /** Jobs of each run. */
  readonly jobs: number;
  readonly kills: number;
  readonly seed: number;
  /** Jobs that are open at once. */
  readonly concurrency: number;
  readonly folder: string;
  /** Deaths in the order of processes. Default: random ones, in runs of one API after the other. */
  readonly deaths?: readonly Death[];
  /** The URL of the store. Default: each run has a folder of its own. */
  readonly storeUrl?: string;
  say(line: string): void;
}

export interface DeliveryReport {
  /** Number of processes that died, by their death. */
  readonly kills: ReadonlyMap<string, number>;
  readonly runs: number;
  /** Batches that were made, and those that the same runs make undisturbed. */
  readonly batches: number;
  readonly waves: number;
  readonly rows: number;
  readonly twice: number;
  /** Live calls that ran again, and those that may have been in flight at kills. */
  readonly again: number;
  readonly inFlight: number;
  readonly mismatches: readonly string[];
}

/** A run that is to be disturbed. */
export interface Round extends Place {
  readonly plan: DeliveryPlan;
  readonly server: BatchServer;
  readonly store: Store;
  readonly faults: Faults;
  readonly ids: readonly string[];
  /** Unique in the campaign. */
  readonly name: string;
  /** The next death; null: the run is to be left alone from now on. */
  next(): Death | null;
  /** A process has died. */
  died(by: string): void;
}

/** The end of a run that was disturbed. */
export interface Disturbed {
  readonly inFlight: number;
  /** Problems that outsiders saw. */
  readonly problems: readonly string[];
}

/** Disturbs a run until it is over. The results are in the file OUT then. */
export type Disturb = (round: Round) => Promise<Disturbed>;

/** Kills of one run at the most. */
const KILLS_OF_RUN = 12;
/** One in so many requests is answered with 429 or 500. */
const NOISE = 10;
/** The longest delay of a request, ms: below the time after which a batch without a fence counts as not made. */
const DELAY_MS: Readonly<Partial<Record<BatchApi, number>>> = { "anthropic-messages": 1500 };

/** Runs that go by batches, whose processes are killed, against runs that nobody disturbs. */
export async function deliveryCampaign(plan: DeliveryPlan, disturb: Disturb = disturbFolder): Promise<DeliveryReport> {
  const ids = idsOf(plan.jobs);
  const undisturbed = new Map<BatchApi, Undisturbed>();
  const kills = new Map<string, number>();
  const sums = { runs: 0, batches: 0, waves: 0, rows: 0, twice: 0, again: 0, inFlight: 0 };
  const mismatches: string[] = [];
  const due = plan.deaths?.length ?? plan.kills;
  const killed = () => [...kills.values()].reduce((sum, count) => sum + count, 0);
  for (let number = 0; number === 0 || (killed() < due && !plan.deaths); number++) {
    const api = BATCH_APIS[number % BATCH_APIS.length] ?? "openai-completions";
    const apart = undisturbed.get(api) ?? (await undisturbedRun(join(plan.folder, api), api, ids, plan.concurrency));
    undisturbed.set(api, apart);
    const random = seededRandom(plan.seed + number);
    const faults = openFaults({ random, delayMs: DELAY_MS[api] ?? 4000, noise: plan.deaths ? null : NOISE });
    await using server = await startBatchServer({ ...fates(random, plan.deaths === undefined), fault: faults.fault });
    let [ofRun, last] = [0, ""];
    const place = join(plan.folder, `run-${number}`);
    await using store = await openStore(plan.storeUrl ?? join(place, "home"));
    const round: Round = {
      ...{ plan, server, store, faults, place, ids, api, name: `campaign-${number}` },
      next() {
        if (plan.deaths) return plan.deaths[ofRun] ?? null;
        return ofRun < KILLS_OF_RUN && killed() < due ? randomDeath(random, last) : null;
      },
      died(by) {
        ofRun += 1;
        last = faults.deathOf(by);
        kills.set(last, (kills.get(last) ?? 0) + 1);
      },
    };
    writePlace(round, ids);
    const { inFlight, problems } = await disturb(round);
    await faults.settled();
    const end = await look(store, round.name);
    if (!end) throw new Error("the store has no run");
    const known = new Set(await store.batches.names(accountOf(round)));
    const out = join(place, OUT);
    const results = existsSync(out) ? readFileSync(out, "utf8") : "";
    const judged = judge({ ids, server, known, end, inFlight, results, undisturbed: apart.results });
    const all = [...problems, ...judged.mismatches, ...(await doctorOf(round, plan.storeUrl))];
    mismatches.push(...all.map((problem) => `${round.name} (${api}, seed ${plan.seed + number}): ${problem}`));
    sums.runs += 1;
    sums.batches += server.batches.length;
    sums.waves += apart.batches;
    sums.inFlight += inFlight;
    for (const name of ["rows", "twice", "again"] as const) sums[name] += judged[name];
    plan.say(`run ${sums.runs} (${api}): ${ofRun} kills, ${server.batches.length} batches, ${all.length} mismatches`);
  }
  return { ...sums, kills, mismatches };
}

/** Some rows fail at first, and a batch of a run expires after its first row. */
function fates(random: () => number, hasFaults: boolean): Pick<BatchServerOptions, "answer" | "fate"> {
  const seen = new Set<string>();
  let hasExpired = false;
  return {
    answer(asked) {
      const key = JSON.stringify(asked.body);
      const isFirst = asked.custom_id !== null && !seen.has(key);
      seen.add(key);
      return hasFaults && isFirst && random() * NOISE < 1 ? { status: random() < 0.5 ? 429 : 500 } : answeredTo(asked);
    },
    fate({ rows }) {
      const wait = 200 + random() * 400;
      if (!hasFaults || hasExpired || rows.length < 3 || random() < 0.7) return { wait };
      hasExpired = true;
      return { wait, expireAfter: 1 };
    },
  };
}

/** Types the line of a run again until it is over. */
async function disturbFolder(round: Round): Promise<Disturbed> {
  const { plan, store, faults, name } = round;
  const line = [...lineOf(name, plan.concurrency), "-o", OUT];
  let inFlight = 0;
  for (let number = 0; ; number++) {
    const [by, death] = [`process-${number}`, round.next()];
    const child = startIn(round, line, by, death);
    if (death) faults.condemn(by, child, death);
    const code = await endWithin(child);
    if (code !== "killed") return { inFlight, problems: code === 0 ? [] : [`belay batch ended with ${code}`] };
    round.died(by);
    inFlight += (await look(store, name))?.inFlight ?? 0;
  }
}
