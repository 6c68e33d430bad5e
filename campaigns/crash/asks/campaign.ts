import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../../src/store/index.ts";
import { findingsInStore } from "../../../tests/support/crash/store-check.ts";
import { seededRandom } from "../../../tests/support/seeded-random.ts";
import { planOf } from "../plan.ts";
import { judgeAsk } from "./judge.ts";
import { type AskGround, type AskPlan, type AskRun, askRun } from "./run.ts";
import { REQUESTS, startTreeServer, writeNotes } from "./tree.ts";

export interface AskCampaignOptions {
  /** An empty folder: the store and the notes go there. */
  readonly folder: string;
  /** The seed of the first run; each further run has the next number. */
  readonly seed: number;
  readonly runs: number;
  /** Kills of one run at the most. */
  readonly most: number;
  /** Runs at once. */
  readonly jobs: number;
  /** Told of every finding, and now and then of how far it is. */
  readonly say: (line: string) => void;
}

export interface AskCampaignReport {
  readonly runs: number;
  readonly kills: number;
  /** Operations that write in an uninterrupted run: the first process of a run is killed at one of them. */
  readonly operations: number;
  readonly requests: number;
  readonly requestsAgain: number;
  /** Sessions that a killed process has left open, at the most at once. */
  readonly mostOpen: number;
  /** A line for each finding. */
  readonly mismatches: readonly string[];
}

/** Kills the processes of many asks over a tree of depth 2, and compares each with an uninterrupted one. */
export async function askCampaign(options: AskCampaignOptions): Promise<AskCampaignReport> {
  const { folder, seed, say } = options;
  const delays = seededRandom(seed);
  await using server = await startTreeServer(() => Math.floor(delays() * 121));
  const [cwd, home] = [join(folder, "contexts"), join(folder, "home")];
  mkdirSync(home, { recursive: true });
  writeNotes(cwd);
  await using store = await openStore(home);
  const ground: AskGround = { server, cwd, home, store };
  const mismatches: string[] = [];
  const wrong = (where: string) => (finding: string) => {
    mismatches.push(`${where}: ${finding}`);
    say(`${where}: ${finding}`);
  };
  const reference = await askRun(ground, { name: "whole", kill: () => null, again: () => false });
  judgeAsk(reference, reference).forEach(wrong("uninterrupted"));
  if (reference.requests.length !== REQUESTS) wrong("uninterrupted")(`${reference.requests.length} requests`);
  const counts = { runs: 0, kills: 0, requests: 0, requestsAgain: 0, mostOpen: 0 };
  let begun = 0;
  await Promise.all(
    Array.from({ length: options.jobs }, async () => {
      while (begun < options.runs) {
        const number = begun++;
        const run = await askRun(ground, planFor(seed + number, reference, options.most));
        const findings = judgeAsk(reference, run);
        findings.forEach(wrong(`seed ${seed + number}`));
        if (findings.length > 0) storyOf(run).forEach(say);
        else await forget(ground, run, wrong(`seed ${seed + number}`));
        counts.runs++;
        counts.kills += run.lives.filter(({ interrupted }) => interrupted).length;
        counts.requests += run.requests.length;
        counts.requestsAgain += run.requests.length - REQUESTS;
        counts.mostOpen = Math.max(counts.mostOpen, ...run.families.map(({ open }) => open));
        if (counts.runs % 50 === 0) say(`${counts.runs} runs, ${counts.kills} kills, ${mismatches.length} mismatches`);
      }
    }),
  );
  (await findingsInStore(home, store)).forEach(wrong("store in the end"));
  return { ...counts, operations: operationsOf(reference), mismatches };
}

/** The first process is killed at one operation after the other, seed by seed; those that go on by chance. */
function planFor(seed: number, reference: AskRun, most: number): AskPlan {
  const random = seededRandom(seed);
  const operations = operationsOf(reference);
  const measured = { operations, ms: reference.lives[0]?.ms ?? 0 };
  const { name, kill, again } = planOf(`run-${seed}`, measured, { at: "both", most, random });
  const first = { how: "operation", operation: 1 + (seed % operations), side: "after", waitMs: 0 } as const;
  // Every second round begins by chance too.
  const isOrderly = Math.floor(seed / operations) % 2 === 0;
  return { name, again, kill: (life) => (life === 1 && isOrderly ? first : kill(life)) };
}

const operationsOf = ({ lives }: AskRun) => lives[0]?.operations.length ?? 0;

/** What a run leaves is dropped, the children with it. */
async function forget({ store, server }: AskGround, { name, families }: AskRun, wrong: (finding: string) => void) {
  const sessions = families.at(-1)?.sessions ?? [];
  await store.remove(sessions[0]?.id ?? "");
  for (const { id } of sessions) if (await store.find(id)) wrong(`session ${id} outlives its parent`);
  server.forget(name);
}

function storyOf({ lives, families }: AskRun): string[] {
  return lives.map(({ code, operations, stderr }, index) => {
    const { sessions, replies, open } = families[index] ?? { sessions: [], replies: 0, open: 0 };
    const end = code === null ? `killed at ${operations.length} (${operations.at(-1)})` : `exit ${code}`;
    return `    ${index + 1}. ${end}: ${sessions.length} sessions, ${replies} replies, ${open} open ${stderr.trim().slice(0, 300)}`;
  });
}

/** The report as text. */
export function printedAsks(report: AskCampaignReport): string {
  const { runs, kills, operations, requests, requestsAgain, mostOpen, mismatches } = report;
  return [
    `runs            ${runs} of a tree of depth 2, ${REQUESTS} requests and ${operations} writing operations each`,
    `kills           ${kills}, which left up to ${mostOpen} asks open at once`,
    `requests        ${requests}, sent again ${requestsAgain}`,
    `mismatches      ${mismatches.length}`,
  ].join("\n");
}
