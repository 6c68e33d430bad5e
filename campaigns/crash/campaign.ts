import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../src/store/open.ts";
import { findingsInStore } from "../../tests/support/crash/store-check.ts";
import { openPool } from "../../tests/support/pool.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import { difference, lastingLine } from "./compare.ts";
import { judge } from "./judge.ts";
import { type KillsAt, planOf } from "./plan.ts";
import { type CrashProgram, writeContexts } from "./programs.ts";
import { type CampaignReport, type Counts, countRun, newCounts, storyOf } from "./report.ts";
import { type CrashRun, crashRun, type Ground } from "./run.ts";
import { startCrashServer } from "./server.ts";

export interface CampaignOptions {
  /** An empty folder: the store and the contexts go there. */
  readonly folder: string;
  readonly programs: readonly CrashProgram[];
  /** The seed of the first run; each further run has the next number. */
  readonly seed: number;
  /** Ends after so many runs, or with the run that reaches so many kills. */
  readonly until: { readonly runs: number } | { readonly kills: number };
  readonly at: KillsAt;
  /** Kills of one run at the most. */
  readonly most: number;
  /** Runs at once. */
  readonly jobs: number;
  /** Also compares with a session that is not kept. */
  readonly apart: boolean;
  /** Told of every finding, and now and then of how far it is. */
  readonly say: (line: string) => void;
}

/** Kills the processes of many runs and compares each run with the uninterrupted one of its program. */
export async function crashCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const { folder, say, jobs, programs } = options;
  const delays = seededRandom(options.seed);
  await using server = await startCrashServer(() => Math.floor(delays() * 31));
  const [cwd, home] = [join(folder, "contexts"), join(folder, "home")];
  mkdirSync(home, { recursive: true });
  writeContexts(cwd);
  await using store = await openStore(home);
  const ground: Ground = { server, cwd, home, store };
  const mismatches: string[] = [];
  const wrong = (where: string) => (finding: string) => {
    mismatches.push(`${where}: ${finding}`);
    say(`${where}: ${finding}`);
  };
  const references = await referencesOf(ground, options, wrong);
  const counts = newCounts();
  let begun = 0;
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      while (!isOver(options.until, begun, counts)) {
        const seed = options.seed + begun++;
        const { reference, run } = await seededRun(ground, seed, options, references);
        countRun(counts, reference, run);
        const findings = judge(reference, run);
        findings.forEach(wrong(`${run.program.name}, seed ${seed}`));
        if (findings.length > 0) storyOf(run, seed, options.at).forEach(say);
        else await forget(ground, run.name);
        if (counts.runs % 100 !== 0) continue;
        (await findingsInStore(home, store)).forEach(wrong(`store after ${counts.runs} runs`));
        say(`${counts.runs} runs, ${counts.kills} kills, ${mismatches.length} mismatches`);
      }
    }),
  );
  (await findingsInStore(home, store)).forEach(wrong("store in the end"));
  return { programs: programs.length, ...counts, mismatches };
}

function isOver(until: CampaignOptions["until"], begun: number, { kills }: Counts): boolean {
  return "runs" in until ? begun >= until.runs : kills >= until.kills;
}

type Wrong = (where: string) => (finding: string) => void;

/** Every program once without a kill; one that is wrong by itself is reported. */
async function referencesOf(ground: Ground, { programs, jobs, apart }: CampaignOptions, wrong: Wrong) {
  const pool = openPool(Array.from({ length: jobs }, (_, job) => job));
  const runs = programs.map((program) =>
    pool.use(async () => {
      const plan = { name: `whole-${program.name}`, kept: true, kill: () => null, again: () => false, probed: true };
      const run = await crashRun(ground, program, plan);
      const where = `${program.name}, uninterrupted`;
      [...judge(run, run), ...unexpectedEnd(run)].forEach(wrong(where));
      if (apart) {
        const other = await crashRun(ground, program, { ...plan, name: `apart-${program.name}`, kept: false });
        const [kept, notKept] = [run, other].map(({ lives }) => (lives[0]?.stdout ?? "").split("\n").map(lastingLine));
        const [expected, actual] = [String(kept), String(notKept)];
        if (expected !== actual) wrong(where)(`without a store ${difference(expected, actual)}`);
      }
      return [program.name, run] as const;
    }),
  );
  return new Map(await Promise.all(runs));
}

/** A program that fails in the same way in every run would show nothing. */
function unexpectedEnd({ program, lives }: CrashRun): string[] {
  const lines = lives[0]?.stdout.trim().split("\n") ?? [];
  const code: unknown = JSON.parse(lines.at(-1) ?? "{}").error_code ?? null;
  if (lines.length === program.parts && code === program.fails) return [];
  return [`${lines.length} of ${program.parts} parts, the last with ${code}`];
}

/** The run that belongs to a seed. */
async function seededRun(
  ground: Ground,
  seed: number,
  { programs, at, most }: CampaignOptions,
  references: ReadonlyMap<string, CrashRun>,
): Promise<{ reference: CrashRun; run: CrashRun }> {
  const random = seededRandom(seed);
  const program = programs[seed % programs.length];
  const reference = references.get(program?.name ?? "");
  const [whole] = reference?.lives ?? [];
  if (!program || !reference || !whole) throw new Error("there is no program");
  const measured = { operations: whole.operations.length, ms: whole.ms };
  const run = await crashRun(ground, program, planOf(`run-${seed}`, measured, { at, most, random }));
  return { reference, run };
}

/** What a run leaves is dropped, so that a long campaign does not fill the disk. */
async function forget({ store, server }: Ground, name: string): Promise<void> {
  const row = await store.find(name);
  if (row) await store.remove(row.id);
  server.forget(name);
}
