import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import * as v from "valibot";
import type { Json } from "../../runtime/index.ts";
import { parseJson } from "../../src/platform/json.ts";
import { seededRandom } from "../../src/platform/seeded-random.ts";
import { type LifeEnd, startLife, type WorkflowLife } from "../../tests/support/agents/life.ts";
import { readAgentsLog, startedTwice } from "../../tests/support/agents/log.ts";
import { processesIn } from "../../tests/support/agents/processes.ts";
import { commandHere } from "../../tests/support/command-here.ts";
import { type Casualties, disturb, type Target } from "./kills.ts";
import { agentsOf, planOf, type RoundFiles, type RoundPlan, writeRound, wrongAnswers } from "./script.ts";

/** What a campaign of kills over workflows does. */
export interface WorkflowCampaignOptions {
  /** An empty folder: scripts, stores and logs go there. */
  readonly folder: string;
  /** URL of a server's store for a round; `null`: stores are folders. */
  readonly storeUrl: (() => Promise<string>) | null;
  /** Ends with the round that reaches so many kills. */
  readonly kills: number;
  /** Lives of a round that are killed: those after them come to their end. Default: 8. */
  readonly lives?: number;
  /** Agents side by side in a round, and chains of three agents. */
  readonly found: number;
  readonly chains: number;
  readonly seed: number;
  /** Told of each finding, and of each round. */
  readonly say: (line: string) => void;
}

/** What a campaign found. */
export interface WorkflowReport {
  readonly rounds: number;
  readonly kills: ReadonlyMap<Target, number>;
  /** Agents that the scripts ask for, and starts of agents. */
  readonly agents: number;
  readonly starts: number;
  /** How often a run waited for the user because nobody knew what became of an agent. */
  readonly doubts: number;
  /** Starts after such a doubt, or of agents that are safe to start again. */
  readonly resent: number;
  /** Lives beside which the same line was typed, and those beside which `belay gc` ran. */
  readonly beside: number;
  readonly collected: number;
  readonly twice: readonly string[];
  readonly wrong: readonly string[];
  /** What else was not as it should be. */
  readonly mismatches: readonly string[];
}

const KILLED_LIVES = 8;
/** Kills of one life at most. */
const KILLS_OF_LIFE = 3;
/** The parts of lives beside which something else runs. */
const BESIDE = 0.1;
const COLLECTED = 0.1;
/** Longer than a keeper takes to end what is left. */
const LEFT_MS = 8000;
/** Exit code of a run that waits for somebody. */
const WAITS = 3;
/** Time for which a process that was killed has its run on a server, ms. */
const LEASE_MS = 2000;
const SHORT_LEASE = { BELAY_LEASE_MS: String(LEASE_MS) };

interface Tally {
  rounds: number;
  agents: number;
  starts: number;
  doubts: number;
  resent: number;
  beside: number;
  collected: number;
}

/** Kills Belay, keepers and agents of workflows, types the same line until it ends, and judges what the agents saw. */
export async function workflowCampaign(options: WorkflowCampaignOptions): Promise<WorkflowReport> {
  const random = seededRandom(options.seed);
  const tally: Tally = { rounds: 0, agents: 0, starts: 0, doubts: 0, resent: 0, beside: 0, collected: 0 };
  const kills = new Map<Target, number>();
  const found = { twice: [""].slice(1), wrong: [""].slice(1), mismatches: [""].slice(1) };
  const killed = () => [...kills.values()].reduce((sum, count) => sum + count, 0);
  while (killed() < options.kills) {
    const round = await openRound(options, tally.rounds, random);
    const told = (kind: keyof typeof found) => (line: string) => {
      found[kind].push(`round ${tally.rounds}: ${line}`);
      options.say(`round ${tally.rounds}: ${kind}: ${line}`);
    };
    await played(round, tally, { twice: told("twice"), wrong: told("wrong"), mismatch: told("mismatches") });
    for (const [target, count] of round.casualties.kills) kills.set(target, (kills.get(target) ?? 0) + count);
    tally.rounds += 1;
    options.say(`${tally.rounds} rounds, ${killed()} kills, ${tally.starts} starts of ${tally.agents} agents`);
  }
  return { ...tally, kills, ...found };
}

/** One run of a workflow, and what has befallen it. */
interface Round {
  readonly plan: RoundPlan;
  readonly files: RoundFiles;
  readonly isSafe: boolean;
  /** As in the options. */
  readonly lives: number;
  readonly flags: readonly string[];
  readonly casualties: Casualties;
  readonly random: () => number;
}

interface Findings {
  twice(line: string): void;
  wrong(line: string): void;
  mismatch(line: string): void;
}

async function openRound(options: WorkflowCampaignOptions, number: number, random: () => number): Promise<Round> {
  const plan = planOf(options.found, options.chains, random);
  const isSafe = number % 4 === 3;
  const place = join(options.folder, `round-${number}`);
  mkdirSync(place);
  const files = writeRound(place, plan, isSafe);
  const flags = options.storeUrl ? ["--store", await options.storeUrl()] : [];
  const casualties = { kills: new Map(), cut: new Map(), agents: new Set<string>() };
  return { plan, files, isSafe, flags, random, casualties, lives: options.lives ?? KILLED_LIVES };
}

const LINE = ["workflow", "work.js", "--agent", "fake", "--args", "@args.json", "--json", "--session", "campaign"];

async function played(round: Round, tally: Tally, findings: Findings): Promise<void> {
  const { plan, files, casualties } = round;
  const end = await typedAgain(round, tally, findings);
  const runs = readAgentsLog(files.log);
  const keys = new Set(runs.map(({ key }) => key));
  tally.agents += agentsOf(plan);
  tally.starts += runs.length;
  tally.resent += runs.length - keys.size;
  for (const line of startedTwice(runs, casualties.cut)) findings.twice(line);
  const wrong = wrongAnswers(plan, resultOf(end), casualties.agents);
  for (const line of wrong) findings.wrong(line);
  if (casualties.agents.size === 0 && end.code !== 0) findings.mismatch(`it ended with ${end.code}\n${end.stderr}`);
  if (wrong.length > 0) findings.mismatch(`${end.stdout.slice(0, 4000)}\n${end.stderr}`);
  await judgeLeft(round, findings);
  rmSync(files.place, { recursive: true, force: true });
}

/** Types the same line until it comes to its end. A doubt is answered by a line that starts the agent again. */
async function typedAgain(round: Round, tally: Tally, findings: Findings): Promise<LifeEnd> {
  const { files, flags, random, casualties, lives } = round;
  const { place, log } = files;
  const here = { folder: place, home: files.home, env: SHORT_LEASE };
  let resends = false;
  for (let life = 0; ; life++) {
    const line = [...LINE, ...flags, ...(resends ? ["--resend-doubtful"] : [])];
    const one = startLife(line, here);
    const other = random() < BESIDE ? startLife(LINE.concat(flags), here) : null;
    const collector = random() < COLLECTED ? startLife(["gc", ...flags], here) : null;
    const most = life < lives ? KILLS_OF_LIFE : 0;
    await disturb(one, { place, log, random, most, casualties });
    const end = await one.end;
    const waits = [end, ...(await besides(other, collector, tally, findings))].filter(({ code }) => code === WAITS);
    for (const { stdout } of waits.slice(0, 1)) {
      tally.doubts += 1;
      if (!stdout.includes('"answer_lost"') || casualties.cut.size === 0) findings.mismatch(`it waits:\n${stdout}`);
    }
    resends = waits.length > 0;
    if (isInUse(end)) {
      // On a server a process that was killed has the run until its lease ends.
      await setTimeout(LEASE_MS);
      life -= 1;
    }
    const isOver = end.code === 0 || (end.code === 1 && !isInUse(end));
    if (isOver) return end;
    if (end.code !== null && end.code > WAITS) findings.mismatch(`${end.code}: ${end.stdout}${end.stderr}`);
    if (life > 40) throw new Error(`the run does not end:\n${end.stdout}${end.stderr}`);
  }
}

/** What ran beside a life: another process of the same line either has the run, or says that it is in use. */
async function besides(
  other: WorkflowLife | null,
  collector: WorkflowLife | null,
  tally: Tally,
  { mismatch }: Findings,
): Promise<readonly LifeEnd[]> {
  const swept = await collector?.end;
  const second = await other?.end;
  if (swept) tally.collected += 1;
  if (swept && swept.code !== 0 && swept.code !== null) mismatch(`gc ended with ${swept.code}: ${swept.stderr}`);
  if (!second) return [];
  tally.beside += 1;
  if (second.code !== null && second.code > 1 && second.code !== WAITS)
    mismatch(`the same line beside ended with ${second.code}: ${second.stdout}${second.stderr}`);
  return [second];
}

/** True if another process has the run or has made it at this moment, or if a busy machine let a lock or a lease run out. */
const isInUse = ({ stdout }: LifeEnd) => IN_USE.test(stdout);
const IN_USE = /"error_code":"(session_busy|session_exists|lease_lost|store_failed)"/;

/** The result in the envelope, which is the last line. */
function resultOf({ stdout }: LifeEnd): Json | undefined {
  const envelope = parseJson(stdout.trim().split("\n").at(-1) ?? "");
  const parsed = v.safeParse(v.object({ result_json: v.custom<Json>(() => true) }), envelope);
  return parsed.success ? parsed.output.result_json : undefined;
}

/** Looks for processes and outboxes that kills have left, and removes the run. */
async function judgeLeft({ files, flags }: Round, { mismatch }: Findings): Promise<void> {
  const { place, home } = files;
  const until = Date.now() + LEFT_MS;
  while (processesIn(place).length > 0 && Date.now() < until) await setTimeout(50);
  for (const { command } of processesIn(place)) mismatch(`a process is left: ${command}`);
  const left = outboxesIn(home);
  if (left.length > 0) mismatch(`outboxes are left: ${left.join(" ")}`);
  for (const args of [["doctor"], ["rm", "campaign"]]) {
    const end = await commandHere([...args, ...flags], { cwd: place, home, env: SHORT_LEASE });
    if (end.code !== 0) mismatch(`${args[0]} ended with ${end.code}: ${end.stdout}${end.stderr}`);
  }
}

function outboxesIn(home: string): readonly string[] {
  const folders = ["agents", "server-agents"].map((name) => join(home, name)).filter((folder) => existsSync(folder));
  return folders.flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }));
}

/** The figures of a campaign. */
export function printedWorkflow(report: WorkflowReport): string {
  const kills = [...report.kills].map(([target, count]) => `${target} ${count}`).join(", ");
  const all = [...report.kills.values()].reduce((sum, count) => sum + count, 0);
  return [
    `rounds          ${report.rounds}, beside ${report.beside} lives the same line, beside ${report.collected} gc`,
    `kills           ${all}: ${kills}`,
    `agents          ${report.agents}, started ${report.starts} times`,
    `doubts          ${report.doubts} told; ${report.resent} agents started again for them`,
    `started twice   ${report.twice.length}`,
    `wrong or lost   ${report.wrong.length}`,
    `mismatches      ${report.mismatches.length}`,
  ].join("\n");
}
