import type { KillsAt } from "./plan.ts";
import type { CrashRun } from "./run.ts";

/** What a campaign has come to. */
export interface CampaignReport extends Counts {
  readonly programs: number;
  /** A line for each finding. */
  readonly mismatches: readonly string[];
}

export interface Counts {
  runs: number;
  kills: number;
  /** Kills by the operation that had begun last. */
  readonly killedAt: Map<string, number>;
  /** How often an exec was taken over by another process. */
  restores: number;
  /** Recorded results that another process was given again. */
  replayed: number;
  requests: number;
  /** Requests beyond those of the uninterrupted runs: for calls that were in flight at a kill. */
  requestsAgain: number;
}

export function newCounts(): Counts {
  return { runs: 0, kills: 0, killedAt: new Map(), restores: 0, replayed: 0, requests: 0, requestsAgain: 0 };
}

export function countRun(counts: Counts, reference: CrashRun, run: CrashRun): void {
  const killed = run.lives.filter((life) => life.interrupted);
  const journal = run.journals.at(-1);
  counts.runs++;
  counts.kills += killed.length;
  for (const { operations } of killed) {
    const name = operations.at(-1) ?? "nothing written";
    counts.killedAt.set(name, (counts.killedAt.get(name) ?? 0) + 1);
  }
  counts.restores += journal?.restores ?? 0;
  counts.replayed += journal?.ends.reduce((sum, end) => sum + end.replayed_sub_calls, 0) ?? 0;
  counts.requests += run.requests.length;
  counts.requestsAgain += Math.max(0, run.requests.length - reference.requests.length);
}

/** The report as text. */
export function printed(report: CampaignReport): string {
  const { programs, runs, kills, killedAt, restores, replayed, requests, requestsAgain, mismatches } = report;
  const places = [...killedAt].toSorted(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`);
  return [
    `programs        ${programs}`,
    `runs            ${runs}`,
    `kills           ${kills} (last operation: ${places.join(", ")})`,
    `restores        ${restores}, results given again ${replayed}`,
    `requests        ${requests}, sent again ${requestsAgain}`,
    `mismatches      ${mismatches.length}`,
  ].join("\n");
}

/** How a run went, and how to have it again. */
export function storyOf({ program, lives, asked, journals }: CrashRun, seed: number, at: KillsAt): string[] {
  const story = lives.map(({ code, operations, stderr }, index) => {
    const journal = journals[index];
    const state = journal
      ? `${journal.called.size} calls, ${journal.results.size} results, open ${journal.open}`
      : "none";
    const command = asked[index]?.[0];
    const end = code === null ? `killed at ${operations.length} (${operations.at(-1)})` : `exit ${code}`;
    const said = stderr === "" ? "" : `\n      ${stderr.trim().slice(0, 500)}`;
    return `    ${index + 1}. ${command}: ${end}; session: ${state}${said}`;
  });
  return [...story, `    npm run campaign -- crash --seed ${seed} --runs 1 --programs ${program.name} --at ${at}`];
}
