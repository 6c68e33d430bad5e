import { amount, dollars } from "../../figures.ts";
import { isRecord } from "../../json.ts";
import type { JobRow, RunRow } from "../../store/index.ts";
import { runExitCode } from "../batch/exit-code.ts";
import { progressText } from "../batch/progress-line.ts";
import { runJson } from "../batch/standing-json.ts";
import { table } from "../render/table.ts";
import type { Style } from "../render/terminal.ts";
import { jobJson } from "./job-json.ts";
import { type JobsAsked, jobsLine, runNamed, waitText } from "./jobs-asked.ts";
import { stateOf } from "./list-runs.ts";

const SHOWN = 50;
const PAGE = 1000;

/** A run and its jobs. Gives the exit code: that of `belay batch`. */
export async function showRun(asked: JobsAsked, name: string): Promise<number> {
  const { store, terminal, json, own } = asked;
  const run = await runNamed(store, name, asked.place);
  const counts = await store.jobs.counts(run.id);
  if (json) {
    await printRun(asked, run, runJson({ run, counts }));
    return runExitCode(counts);
  }
  const { stdout } = terminal;
  const standing = progressText({ at: 0, counts, run }, { callsPerSecond: null, leftMs: null });
  stdout.write(`${run.name} (${stateOf(run, counts)}): ${standing}\n`);
  const rows = await store.jobs.list(run.id, {
    from: 0,
    limit: SHOWN + 1,
    ...(own.state ? { states: [own.state] } : {}),
  });
  if (rows.length === 0) stdout.write(own.state ? `no job is ${own.state}\n` : "it has no jobs\n");
  else await showJobs(asked, rows.slice(0, SHOWN));
  if (rows.length > SHOWN) {
    const all = own.state ? counts[own.state] : null;
    const more = all === null ? "more jobs follow" : amount(all - SHOWN, "more job");
    stdout.write(`${more}: --json has them all\n`, "dim");
  }
  const one = rows.find(({ state }) => state === "failed") ?? rows[0];
  if (one) stdout.write(`one of them: ${jobsLine(asked, run.name, one.id)}\n`, "dim");
  return runExitCode(counts);
}

async function showJobs({ terminal: { stdout } }: JobsAsked, rows: readonly JobRow[]): Promise<void> {
  const whys = await Promise.all(rows.map(whyOf));
  const cells = rows.map((job, at) => [
    job.id,
    job.state,
    String(job.spent.sub_calls),
    job.spent.nanodollars > 0 ? dollars(job.spent.nanodollars / 1e9) : "-",
    whys[at] ?? "-",
  ]);
  const [header = "", ...lines] = table([["job", "state", "calls", "cost", "why"], ...cells], COLUMNS, stdout);
  stdout.write(`${header}\n`, "dim");
  for (const [at, line] of lines.entries()) stdout.write(`${line}\n`, STYLES[rows[at]?.state ?? ""]);
}

const COLUMNS = ["left", "left", "right", { align: "right", drop: 1 }, "left"] as const;
const STYLES: Readonly<Record<string, Style>> = { failed: "red", running: "green", parked: "yellow" };

/** Why a job failed or waits, on one line. */
async function whyOf(job: JobRow): Promise<string> {
  const error = isRecord(job.told) && typeof job.told.error === "string" ? job.told.error : null;
  return (error ?? (await waitText(job)) ?? "-").replaceAll(/\s+/g, " ").slice(0, WHY_UNITS);
}

const WHY_UNITS = 200;

/** One JSON object, whose jobs are written a page at a time: a run may have a million. */
async function printRun({ store, terminal, own }: JobsAsked, { id }: RunRow, run: object): Promise<void> {
  const { stdout } = terminal;
  stdout.writeRaw(`${JSON.stringify({ success: true, run }).slice(0, -1)},"jobs":[`);
  const states = own.state ? { states: [own.state] } : {};
  let from = 0;
  for (;;) {
    const page = await store.jobs.list(id, { from, limit: PAGE, ...states });
    const separated = page.map((job, at) => `${from === 0 && at === 0 ? "" : ","}${JSON.stringify(jobJson(job))}`);
    stdout.writeRaw(separated.join(""));
    const last = page.at(-1);
    if (!last || page.length < PAGE) break;
    from = last.n + 1;
  }
  stdout.writeRaw("]}\n");
}
