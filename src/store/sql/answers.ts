import type { Json } from "../../../runtime/index.ts";
import type { AnswerSearch, JobKey, KnownAnswer, NewAnswer, ReusedAnswers, RunFiles, RunRow } from "../job-store.ts";
import {
  ANSWER_COLUMNS,
  type AnswerRow,
  answerFields,
  answerIn,
  mendedOf,
  newAnswerRow,
  type ReadAnswer,
  SHOWN_ANSWER,
  takenRow,
} from "../rows/answers.ts";
import { numberColumn, textColumn, textColumnOrNull } from "../rows/row.ts";
import { all, get, list, oneOf, type Part, type Plan, packed, raw, run, type Statement, sql, summed } from "./sql.ts";

/** Runs whose answers are looked at, and answers to one question that are shown. */
const MOST = 100;

/** Answers to one question that are looked through for one that nobody has taken. */
const MOST_EQUAL = 1000;

/** Attempts to take an answer that another job takes at the same time. */
const MOST_TAKES = 10;

const SHOWN = raw(`SELECT ${SHOWN_ANSWER} FROM answers a`);

/** Keeps answers that jobs have asked for. One that is there already stays. */
export function* keepJobAnswers(answers: readonly NewAnswer[]): Plan<void> {
  for (const answer of answers) yield* insert(newAnswerRow(answer));
}

/**
 * False if the job has an answer to this call, or another call of the run has taken the same one.
 */
function* insert(row: AnswerRow): Plan<boolean> {
  const values: Part[] = [...answerFields(row), row.sha256, packed(row.value)];
  const columns = raw([...ANSWER_COLUMNS, "sha256", "value"].join(", "));
  return (yield* run(sql`INSERT INTO answers (${columns}) VALUES (${list(values)}) ON CONFLICT DO NOTHING`)) === 1;
}

/** Finds the answer that a call takes over, and has its job take it. */
export function* reuseAnswer(search: AnswerSearch): Plan<KnownAnswer | null> {
  const own = yield* ownAnswer(search);
  if (own !== null || search.ownOnly) return own && (yield* knownAnswer(own, search.run));
  const sources = yield* sourcesOf(search.run);
  if (sources.length === 0) return null;
  for (let take = 0; take < MOST_TAKES; take++) {
    const found = (yield* ofSameJob(search, sources)) ?? (yield* ofAnyJob(search, sources));
    if (found === null) return null;
    if (yield* insert(takenRow(found, search))) return yield* knownAnswer(found, search.run);
  }
  return null;
}

function* knownAnswer(found: ReadAnswer, own: string): Plan<KnownAnswer> {
  const { value, model, tokens, usd: nanodollars, origin_run } = found;
  const known = { value, model, mended: mendedOf(found), tokens, nanodollars };
  if (origin_run === own) return { ...known, from: null };
  const row = yield* get(sql`SELECT name FROM runs WHERE id = ${origin_run}`);
  return { ...known, from: row ? textColumn(row, "name") : origin_run };
}

function* ownAnswer({ asked, run: of, n, k }: AnswerSearch): Plan<ReadAnswer | null> {
  const row = yield* get(sql`${SHOWN} WHERE a.asked = ${asked} AND a.run = ${of} AND a.n = ${n} AND a.k = ${k}`);
  return row ? answerIn(row) : null;
}

/** Ids of the runs whose answers this one may take, the newest first. */
function* sourcesOf(of: string): Plan<readonly string[]> {
  const row = yield* get(sql`SELECT script_file, table_file, fresh FROM runs WHERE id = ${of}`);
  if (row?.fresh !== 0) return [];
  const files = { script: textColumnOrNull(row, "script_file"), table: textColumnOrNull(row, "table_file") };
  return (yield* runsOfFiles(files, of)).map(({ id }) => id);
}

function isOf({ script, table }: RunFiles, without: string | null): Statement {
  return sql`(script_file = ${script ?? ""} OR table_file = ${table ?? ""}) AND id <> ${without ?? ""}`;
}

/** The answer that the job of the same id got for the same one of its equal calls. */
function* ofSameJob({ asked, run: of, n, k }: AnswerSearch, sources: readonly string[]): Plan<ReadAnswer | null> {
  const job = yield* get(sql`SELECT id FROM jobs WHERE run = ${of} AND n = ${n}`);
  if (!job) return null;
  // The jobs of this id are few; the answers to one question may be many.
  const same = sql`SELECT run, n FROM jobs WHERE id = ${textColumn(job, "id")} AND run ${oneOf(sources)}`;
  const row = yield* get(sql`${SHOWN} WHERE a.asked = ${asked} AND a.k = ${k} AND (a.run, a.n) IN (${same})
    AND ${notTaken(of)} ORDER BY a.run DESC LIMIT 1`);
  return row ? answerIn(row) : null;
}

/** The first answer to the same question that no call of the run has taken. */
function* ofAnyJob({ asked, run: of }: AnswerSearch, sources: readonly string[]): Plan<ReadAnswer | null> {
  const row =
    yield* get(sql`${SHOWN} JOIN (SELECT asked, run, n, k FROM answers WHERE asked = ${asked} AND run ${oneOf(sources)}
      ORDER BY asked, run, n, k LIMIT ${MOST_EQUAL}) f ON f.asked = a.asked AND f.run = a.run AND f.n = a.n AND f.k = a.k
    WHERE ${notTaken(of)} ORDER BY a.run, a.n, a.k LIMIT 1`);
  return row ? answerIn(row) : null;
}

/** True if no call of the run has taken the answer `a`. */
const notTaken = (of: string) => sql`NOT EXISTS (SELECT 1 FROM answers t WHERE t.run = ${of} AND t.asked = a.asked
  AND t.origin_run = a.origin_run AND t.origin_n = a.origin_n AND t.origin_k = a.origin_k)`;

export function* reusedAnswers(of: string): Plan<ReusedAnswers> {
  const rows = yield* all(sql`SELECT a.origin_run, max(r.name) AS name, count(*) AS answers,
      ${summed("a.tokens")} AS tokens, ${summed("a.usd")} AS usd
    FROM answers a LEFT JOIN runs r ON r.id = a.origin_run
    WHERE a.run = ${of} AND a.origin_run <> a.run GROUP BY a.origin_run ORDER BY a.origin_run DESC`);
  const sum = (column: string) => rows.reduce((total, row) => total + numberColumn(row, column), 0);
  return {
    answers: sum("answers"),
    tokens: sum("tokens"),
    nanodollars: sum("usd"),
    from: rows.map((row) => textColumnOrNull(row, "name") ?? textColumn(row, "origin_run")),
  };
}

/**
 * Runs of the same script or table, the newest first. Their specifications may be long, and are not
 * read.
 */
export function* runsOfFiles(files: RunFiles, without: string | null): Plan<Pick<RunRow, "id" | "name">[]> {
  const rows = yield* all(sql`SELECT id, name FROM runs WHERE ${isOf(files, without)} ORDER BY id DESC LIMIT ${MOST}`);
  return rows.map((row) => ({ id: textColumn(row, "id"), name: textColumn(row, "name") }));
}

export function* answersTo(asked: string, runs: readonly string[]): Plan<Json[]> {
  const rows = yield* all(
    sql`${SHOWN} WHERE a.asked = ${asked} AND a.run ${oneOf(runs)} ORDER BY a.run, a.n, a.k LIMIT ${MOST}`,
  );
  return rows.flatMap((row) => {
    const answer = answerIn(row);
    return answer === null ? [] : [answer.value];
  });
}

/** A job that is tried anew gives back what it took. What it asked for itself stays. */
export function* giveBackAnswers(job: JobKey): Plan<void> {
  yield* run(sql`DELETE FROM answers WHERE run = ${job.run} AND n = ${job.n} AND origin_run <> run`);
}

/** Drops the answers of jobs whose sessions are dropped. */
export function* dropAnswersOf(sessions: readonly string[]): Plan<void> {
  const jobs = yield* all(sql`SELECT run, n FROM jobs WHERE session ${oneOf(sessions)}`);
  for (const job of jobs) {
    yield* run(sql`DELETE FROM answers WHERE run = ${textColumn(job, "run")} AND n = ${numberColumn(job, "n")}`);
  }
}
