import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { openStore } from "../../src/store/index.ts";
import { COMPILED, CRASHING_COMMAND } from "../../tests/support/command.ts";
import { KILL_STEPS, KILL_VARIABLE } from "../../tests/support/kill-step.ts";
import { startModelServer } from "../../tests/support/model-server.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import { type Cut, type Judged, judge, look } from "./judge.ts";
import { answerTo, SCRIPT, STEPS } from "./script.ts";

export interface BatchPlan {
  readonly jobs: number;
  readonly kills: number;
  readonly seed: number;
  /** How long the model takes for an answer, ms. */
  readonly answerMs: number;
  readonly concurrency: number;
  readonly folder: string;
  say(line: string): void;
}

export interface BatchReport extends Judged {
  /** How often a process was killed; each of them in the midst of the run. */
  readonly kills: number;
  readonly requests: number;
}

/** How a process dies: after its n-th step of a kind, or some time after so many of its requests. */
type Death = { readonly step: string } | { readonly requests: number; readonly ms: number };

/** Runs `belay batch` over a folder, kills it as planned, types the same line again, and judges what outsiders see. */
export async function batchCampaign(plan: BatchPlan): Promise<BatchReport> {
  const { jobs, folder, say } = plan;
  const ids = Array.from({ length: jobs }, (_, n) => `job-${n}`);
  const undisturbed = await undisturbedRun(plan, ids);
  const place = join(folder, "killed");
  await using server = await startModelServer(({ prompt }) => ({ text: answerTo(prompt), delayMs: plan.answerMs }));
  writeInputs(place, ids);
  const random = seededRandom(plan.seed);
  const cuts: Cut[] = [];
  await using store = await openStore(join(place, "home"));
  for (;;) {
    const death = cuts.length < plan.kills ? deathOf(cuts.length, plan, random) : null;
    const code = await life(
      { place, url: server.url, concurrency: plan.concurrency },
      death,
      () => server.requests.length,
    );
    const looked = await look(store, NAME);
    if (code !== "killed") {
      if (code !== 0) throw new Error(`belay batch ended with ${code}`);
      if (!looked) throw new Error("the store has no run");
      const results = readFileSync(join(place, OUT), "utf8");
      const evidence = { ids, asked: server.requests, cuts, end: looked, results, undisturbed };
      return { ...judge(evidence), kills: cuts.length, requests: server.requests.length };
    }
    cuts.push({ requests: server.requests.length, recorded: looked?.recorded ?? new Set() });
    say(`killed ${cuts.length}: ${looked?.recorded.size ?? 0} of ${jobs * STEPS} answers on record`);
  }
}

const NAME = "campaign";
const OUT = "out.jsonl";

async function undisturbedRun({ folder, concurrency }: BatchPlan, ids: readonly string[]): Promise<string> {
  await using server = await startModelServer(({ prompt }) => ({ text: answerTo(prompt) }));
  const place = join(folder, "undisturbed");
  writeInputs(place, ids);
  const code = await life({ place, url: server.url, concurrency }, null, () => 0);
  if (code !== 0) throw new Error(`the undisturbed run ended with ${code}`);
  return readFileSync(join(place, OUT), "utf8");
}

function writeInputs(place: string, ids: readonly string[]): void {
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "ask.js"), SCRIPT);
  writeFileSync(join(place, "in.jsonl"), ids.map((id) => `${JSON.stringify({ id })}\n`).join(""));
}

const STEPS_OF_TRIES = KILL_STEPS.filter((step) => step !== "loaded");

/** Every other process dies at a step, the others at random. */
function deathOf(index: number, { answerMs, concurrency }: BatchPlan, random: () => number): Death {
  if (index % 2 === 1) return { requests: 1 + Math.floor(random() * 2 * concurrency), ms: random() * answerMs };
  const step = STEPS_OF_TRIES[Math.floor(index / 2) % STEPS_OF_TRIES.length];
  return { step: `${step}:${1 + Math.floor(random() * 3)}` };
}

interface Line {
  readonly place: string;
  readonly url: string;
  readonly concurrency: number;
}

/** One process that types the line: its exit code, or that it was killed. */
async function life(
  { place, url, concurrency }: Line,
  death: Death | null,
  asked: () => number,
): Promise<number | "killed"> {
  const line = [
    "batch",
    "ask.js",
    "--jobs",
    "in.jsonl",
    "--name",
    NAME,
    "-o",
    OUT,
    "--concurrency",
    String(concurrency),
  ];
  const before = asked();
  const child = spawn(process.execPath, [...CRASHING_COMMAND, ...line, "--quiet"], {
    cwd: place,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: COMPILED,
      BELAY_HOME: join(place, "home"),
      BELAY_BASE_URL: url,
      BELAY_MODEL: "local/m",
      [KILL_VARIABLE]: death && "step" in death ? death.step : "finish:0",
    },
  });
  const ended = once(child, "close");
  if (death && "ms" in death) void killLater(child, death.ms, () => asked() - before >= death.requests);
  const [code, signal] = await ended;
  return signal === "SIGKILL" ? "killed" : code;
}

/** Kills it so long after it has asked often enough. */
async function killLater(child: ReturnType<typeof spawn>, ms: number, hasAsked: () => boolean): Promise<void> {
  while (!hasAsked() && child.exitCode === null) await setTimeout(5);
  await setTimeout(ms);
  child.kill("SIGKILL");
}
