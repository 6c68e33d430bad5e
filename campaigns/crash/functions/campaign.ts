import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { functionOf } from "../../../src/session/journal/ledger.ts";
import { type JournalRecord, readJournal } from "../../../src/session/journal/records.ts";
import { openStore, type Store } from "../../../src/store/index.ts";
import { LENDING_PROGRAM } from "../../../tests/support/command.ts";
import { type Kill, type Life, live } from "../../../tests/support/crash/life.ts";
import { findingsInStore } from "../../../tests/support/crash/store-check.ts";
import { seededRandom } from "../../../tests/support/seeded-random.ts";
import { planOf } from "../plan.ts";
import { judgeFunctions } from "./judge.ts";

export interface FunctionCampaignOptions {
  /** An empty folder for the store and the logs. */
  readonly folder: string;
  /** The seed of the first run; each further run has the next number. */
  readonly seed: number;
  /** Ends with the run that reaches so many kills. */
  readonly kills: number;
  /** Kills of one run at the most. */
  readonly most: number;
  /** Runs at once. */
  readonly jobs: number;
  /** Arguments of node that start the program which lends; default: those of the tests. */
  readonly command?: readonly string[];
  readonly say: (line: string) => void;
}

/** A run of a function, as its log has it. */
export interface LoggedRun {
  readonly what: "began" | "ended";
  readonly name: string;
  readonly n: number;
  readonly key: string;
  readonly pid: number;
}

/** A cell's way through processes that are killed, up to one that is not. */
export interface FunctionRun {
  readonly lives: readonly Life[];
  /** The journal as each process left it. */
  readonly journals: readonly (readonly JournalRecord[])[];
  /** The log as each process left it. */
  readonly logs: readonly (readonly LoggedRun[])[];
}

export interface FunctionCampaignReport {
  runs: number;
  kills: number;
  /** Runs of functions, and those beyond the first of a call. */
  ran: number;
  ranAgain: number;
  /** Calls with the effects "once" that a kill interrupted. */
  restarted: number;
  /** Such calls that were run more than once: each is a mismatch too. */
  twice: number;
  readonly mismatches: readonly string[];
}

/** Kills programs that lend functions of each kind, and compares each with one that is not killed. */
export async function functionCampaign(options: FunctionCampaignOptions): Promise<FunctionCampaignReport> {
  const { folder, command = LENDING_PROGRAM, say } = options;
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  await using store = await openStore(home);
  const mismatches: string[] = [];
  const wrong = (where: string) => (finding: string) => {
    mismatches.push(`${where}: ${finding}`);
    say(`${where}: ${finding}`);
  };
  const reference = await functionRun(store, folder, command, "whole", () => null);
  judgeFunctions(reference, reference).forEach(wrong("uninterrupted"));
  const [whole] = reference.lives;
  const measured = { operations: whole?.operations.length ?? 0, ms: whole?.ms ?? 0 };
  const report = { runs: 0, kills: 0, ran: 0, ranAgain: 0, restarted: 0, twice: 0 };
  let begun = 0;
  await Promise.all(
    Array.from({ length: options.jobs }, async () => {
      while (report.kills < options.kills) {
        const seed = options.seed + begun++;
        const { name, kill } = planOf(`run-${seed}`, measured, {
          at: "both",
          most: options.most,
          random: seededRandom(seed),
        });
        const run = await functionRun(store, folder, command, name, kill);
        judgeFunctions(reference, run).forEach(wrong(`seed ${seed}`));
        const began = (run.logs.at(-1) ?? []).filter(({ what }) => what === "began");
        report.runs++;
        report.kills += run.lives.length - 1;
        report.ran += began.length;
        report.ranAgain += began.length - new Set(began.map(({ key }) => key)).size;
        report.restarted += restartedIn(run);
        const sent = Map.groupBy(
          began.filter(({ name: one }) => one === "send"),
          ({ key }) => key,
        );
        report.twice += [...sent.values()].filter(({ length }) => length > 1).length;
        if (report.runs % 25 === 0) say(`${report.runs} runs, ${report.kills} kills, ${mismatches.length} mismatches`);
      }
    }),
  );
  (await findingsInStore(home, store)).forEach(wrong("store in the end"));
  return { ...report, mismatches };
}

const restartedIn = ({ journals }: FunctionRun) =>
  (journals.at(-1) ?? []).filter(
    (record) => record.record === "rlm_tool_result" && functionOf(record.name) === "send" && !record.success,
  ).length;

/** Processes of one run: a session that does not come to its end within these never will. */
const MOST_LIVES = 30;

async function functionRun(
  store: Store,
  folder: string,
  command: readonly string[],
  name: string,
  kill: (life: number) => Kill | null,
): Promise<FunctionRun> {
  const log = join(folder, `${name}.log`);
  const lives: Life[] = [];
  const journals: JournalRecord[][] = [];
  const logs: LoggedRun[][] = [];
  for (;;) {
    const count = lives.length + 1;
    const life = await live([name, log], {
      ...{ cwd: folder, home: join(folder, "home"), key: "", command },
      kill: count < MOST_LIVES ? kill(count) : null,
    });
    lives.push(life);
    const row = await store.find(name);
    journals.push(row ? await readJournal(store, row.id) : []);
    const lines = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
    logs.push(lines.map((line): LoggedRun => JSON.parse(line)));
    if (!life.interrupted || life.hung) return { lives, journals, logs };
  }
}

/** The report as text. */
export function printedFunctions({
  runs,
  kills,
  ran,
  ranAgain,
  restarted,
  twice,
  mismatches,
}: FunctionCampaignReport): string {
  return [
    `runs            ${runs} of a cell with 15 calls of functions`,
    `kills           ${kills}`,
    `functions run   ${ran}, run again ${ranAgain}`,
    `once            ${restarted} calls rejected with process_restarted, ${twice} run twice`,
    `mismatches      ${mismatches.length}`,
  ].join("\n");
}
