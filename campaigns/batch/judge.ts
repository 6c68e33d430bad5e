import { readRecord } from "../../src/session/index.ts";
import type { Amount, JobRow, RunRow, Store } from "../../src/store/index.ts";
import { promptsOf, STEPS } from "./script.ts";

/** A request as the model server saw it. */
export interface Asked {
  readonly prompt: string;
  /** The process that asked. */
  readonly by: string;
}

/** A process was killed or stopped, or the database was restarted: what was on record after that. */
export interface Cut {
  /** null: all processes. */
  readonly by: string | null;
  /** Requests that the model server had seen before it, and when the records were read. */
  readonly before: number;
  readonly after: number;
  /** Prompts whose answers were on record. */
  readonly recorded: ReadonlySet<string>;
}

/** All jobs of the run, and what their journals have. */
export interface Looked {
  readonly run: RunRow;
  readonly jobs: readonly JobRow[];
  readonly recorded: ReadonlySet<string>;
  /** Sum over the journals. */
  readonly spent: Pick<Amount, "tokens" | "sub_calls">;
}

/** By session: what its journal has. Those of jobs that are over are read once; one whose job was given up stays here. */
export type Journals = Map<string, InJournal>;

interface InJournal {
  /** Id of the job. */
  readonly job: string;
  readonly answers: number;
  /** Answers that were not there before the job was tried again. */
  readonly calls: number;
  readonly tokens: number;
}

export async function look(store: Store, name: string, known: Journals = new Map()): Promise<Looked | null> {
  const run = await store.jobs.run(name);
  if (!run) return null;
  const jobs: JobRow[] = [];
  const recorded = new Set<string>();
  const spent = { tokens: 0, sub_calls: 0 };
  for (let from = 0; ; from += PAGE) {
    const page = await store.jobs.list(run.id, { from, limit: PAGE });
    jobs.push(...page);
    if (page.length < PAGE) break;
  }
  const journals = new Map(known);
  for (const { id, session, state, begun_at } of jobs) {
    if (begun_at === null || journals.has(session)) continue;
    const journal = await inJournal(store, id, session);
    journals.set(session, journal);
    if (state === "done" || state === "failed") known.set(session, journal);
  }
  for (const { job, answers, calls, tokens } of journals.values()) {
    for (const prompt of promptsOf(job).slice(0, answers)) recorded.add(prompt);
    spent.tokens += tokens;
    spent.sub_calls += calls;
  }
  return { run, jobs, recorded, spent };
}

async function inJournal(store: Store, job: string, session: string): Promise<InJournal> {
  const rows = (await store.find(session)) ? await store.journal(session) : [];
  const answers = rows.map(({ record }) => readRecord(record)).filter((one) => one.record === "rlm_tool_result");
  const tokens = answers.reduce((sum, { usage }) => sum + usage.input + usage.output, 0);
  return { job, answers: answers.length, calls: answers.filter(({ cached }) => !cached).length, tokens };
}

const PAGE = 1000;

export interface Judged {
  readonly mismatches: readonly string[];
  /** Requests beyond one for each answer. */
  readonly again: number;
  /** Calls that were in flight when their process was killed. */
  readonly inFlight: number;
}

export interface Evidence {
  readonly ids: readonly string[];
  readonly asked: readonly Asked[];
  readonly cuts: readonly Cut[];
  readonly end: Looked;
  /** The file of results, and that of a run that nobody disturbed, as they stand. */
  readonly results: string;
  readonly undisturbed: string;
  /** Jobs that were given up and tried again: what they had asked before they did not ask again. */
  readonly retried?: ReadonlySet<string>;
}

/** A job that is not done, with what its row says of it. */
function unfinished({ id, state, why, lapses, told }: JobRow): string[] {
  return state === "done" ? [] : [`${id} ${state}, why ${why}, ${lapses} lapses, ${JSON.stringify(told)}`];
}

/** Compares what outsiders see of a run whose processes were killed with what must be so. */
export function judge({ ids, asked, cuts, end, results, undisturbed, retried = new Set() }: Evidence): Judged {
  const answers = ids.length * STEPS;
  const inFlight = cuts.reduce((sum, cut) => sum + cutCalls(asked, cut).size, 0);
  const again = asked.length - answers;
  const { run, jobs, spent } = end;
  const sum = (name: keyof Amount) => jobs.reduce((total, job) => total + job.spent[name], 0);
  const facts: readonly (readonly [boolean, string])[] = [
    [shown(results, retried) === shown(undisturbed, retried), "the results are not those of an undisturbed run"],
    [linesOf(results).length === ids.length, `the file of results has ${linesOf(results).length} lines`],
    [jobs.every(({ state }) => state === "done"), `not all jobs are done: ${jobs.flatMap(unfinished).join("; ")}`],
    [again <= inFlight, `${again} requests were sent again, and ${inFlight} calls were in flight at kills`],
    [end.recorded.size === answers, `${end.recorded.size} answers are on record instead of ${answers}`],
    [
      run.spent.sub_calls === spent.sub_calls,
      `the run spent ${run.spent.sub_calls} calls, its journals ${spent.sub_calls}`,
    ],
    [run.spent.tokens === spent.tokens, `the run spent ${run.spent.tokens} tokens, its journals ${spent.tokens}`],
    [
      run.spent.sub_calls === sum("sub_calls"),
      `the run spent ${run.spent.sub_calls} calls, its jobs ${sum("sub_calls")}`,
    ],
    [run.spent.tokens === sum("tokens"), `the run spent ${run.spent.tokens} tokens, its jobs ${sum("tokens")}`],
  ];
  const wrong = facts.filter(([holds]) => !holds).map(([, problem]) => problem);
  return { mismatches: [...wrong, ...askedAgain(asked, cuts)], again, inFlight };
}

/** Calls that these processes had sent, and whose answers were not on record. */
function cutCalls(asked: readonly Asked[], { by, after, recorded }: Cut): ReadonlySet<string> {
  const last = new Map(asked.slice(0, after).map((one) => [one.prompt, one.by]));
  const isCut = ([prompt, asker]: readonly [string, string]) => !recorded.has(prompt) && (by === null || by === asker);
  return new Set([...last].filter(isCut).map(([prompt]) => prompt));
}

/** A call whose answer was on record was requested, or one whose process nothing had happened to. */
function askedAgain(asked: readonly Asked[], cuts: readonly Cut[]): readonly string[] {
  const problems: string[] = [];
  const last = new Map<string, number>();
  for (const [index, { prompt }] of asked.entries()) {
    const before = last.get(prompt);
    last.set(prompt, index);
    if (cuts.some((cut) => cut.after <= index && cut.recorded.has(prompt)))
      problems.push(`request ${index} asks for an answer on record: ${prompt}`);
    if (before === undefined) continue;
    const isCut = ({ by, before: from, after }: Cut) =>
      before < after && from <= index && (by === null || by === asked[before]?.by);
    if (!cuts.some(isCut)) problems.push(`request ${index} repeats ${before} with no kill between: ${prompt}`);
  }
  return problems;
}

const linesOf = (text: string): readonly string[] => text.split("\n").filter(Boolean);

/** What each line says of its job, without the time that it took. */
function shown(text: string, retried: ReadonlySet<string>): string {
  return JSON.stringify(
    linesOf(text).map((line) => {
      const { job, n, status, result, sub_calls, tokens } = JSON.parse(line);
      return [job, n, status, result, ...(retried.has(job) ? [] : [sub_calls, tokens])];
    }),
  );
}
