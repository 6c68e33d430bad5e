import { setTimeout } from "node:timers/promises";
import type { WorkflowLife } from "../../tests/support/agents/life.ts";
import { type NotedRun, readAgentsLog } from "../../tests/support/agents/log.ts";
import { type FolderProcess, killed, processesIn } from "../../tests/support/agents/processes.ts";

/** What is killed at once. `machine`: all that works in the round's folder. */
export const TARGETS = ["belay", "keeper", "agent", "keeper and agent", "machine"] as const;
export type Target = (typeof TARGETS)[number];

/** Kills of a round, and whom they met. */
export interface Casualties {
  readonly kills: Map<Target, number>;
  /** How often the keeper of each key was killed. */
  readonly cut: Map<string, number>;
  /** Names of agents that were killed. */
  readonly agents: Set<string>;
}

/** How a life is disturbed. */
export interface Disturbance {
  readonly place: string;
  readonly log: string;
  readonly random: () => number;
  /** Kills of this life at most. */
  readonly most: number;
  readonly casualties: Casualties;
}

const WEIGHTS: Readonly<Record<Target, number>> = {
  belay: 0.55,
  keeper: 0.12,
  agent: 0.1,
  "keeper and agent": 0.13,
  machine: 0.1,
};
/** A life without a kill is no longer than this, ms, on a quiet machine. */
const LIFE_MS = 2500;
/** So soon after the end of an agent its keeper and Belay note it. */
const AFTER_END_MS = 25;
const LOOK_MS = 2;

/** Kills at random moments, and shortly after ends of agents, until the life is over. */
export async function disturb(life: WorkflowLife, disturbance: Disturbance): Promise<void> {
  const { random, most, log } = disturbance;
  for (let kills = 0; kills < most && !life.isOver(); ) {
    if (random() < 0.5) await untilNextEnd(log, life, random() * AFTER_END_MS);
    else await untilOver(life, random() * LIFE_MS);
    if (life.isOver()) return;
    if (kill(chosen(random()), life, disturbance)) kills += 1;
  }
}

function chosen(random: number): Target {
  let rest = random;
  for (const target of TARGETS) {
    rest -= WEIGHTS[target];
    if (rest < 0) return target;
  }
  return "belay";
}

async function untilOver(life: WorkflowLife, ms: number): Promise<void> {
  const over = new AbortController();
  void life.end.finally(() => over.abort());
  await setTimeout(ms, undefined, { signal: over.signal }).catch(() => {});
}

async function untilNextEnd(log: string, life: WorkflowLife, ms: number): Promise<void> {
  const ends = () => readAgentsLog(log).filter(({ ended }) => ended !== null).length;
  const before = ends();
  while (ends() === before && !life.isOver()) await setTimeout(LOOK_MS);
  await untilOver(life, ms);
}

/** True if something was killed. */
function kill(target: Target, life: WorkflowLife, { place, log, random, casualties }: Disturbance): boolean {
  const here = processesIn(place);
  const working = readAgentsLog(log).filter(({ pid }) => here.some((one) => one.pid === pid));
  const keepers = here.filter(({ isKeeper }) => isKeeper);
  const hit = {
    belay: () => life.child.kill("SIGKILL"),
    keeper: () => keeperOf(pick(keepers, random), casualties),
    agent: () => agentOf(pick(working, random), casualties, random() < 0.5),
    "keeper and agent": () => {
      const agent = pick(working, random);
      const keeper = keepers.find(({ pid }) => pid === agent?.keeper);
      const isCut = keeperOf(keeper, casualties);
      return agentOf(agent, casualties, random() < 0.5) || isCut;
    },
    machine: () => {
      life.child.kill("SIGKILL");
      return everything(place, log, casualties);
    },
  }[target]();
  if (hit) casualties.kills.set(target, (casualties.kills.get(target) ?? 0) + 1);
  return hit;
}

const pick = <T>(all: readonly T[], random: () => number): T | undefined => all[Math.floor(random() * all.length)];

function keeperOf(keeper: FolderProcess | undefined, { cut }: Casualties): boolean {
  if (!keeper || !killed(keeper.pid)) return false;
  if (keeper.keeps !== null) cut.set(keeper.keeps, (cut.get(keeper.keeps) ?? 0) + 1);
  return true;
}

/** @param whole true: what it has started too */
function agentOf(agent: NotedRun | undefined, { agents }: Casualties, whole: boolean): boolean {
  if (!agent || !killed(whole ? -agent.pid : agent.pid)) return false;
  agents.add(agent.name);
  return true;
}

/** Kills all that works in the folder, until nothing does: what was seen may have started something meanwhile. */
function everything(place: string, log: string, casualties: Casualties): boolean {
  for (let round = 0; ; round++) {
    const here = processesIn(place);
    if (here.length === 0) return round > 0;
    for (const one of here) {
      if (one.isKeeper) keeperOf(one, casualties);
      else killed(one.pid);
    }
    const pids = new Set(here.map(({ pid }) => pid));
    for (const { pid, name } of readAgentsLog(log)) if (pids.has(pid)) casualties.agents.add(name);
  }
}
