import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { openStore } from "../../src/store/index.ts";
import { TRY_STEPS } from "../../tests/support/jobs/kill-step.ts";
import { startModelServer } from "../../tests/support/model-server.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import { askedOf, endOf, idsOf, LINE, NAME, OUT, startCommand, undisturbedRun, writeInputs } from "./command.ts";
import { type Cut, type Judged, judge, look } from "./judge.ts";
import { answerTo, STEPS } from "./script.ts";

export interface BatchPlan {
  readonly jobs: number;
  readonly kills: number;
  readonly seed: number;
  /** How long the model takes for an answer, ms. */
  readonly answerMs: number;
  readonly concurrency: number;
  readonly folder: string;
  /** With workers: a job more, which ends every process that tries it. */
  readonly poison?: boolean;
  /** Workers reach the server through PgBouncer. */
  readonly pooler?: boolean;
  say(line: string): void;
}

export interface BatchReport extends Judged {
  /** How often a process was killed or stopped, or a server restarted. */
  readonly kills: number;
  readonly requests: number;
}

/** How a process dies: after its n-th step of a kind, or some time after so many of its requests. */
type Death = { readonly step: string } | Timed;

interface Timed {
  readonly requests: number;
  readonly ms: number;
}

/** Runs `belay batch` over a folder, kills it as planned, types the same line again, and judges what outsiders see. */
export async function batchCampaign(plan: BatchPlan): Promise<BatchReport> {
  const { jobs, folder, say } = plan;
  const ids = idsOf(jobs);
  const undisturbed = await undisturbedRun(plan, ids);
  const place = join(folder, "killed");
  await using server = await startModelServer(({ prompt }) => ({ text: answerTo(prompt), delayMs: plan.answerMs }));
  writeInputs(place, ids);
  const random = seededRandom(plan.seed);
  const cuts: Cut[] = [];
  await using store = await openStore(join(place, "home"));
  for (;;) {
    const death = cuts.length < plan.kills ? deathOf(cuts.length, plan, random) : null;
    const line = [...LINE, "-o", OUT, "--concurrency", String(plan.concurrency)];
    const child = startCommand(line, { place, url: server.url, step: death && "step" in death ? death.step : null });
    if (death && "ms" in death) void killLater(child, death, server.requests);
    const code = await endOf(child);
    const looked = await look(store, NAME);
    if (code !== "killed") {
      if (code !== 0) throw new Error(`belay batch ended with ${code}`);
      if (!looked) throw new Error("the store has no run");
      const results = readFileSync(join(place, OUT), "utf8");
      const evidence = { ids, asked: askedOf(server), cuts, end: looked, results, undisturbed };
      return { ...judge(evidence), kills: cuts.length, requests: server.requests.length };
    }
    const seen = server.requests.length;
    cuts.push({ by: null, before: seen, after: seen, recorded: looked?.recorded ?? new Set() });
    say(`killed ${cuts.length}: ${looked?.recorded.size ?? 0} of ${jobs * STEPS} answers on record`);
  }
}

/** The jobs of a campaign have no context. */
export const STEPS_OF_TRIES = TRY_STEPS.filter((step) => step !== "loaded");

/**
 * The first process dies before it has offered a job, the second one once it has offered them all, every other one at a step of a
 * try, the others at random.
 */
function deathOf(index: number, { answerMs, concurrency }: BatchPlan, random: () => number): Death {
  const submitting = SUBMITTED[index];
  if (submitting !== undefined) return { step: submitting };
  const other = index - SUBMITTED.length;
  if (other % 2 === 0) return { requests: 1 + Math.floor(random() * 2 * concurrency), ms: random() * answerMs };
  const step = STEPS_OF_TRIES[((other - 1) / 2) % STEPS_OF_TRIES.length];
  return { step: `${step}:${1 + Math.floor(random() * 3)}` };
}

/** The jobs have their rows, and no tickets; then they have both, and none was begun. */
export const SUBMITTED: readonly string[] = ["added:1", "offered:1"];

/** Kills it so long after it has asked often enough. */
async function killLater(
  child: ChildProcess,
  { requests, ms }: Timed,
  asked: { readonly length: number },
): Promise<void> {
  const before = asked.length;
  while (asked.length - before < requests && child.exitCode === null) await setTimeout(5);
  await setTimeout(ms);
  child.kill("SIGKILL");
}
