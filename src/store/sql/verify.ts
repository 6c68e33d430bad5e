import { displayName } from "../../platform/ids.ts";
import type { VerifiedPage, VerifyPart } from "../port.ts";
import { answerIn, SHOWN_ANSWER } from "../rows/answers.ts";
import { answerOf as answerOfRequest, decodeBatch, requestOf } from "../rows/batch.ts";
import { decodeCheckpoint } from "../rows/checkpoint.ts";
import { decodeRun, inputOf, resultOf } from "../rows/jobs.ts";
import { PLACES } from "../rows/pages.ts";
import { damagedAmong, numberColumn, type Row, textColumn } from "../rows/row.ts";
import { decodeSession, isRunning, SHOWN_SESSION } from "../rows/session.ts";
import { hasOpenRequests } from "./batch-requests.ts";
import { answerOf } from "./cache.ts";
import { CHECKPOINT, pagesAreWhole } from "./checkpoints.ts";
import { areTooLarge, missedUses, readHead, readPart, SHOWN_CONTEXT, unnotedUses } from "./contexts.ts";
import type { Dialect } from "./dialect.ts";
import { readableRecords } from "./journal.ts";
import { reachedBy } from "./reach.ts";
import { BUSY, holderIn } from "./sessions.ts";
import { all, get, list, oneOf, type Plan, raw, type Statement, spelled, sql, summed } from "./sql.ts";
import { areTexts, damageOf, strayFiles, wrongTexts } from "./texts.ts";

type Verifying = Pick<Dialect, "busy" | "file" | "messageOf" | "texts">;
type Findings = Plan<readonly string[]>;

/** A part whose rows are checked page by page. */
interface Part {
  /** Rows that are checked at once; absent: {@link PAGE}. */
  readonly page?: number;
  /** Keys behind one, in their order. */
  keys(after: string | null, limit: number): Statement;
  check(key: string, own: Verifying): Findings;
}

const PAGE = 50;

const byText = (table: string, key: string) => (after: string | null, limit: number) =>
  sql`SELECT ${raw(key)} AS key FROM ${raw(table)} WHERE ${raw(key)} > ${after ?? ""}
    ORDER BY ${raw(`${table}.${key}`)} LIMIT ${limit}`;

const PAGED: Readonly<Partial<Record<VerifyPart, Part>>> = {
  sessions: { keys: byText("sessions", "id"), check: session },
  contexts: { keys: byText("contexts", "hash"), check: context },
  // All of a file is read, which may take seconds.
  texts: { keys: byText("texts", "name"), check: text, page: 1 },
  answers: { keys: byText("cache", "key"), check: answer },
  runs: { keys: byText("runs", "id"), check: run },
  checkpoints: {
    keys: (after, limit) => sql`SELECT CAST(n AS text) AS key FROM checkpoints
      WHERE n > ${Number(after ?? -1)} ORDER BY n LIMIT ${limit}`,
    check: checkpoint,
  },
  "run answers": {
    keys(after, limit) {
      const { asked, run, n, k } = answerKeyIn(after ?? "-1 -1  ");
      return sql`SELECT n || ' ' || k || ' ' || run || ' ' || asked AS key FROM answers
        WHERE (asked, run, n, k) > (${asked}, ${run}, ${n}, ${k}) ORDER BY asked, run, n, k LIMIT ${limit}`;
    },
    check: runAnswer,
  },
  "provider batches": { keys: byText("provider_batches", "id"), check: checkBatch },
  "batch requests": {
    keys(after, limit) {
      const [k, session, call] = requestKey(after ?? "-1  ");
      return sql`SELECT k || ' ' || session || ' ' || call AS key FROM batch_requests
        WHERE (session, call, k) > (${session}, ${call}, ${k}) ORDER BY session, call, k LIMIT ${limit}`;
    },
    check: checkRequest,
  },
  jobs: {
    keys(after, limit) {
      const [run, n] = jobOf(after ?? "-1 ");
      return sql`SELECT n || ' ' || run AS key FROM jobs WHERE (run, n) > (${run}, ${n}) ORDER BY run, n LIMIT ${limit}`;
    },
    check: job,
  },
};

/**
 * Checks a page of a part. If the database itself is damaged, each part may be unreadable in its
 * own way: it ends with that line.
 */
export function* verifyPage(part: VerifyPart, after: string | null, own: Verifying): Plan<VerifiedPage> {
  const findings: string[] = [];
  try {
    return { next: yield* verify(part, after, own, findings), findings };
  } catch (error) {
    return { next: null, findings: [...findings, own.messageOf(error)] };
  }
}

/**
 * Checks a page of a part. Returns the key from which the next one continues; null: there is none.
 * @param findings gets the findings, also those before an error that ends the page
 */
export function* verify(
  part: VerifyPart,
  after: string | null,
  own: Verifying,
  findings: string[],
): Plan<string | null> {
  const paged = PAGED[part];
  if (!paged) {
    findings.push(...(yield* ofWhole(part, own)));
    return null;
  }
  if (part === "texts" && own.texts === null) return null;
  const { page = PAGE } = paged;
  const keys = (yield* all(paged.keys(after, page))).map((row) => textColumn(row, "key"));
  // A row may be gone by the time that it is read: that is no finding.
  for (const key of keys) findings.push(...(yield* paged.check(key, own)));
  return keys.length < page ? null : (keys.at(-1) ?? null);
}

/** Findings of a part that has no pages. */
function* ofWhole(part: VerifyPart, own: Verifying): Findings {
  if (part === "file") return own.file ? yield* own.file() : [];
  if (part === "sums") return yield* wrongSums();
  return [...(yield* strays()), ...(own.texts === null ? [] : yield* strayFiles(own.texts))];
}

function* session(id: string, own: Verifying): Findings {
  const findings: string[] = [];
  try {
    const row = yield* get(sql`SELECT ${raw(SHOWN_SESSION)}, ${BUSY} AS busy FROM sessions s WHERE id = ${id}`);
    if (!row) return [];
    const whole = decodeSession(row);
    const name = `session ${displayName(whole)}`;
    const { rows, damaged } = yield* readableRecords(whole, 1);
    findings.push(...damaged.map((line) => `${name}: ${line}`));
    const missed = yield* unnotedUses(id, rows);
    if (missed.length > 0) findings.push(`${name}: ${missedUses(missed)}`);
    const reached = yield* reachedBy(whole);
    if (whole.head !== null && !reached.some((one) => one.id === whole.head)) {
      findings.push(`${name}: its head ${whole.head} is missing`);
    }
    const holder = holderIn(row);
    if (holder && isRunning(JSON.parse(whole.facts)) && !own.busy(row)) {
      const open = yield* get(sql`SELECT 1 AS open WHERE ${hasOpenRequests(sql`${id}`)}`);
      const gone = `is interrupted, its holder pid ${holder.pid} on ${holder.host} is gone`;
      findings.push(`info: ${name} ${open ? "waits for a provider" : gone}`);
    }
  } catch (error) {
    findings.push(`session ${id}: ${own.messageOf(error)}`);
  }
  return findings;
}

function* checkpoint(n: string): Findings {
  const found = yield* get(sql`SELECT ${CHECKPOINT} FROM checkpoints c WHERE n = ${Number(n)}`);
  if (!found) return [];
  const checkpoint = decodeCheckpoint(found);
  if (!checkpoint) return [`checkpoint ${String(found.id)} is damaged`];
  const { id, base } = checkpoint;
  const below = yield* get(sql`SELECT n FROM checkpoints WHERE id = ${base} AND n < ${checkpoint.n}`);
  const isCut = base !== null && !below;
  return [
    ...(isCut ? [`checkpoint ${id}: its base ${base} is missing, or newer`] : []),
    ...((yield* pagesAreWhole(checkpoint)) ? [] : [`checkpoint ${id}: its pages are missing or damaged`]),
  ];
}

function* context(hash: string): Findings {
  const row = yield* get(sql`SELECT ${SHOWN_CONTEXT} FROM contexts WHERE hash = ${hash}`);
  if (!row) return [];
  const head = readHead(row);
  if (head && areTexts(head.parts)) {
    const wrong = wrongTexts(head.parts, head.index);
    return wrong === null ? yield* unknownTexts(hash, head.parts) : [`context ${hash}: ${wrong}`];
  }
  const findings = head ? [] : [`context ${hash}: its index is damaged`];
  if (head && (yield* areTooLarge(head.parts))) return [`context ${hash}: its parts are larger than a context can be`];
  for (const part of head?.parts ?? []) {
    if (!(yield* readPart(part))) findings.push(`context ${hash}: its part ${part} is missing or damaged`);
  }
  return findings;
}

/** Findings about texts of a context that have no row. The files of those that have one are checked by it. */
function* unknownTexts(hash: string, names: readonly string[]): Findings {
  const known = new Set((yield* all(sql`SELECT name FROM texts WHERE name ${oneOf(names)}`)).map(({ name }) => name));
  return names.filter((name) => !known.has(name)).map((name) => `context ${hash}: its text ${name} has no row`);
}

function* text(name: string, { texts }: Verifying): Findings {
  const found = texts === null ? null : yield* damageOf(name, texts);
  return found === null ? [] : [`text: ${found}`];
}

function* answer(key: string): Findings {
  const row = yield* get(sql`SELECT * FROM cache WHERE key = ${key}`);
  return !row || answerOf(row) !== undefined ? [] : [`cache: the answer ${key} is damaged`];
}

function* runAnswer(key: string): Findings {
  const { asked, run, n, k } = answerKeyIn(key);
  const row = yield* get(sql`SELECT ${raw(SHOWN_ANSWER)} FROM answers a
    WHERE a.asked = ${asked} AND a.run = ${run} AND a.n = ${n} AND a.k = ${k}`);
  return !row || answerIn(row) !== null ? [] : [`an answer of job ${n} of run ${run} is damaged`];
}

/** The parts of a key: the run has no space in its id, and what is asked comes last. */
function answerKeyIn(key: string) {
  const [n = "", k = "", run = "", ...asked] = key.split(" ");
  return { asked: asked.join(" "), run, n: Number(n), k: Number(k) };
}

function* run(id: string): Findings {
  const rows = yield* all(sql`SELECT * FROM runs WHERE id = ${id}`);
  return damagedAmong(rows, decodeRun, (row) => ({ id, label: `run ${row.name}` })).map(({ problem }) => problem);
}

function* job(key: string): Findings {
  const [run, n] = jobOf(key);
  const rows = yield* all(sql`SELECT * FROM jobs WHERE run = ${run} AND n = ${n}`);
  const read = (row: Row) => [resultOf(row), inputOf(row, { run, n })];
  const named = (row: Row) => ({ id: key, label: `job ${row.id} of run ${row.run}` });
  return damagedAmong(rows, read, named).map(({ problem }) => problem);
}

/** The run and the number of a job, of a key. */
function jobOf(key: string): readonly [run: string, n: number] {
  const at = key.indexOf(" ");
  return [key.slice(at + 1), Number(key.slice(0, at))];
}

function* checkRequest(key: string, own: Verifying): Findings {
  const [k, session, call] = requestKey(key);
  const row = yield* get(sql`SELECT p.*, s.id AS known, s.state AS shipped FROM batch_requests p
    LEFT JOIN provider_batches s ON s.id = p.provider_batch WHERE p.session = ${session} AND p.call = ${call} AND p.k = ${k}`);
  if (!row) return [];
  try {
    if (row.state === "answered") answerOfRequest(row);
    else requestOf({ ...row, n: row.n ?? 0 });
    const isShipped = row.known !== null && (row.state === "answered" || row.shipped !== "over");
    const fits = row.state === "waiting" ? row.provider_batch === null : isShipped;
    return fits ? [] : [`request ${k} of call ${call} of session ${session} does not fit its batch`];
  } catch (error) {
    return [own.messageOf(error)];
  }
}

/** The number of a request, its session and its call, of a key. */
function requestKey(key: string): readonly [k: number, session: string, call: string] {
  const [k = "", session = "", ...call] = key.split(" ");
  return [Number(k), session, call.join(" ")];
}

function* checkBatch(id: string, own: Verifying): Findings {
  const row = yield* get(sql`SELECT * FROM provider_batches WHERE id = ${id}`);
  if (!row) return [];
  try {
    const { requests, state } = decodeBatch(row);
    const counted = yield* get(sql`SELECT count(*) AS n FROM batch_requests WHERE provider_batch = ${id}`);
    const n = counted ? numberColumn(counted, "n") : 0;
    return n > requests ? [`batch ${id}: it is ${state} with ${n} requests, not ${requests}`] : [];
  } catch (error) {
    return [own.messageOf(error)];
  }
}

/** A line for each sum of a run that is not that of its jobs and holds. */
function* wrongSums(): Plan<readonly string[]> {
  return (yield* all(SUMS)).flatMap(wrongSumsIn);
}

const COLUMNS = ["usd", "tokens", "calls"] as const;

/** The money of each run by its own row, and the sums over its jobs and holds. */
const SUMS = sql`SELECT r.name, ${raw(COLUMNS.map((column) => `r.spent_${column}, r.held_${column}`).join(", "))}, ${list(
  COLUMNS.flatMap((column) => [
    sql`(SELECT ${summed(`spent_${column}`)} FROM jobs WHERE run = r.id) AS ${raw(`sum_spent_${column}`)}`,
    sql`(SELECT ${summed(column)} FROM holds WHERE run = r.id) AS ${raw(`sum_held_${column}`)}`,
  ]),
)} FROM runs r ORDER BY r.id`;

/** @param row one of {@link SUMS} */
function wrongSumsIn(row: Row): string[] {
  const wrong: string[] = [];
  for (const kind of ["spent", "held"]) {
    for (const column of COLUMNS) {
      const told = row[`${kind}_${column}`];
      const sum = row[`sum_${kind}_${column}`];
      if (told !== sum)
        wrong.push(`run ${String(row.name)}: its ${kind} ${column} are ${told}, those of its jobs ${sum}`);
    }
  }
  return wrong;
}

/** Rows whose owner is gone: no reader finds them, but they take space. */
function* strays(): Plan<readonly string[]> {
  const findings: string[] = [];
  for (const [what, rows] of STRAYS) {
    const counted = yield* get(sql`SELECT count(*) AS n FROM ${rows}`);
    const n = counted ? numberColumn(counted, "n") : 0;
    if (n > 0) findings.push(`${n} ${what}`);
  }
  return findings;
}

const STRAYS: readonly (readonly [what: string, rows: Statement])[] = [
  ["records belong to no session", sql`journal WHERE session NOT IN (SELECT id FROM sessions)`],
  ["noted uses belong to no session", sql`uses WHERE session NOT IN (SELECT id FROM sessions)`],
  ["jobs belong to no run", sql`jobs WHERE run NOT IN (SELECT id FROM runs)`],
  ["answers belong to no run", sql`answers WHERE run NOT IN (SELECT id FROM runs)`],
  ["reached checkpoints are missing", sql`reach WHERE checkpoint NOT IN (SELECT n FROM checkpoints)`],
  [
    "pages belong to no checkpoint",
    sql`pages WHERE ${spelled(raw(`place / ${PLACES}`), raw("checkpoint"))} NOT IN (SELECT n FROM checkpoints)`,
  ],
  [
    "chunks belong to no part",
    sql`chunks WHERE ${spelled(
      raw(`place / ${PLACES} NOT IN (SELECT n FROM parts)`),
      raw("part NOT IN (SELECT hash FROM parts)"),
    )}`,
  ],
];
