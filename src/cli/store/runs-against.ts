import { RlmError } from "../../index.ts";
import { amount, priced, thousands } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import { inLine } from "../../platform/visible.ts";
import { jobsOf, openReadableJobs } from "../../runs/index.ts";
import type { JobRow, RunRow, Store } from "../../store/index.ts";
import { commandLine } from "../flags/usage.ts";
import { damageError } from "../render/failure.ts";
import { type Column, table } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";

/** A job that ended otherwise in one of two runs. */
interface ComparedJob {
  readonly job: string;
  /** `state`: it ended in another state, or with another error. `result`: it is done in both. */
  readonly is: "state" | "result" | "new" | "gone";
  /** States, with the codes of errors; null: that run does not have the job. */
  readonly before: string | null;
  readonly now: string | null;
  /** The input or the context is another one; null: both are the same, or one run does not have the job. */
  readonly why: "input changed" | "context changed" | null;
}

/**
 * The runs that these names mean; null: they mean sessions. A name that both have is the session's.
 *
 * @param flags name the store in lines to type
 * @throws RlmError `invalid_argument` for a run and a session
 */
export async function runsMeant(
  store: Store,
  name: string | null,
  other: string,
  flags: readonly string[],
): Promise<[RunRow, RunRow] | null> {
  if (name === null) return null;
  const runOf = async (typed: string) =>
    typed.includes("/") || (await store.find(typed)) ? null : store.jobs.run(typed);
  const now = await runOf(name);
  const before = await runOf(other);
  if (now && before) return [now, before];
  const [run, session] = now ? [now, other] : [before, name];
  if (!run || !(session.includes("/") || (await store.find(session)))) return null;
  throw new RlmError("invalid_argument", `${run.name} is a run, and ${session} is a session`, {
    suggestion: `Compare two runs, or two sessions: \`${commandLine(["show", `${run.name}/ID`, ...flags])}\` shows that of a job.`,
  });
}

/** A run against an older one. Counts are of all jobs, and the list has the first of each kind. */
interface Compared {
  readonly against: NamedRun;
  /** The sentence of `belay show --against`. */
  readonly told: string;
  readonly same_work: boolean;
  readonly counts: Readonly<Record<ComparedJob["is"] | "same", number>>;
  readonly cost_usd: number;
  readonly cost_usd_before: number;
  readonly jobs: readonly ComparedJob[];
}

type NamedRun = Pick<RunRow, "id" | "name">;

/** A comparison of runs as the command tells it. */
interface ComparedRuns {
  readonly run: NamedRun;
  readonly compared: Compared;
  /** The error of jobs that cannot be read; null: there are none. */
  readonly damage: RlmError | null;
}

/**
 * Compares two runs by the ids of their jobs.
 * @param listed jobs of each kind at most
 */
export async function compareRuns(
  { jobs }: Store,
  [now, before]: readonly [RunRow, RunRow],
  listed: number,
): Promise<ComparedRuns> {
  const news = openReadableJobs(jobs, now);
  const olds = openReadableJobs(jobs, before);
  const left = new Map<string, JobRow>();
  for await (const job of jobsOf(olds.list)) left.set(job.id, job);
  const counts = { same: 0, state: 0, result: 0, new: 0, gone: 0 };
  const found: ComparedJob[] = [];

  async function add(is: ComparedJob["is"], job: JobRow | null, was: JobRow | null): Promise<void> {
    if (counts[is]++ >= listed) return;
    const why = job && was ? await otherInput(jobs, job, was) : null;
    found.push({ job: (job ?? was)?.id ?? "", is, before: was && stateOf(was), now: job && stateOf(job), why });
  }

  for await (const job of jobsOf(news.list)) {
    const was = left.get(job.id) ?? null;
    left.delete(job.id);
    if (!was) await add("new", job, null);
    else if (stateOf(job) !== stateOf(was)) await add("state", job, was);
    else if (job.state === "done" && (await jobs.result(job)) !== (await jobs.result(was)))
      await add("result", job, was);
    else counts.same++;
  }
  for (const was of left.values()) await add("gone", null, was);
  // The work is the same if script and settings are.
  const compared = {
    against: namesOf(before),
    told: sentenceOf(counts),
    same_work: now.hash === before.hash,
    counts,
    cost_usd: dollarsOf(now),
    cost_usd_before: dollarsOf(before),
    jobs: found,
  };
  const damaged = [...news.damaged(), ...olds.damaged()];
  const cure = `\`${commandLine(["jobs", "rm", damaged[0]?.run ?? now.name])}\` drops the run with all its jobs`;
  const lines = damaged.map(({ run, problem }) => `run ${run}: ${problem}`);
  return { run: namesOf(now), compared, damage: damageError(lines, { cure }) };
}

const namesOf = ({ id, name }: RunRow) => ({ id, name });

const dollarsOf = ({ spent }: RunRow) => spent.nanodollars / 1e9;

function stateOf({ state, told }: JobRow): string {
  const code = isRecord(told) && typeof told.error_code === "string" && state !== "done" ? ` (${told.error_code})` : "";
  return `${state}${code}`;
}

async function otherInput({ input }: Store["jobs"], job: JobRow, was: JobRow): Promise<ComparedJob["why"]> {
  if (JSON.stringify(await input(job)) !== JSON.stringify(await input(was))) return "input changed";
  return job.context === was.context ? null : "context changed";
}

function sentenceOf({ same, state, result, new: fresh, gone }: Record<ComparedJob["is"] | "same", number>): string {
  const all = same + state + result + fresh;
  const told = [
    [state, "in another state"],
    [fresh, "new"],
    [gone, "gone"],
  ] as const;
  const more = told.flatMap(([count, words]) => (count > 0 ? [`${thousands(count)} ${words}`] : []));
  return [`${thousands(result)} of ${amount(all, "job")} with another result`, ...more].join(", ");
}

/** The dollars of both, by their names. */
export function showSpent(
  compared: Pick<Compared, "cost_usd" | "cost_usd_before">,
  [own, other]: readonly [string, string],
  stdout: Output,
): void {
  const [now, before] = [compared.cost_usd, compared.cost_usd_before].map((usd) => priced(usd).join("") || "no price");
  stdout.write(`spent     ${now} in ${own}, ${before} in ${other}\n`);
}

/** @param flags name the store in lines to type */
export function showRuns(
  { run, compared }: Omit<ComparedRuns, "damage">,
  flags: readonly string[],
  stdout: Output,
): void {
  const { told, against, same_work, jobs, counts } = compared;
  stdout.write(`${told}\n`, "bold");
  showSpent(compared, [inLine(run.name), inLine(against.name)], stdout);
  stdout.write(`work      ${same_work ? "the same script and settings" : "another script, or other settings"}\n`);
  if (jobs.length === 0) return;
  const rows = jobs.map(({ job, is, before: was, now: state, why }) => {
    const states = is === "state" ? `${was} → ${state}` : WORDS[is];
    return [`  ${job}`, states, why ?? ""];
  });
  const all = counts.state + counts.result + counts.new + counts.gone;
  showListed("jobs", table(rows, COLUMNS, stdout), all, stdout);
  const [one] = jobs.filter(({ before: was, now: state }) => was !== null && state !== null);
  if (!one) return;
  const line = ["show", `${run.name}/${one.job}`, "--against", `${against.name}/${one.job}`, ...flags];
  stdout.write(`\nthe calls of one of them: ${commandLine(line)}\n`, "dim");
}

/** The first lines of a list under its heading, and how many more there are; nothing of an empty one. */
export function showListed(heading: string, lines: readonly string[], all: number, stdout: Output): void {
  if (lines.length === 0) return;
  stdout.write(`\n${heading}\n`, "dim");
  for (const line of lines) stdout.write(`${line}\n`);
  if (all > lines.length) stdout.write(`  … ${amount(all - lines.length, "more", "more")}\n`, "dim");
}

const WORDS = { result: "another result", new: "new", gone: "gone" } as const;
const COLUMNS: readonly Column[] = ["left", "left", "left"];
