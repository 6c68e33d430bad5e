import { readRecord } from "../../../src/session/index.ts";
import type { Amount, JobRow, RunRow, Store } from "../../../src/store/index.ts";
import type { BatchServer } from "../../../tests/support/batch-server/index.ts";
import { kindOf, ROWS } from "./script.ts";

/** A run, its jobs and what their journals have. */
export interface Looked {
  readonly run: RunRow;
  readonly jobs: readonly JobRow[];
  /** Sum over the journals. */
  readonly spent: Amount;
  /** Answers that came by batches. */
  readonly delivered: number;
  /** Live calls that a try may have sent and that have no answer yet. */
  readonly inFlight: number;
}

export async function look(store: Store, name: string): Promise<Looked | null> {
  const run = await store.jobs.run(name);
  if (!run) return null;
  const jobs = await store.jobs.list(run.id, { from: 0, limit: 1000 });
  const spent = { nanodollars: 0, tokens: 0, sub_calls: 0 };
  let [delivered, inFlight] = [0, 0];
  for (const { id, session, state } of jobs) {
    const answers = await answersIn(store, session);
    for (const { usage } of answers) {
      spent.nanodollars += Math.round(usage.cost_usd * 1e9);
      spent.tokens += usage.input + usage.output;
    }
    spent.sub_calls += answers.length;
    const byBatch = answers.filter(({ delivery }) => delivery?.by === "batch").length;
    delivered += byBatch;
    if (state === "running" && kindOf(id) === "mixed" && byBatch === answers.length) inFlight += 1;
  }
  return { run, jobs, spent, delivered, inFlight };
}

async function answersIn(store: Store, session: string) {
  const rows = (await store.find(session)) ? await store.journal(session) : [];
  return rows.map(({ record }) => readRecord(record)).filter((one) => one.record === "rlm_tool_result");
}

export interface Evidence {
  readonly ids: readonly string[];
  readonly server: Pick<BatchServer, "ran" | "batches" | "steps">;
  /** The provider's names of the batches that the store knows. */
  readonly known: ReadonlySet<string>;
  readonly end: Looked;
  /** Live calls that may have been in flight at kills. */
  readonly inFlight: number;
  /** The file of results, and that of a run that nobody disturbed. */
  readonly results: string;
  readonly undisturbed: string;
}

export interface Judged {
  readonly mismatches: readonly string[];
  /** Rows of batches that were run with success, and those that were so more than once. */
  readonly rows: number;
  readonly twice: number;
  /** Live calls beyond one for each. */
  readonly again: number;
}

/** Compares what outsiders see of a run whose processes were killed with what must be so. */
export function judge({ ids, server, known, end, inFlight, results, undisturbed }: Evidence): Judged {
  const { run, jobs, spent } = end;
  const paid = server.ran.filter(({ status }) => status === 200);
  const rows = paid.filter(({ batch }) => batch !== null);
  const twice = rows.length - new Set(rows.map(({ body }) => JSON.stringify(body))).size;
  const rowsDue = ids.reduce((sum, id) => sum + ROWS[kindOf(id)], 0);
  const live = ids.filter((id) => kindOf(id) === "mixed").length;
  const again = paid.length - rows.length - live;
  const schemas = ids.filter((id) => kindOf(id) === "schema").length;
  const inVain = server.batches.filter(({ id, state, results: done }) => {
    return !known.has(id) || state === "open" || done.every(({ status }) => status === null);
  });
  const cancels = server.steps.filter(({ kind }) => kind === "cancel").length;
  const unfinished = jobs.filter(({ state }) => state !== "done");
  const sum = (name: keyof Amount) => jobs.reduce((total, job) => total + job.spent[name], 0);
  const amounts = (["nanodollars", "tokens", "sub_calls"] as const).flatMap((name): Fact[] => [
    [run.spent[name] === spent[name], `the run spent ${run.spent[name]} ${name}, its journals ${spent[name]}`],
    [run.spent[name] === sum(name), `the run spent ${run.spent[name]} ${name}, its jobs ${sum(name)}`],
    [run.held[name] === 0, `${run.held[name]} ${name} are held at the end`],
  ]);
  const doubtful = run.doubtful.sub_calls;
  const facts: readonly Fact[] = [
    [
      shown(results) === shown(undisturbed),
      `the results are not those of an undisturbed run: ${difference(results, undisturbed)}`,
    ],
    [
      unfinished.length === 0,
      `not all jobs are done: ${unfinished.map(({ id, state, told }) => `${id} ${state} ${JSON.stringify(told)}`).join("; ")}`,
    ],
    [twice === 0, `${twice} rows were paid twice`],
    [rows.length === rowsDue, `${rows.length} rows ran instead of ${rowsDue}`],
    [end.delivered === rowsDue - schemas, `${end.delivered} answers came by batches instead of ${rowsDue - schemas}`],
    [inVain.length === 0, `batches made in vain: ${inVain.map(({ id, state }) => `${id} ${state}`).join(", ")}`],
    [cancels === 0, `${cancels} batches were to be cancelled`],
    [again >= 0 && again <= inFlight, `${again} live calls ran again, and ${inFlight} were in flight at kills`],
    [doubtful <= inFlight, `${doubtful} calls are in doubt, and ${inFlight} live ones were in flight at kills`],
    [doubtful > 0 || run.doubtful.nanodollars + run.doubtful.tokens === 0, `in doubt: ${JSON.stringify(run.doubtful)}`],
    ...amounts,
  ];
  const mismatches = facts.filter(([holds]) => !holds).map(([, problem]) => problem);
  return { mismatches, rows: rows.length, twice, again };
}

type Fact = readonly [holds: boolean, problem: string];

/** The first line that only one of two results has, and the line of the other in its place. */
function difference(results: string, undisturbed: string): string {
  const [ours, theirs] = [shown(results).split("\n"), shown(undisturbed).split("\n")];
  const at = ours.findIndex((line, at) => line !== theirs[at]);
  return `${ours[at] ?? "no line"} instead of ${theirs[at] ?? "no line"}`;
}

/** The lines without what a disturbed run has of its own. */
function shown(text: string): string {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const { ms, attempts, resumed, session, ...rest } = JSON.parse(line);
      return JSON.stringify(rest);
    })
    .join("\n");
}
