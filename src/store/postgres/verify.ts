import { RlmError } from "../../../runtime/errors.ts";
import { displayName } from "../../platform/ids.ts";
import type { VerifiedPage, VerifyPart } from "../port.ts";
import { answerOf } from "../rows/answer.ts";
import { decodeCheckpoint, WITHOUT_NUMBER, wholeCheckpoints } from "../rows/checkpoint.ts";
import { readHead } from "../rows/context.ts";
import { flawsOf } from "../rows/job-flaws.ts";
import { recordsIn } from "../rows/journal.ts";
import { text } from "../rows/seal.ts";
import { decodeSession } from "../rows/session.ts";
import { strayIn, straysBy } from "../rows/strays.ts";
import { SUMS, wrongSumsIn } from "../rows/sums.ts";
import { missedUses } from "../rows/uses.ts";
import { isRunning } from "../running.ts";
import { readPart } from "../sql/contexts.ts";
import { unnotedUses } from "../sql/uses.ts";
import { hasCheckpoint, pagesAreWhole, readableCheckpoints } from "./checkpoints.ts";
import type { Sql } from "./connection.ts";

/** A part whose rows are checked page by page. */
interface Part {
  /** Keys behind one, in their order. */
  readonly keys: string;
  /** Comes before every key. */
  readonly first: string;
  check(sql: Sql, key: string): AsyncIterable<string>;
}

const PAGE = 50;

const keysOf = (key: string, table: string, type = "text") =>
  `SELECT ${key}::text AS key FROM ${table} WHERE ${key} > $1::${type} ORDER BY ${table}.${key} LIMIT ${PAGE}`;

const PAGED: Readonly<Partial<Record<VerifyPart, Part>>> = {
  sessions: { keys: keysOf("id", "sessions"), first: "", check: session },
  checkpoints: { keys: keysOf("n", "checkpoints", "bigint"), first: "-1", check: checkpoint },
  contexts: { keys: keysOf("hash", "contexts"), first: "", check: context },
  answers: { keys: keysOf("key", "cache"), first: "", check: answer },
  runs: { keys: keysOf("id", "runs"), first: "", check: run },
  jobs: {
    keys: `SELECT n || ' ' || run AS key FROM jobs
      WHERE (run, n) > (substr($1, strpos($1, ' ') + 1), split_part($1, ' ', 1)::bigint) ORDER BY run, n LIMIT ${PAGE}`,
    first: "-1 ",
    check: job,
  },
};

/** The server checks its files by itself. */
const AT_ONCE: Readonly<Partial<Record<VerifyPart, (sql: Sql) => AsyncIterable<string>>>> = { sums, strays };

/** Checks a page of a part. */
export async function verify(sql: Sql, part: VerifyPart, after: string | null): Promise<VerifiedPage> {
  const findings: string[] = [];
  const paged = PAGED[part];
  if (!paged) {
    const all = AT_ONCE[part];
    if (all) for await (const line of all(sql)) findings.push(line);
    return { findings, next: null };
  }
  const keys = (await sql.all(paged.keys, after ?? paged.first)).map((row) => text(row, "key"));
  for (const key of keys) for await (const line of paged.check(sql, key)) findings.push(line);
  return { findings, next: keys.length < PAGE ? null : (keys.at(-1) ?? null) };
}

async function* session(sql: Sql, id: string): AsyncIterable<string> {
  try {
    const row = await sql.get(
      `SELECT s.*, (EXISTS (SELECT 1 FROM leases l WHERE l.session = s.id AND l.until > clock_timestamp()))::int AS busy
        FROM sessions s WHERE id = $1`,
      id,
    );
    if (!row) return;
    const whole = decodeSession(row);
    const stored = await sql.all("SELECT * FROM journal WHERE session = $1 ORDER BY seq", id);
    const { rows, damaged } = recordsIn(stored, whole, 1);
    for (const line of damaged) yield `session ${displayName(whole)}: ${line}`;
    const missed = await sql.perform(unnotedUses(id, rows));
    if (missed.length > 0) yield `session ${displayName(whole)}: ${missedUses(missed)}`;
    const reached = wholeCheckpoints(await readableCheckpoints(sql, whole));
    if (whole.head !== null && !reached.some((one) => one.id === whole.head)) {
      yield `session ${displayName(whole)}: its head ${whole.head} is missing`;
    }
    if (isRunning(JSON.parse(whole.facts)) && row.busy === 0 && row.pid !== null) {
      yield `info: session ${displayName(whole)} is interrupted, its holder pid ${row.pid} on ${row.host} is gone`;
    }
  } catch (error) {
    yield `session ${id}: ${messageOf(error)}`;
  }
}

async function* checkpoint(sql: Sql, n: string): AsyncIterable<string> {
  const found = await sql.get("SELECT * FROM checkpoints WHERE n = $1", Number(n));
  if (!found) return;
  const checkpoint = decodeCheckpoint(found, WITHOUT_NUMBER);
  if (!checkpoint) return yield `checkpoint ${String(found.id)} is damaged`;
  const { id, base } = checkpoint;
  if (base !== null && !(await hasCheckpoint(sql, base))) yield `checkpoint ${id}: its base ${base} is missing`;
  if (!(await pagesAreWhole(sql, checkpoint))) yield `checkpoint ${id}: its pages are missing or damaged`;
}

async function* context(sql: Sql, hash: string): AsyncIterable<string> {
  const row = await sql.get("SELECT * FROM contexts WHERE hash = $1", hash);
  if (!row) return;
  const head = readHead(row);
  if (!head) yield `context ${hash}: its index is damaged`;
  for (const part of head?.parts ?? []) {
    if (!(await sql.perform(readPart(part)))) yield `context ${hash}: its part ${part} is missing or damaged`;
  }
}

async function* answer(sql: Sql, key: string): AsyncIterable<string> {
  const row = await sql.get("SELECT * FROM cache WHERE key = $1", key);
  if (row && answerOf(row) === null) yield `cache: the answer ${key} is damaged`;
}

async function* run(sql: Sql, id: string): AsyncIterable<string> {
  yield* flawsOf(await sql.get("SELECT * FROM runs WHERE id = $1", id), "run");
}

async function* job(sql: Sql, key: string): AsyncIterable<string> {
  const [n] = key.split(" ", 1);
  const of = key.slice(key.indexOf(" ") + 1);
  yield* flawsOf(await sql.get("SELECT * FROM jobs WHERE run = $1 AND n = $2", of, Number(n)), "job");
}

async function* sums(sql: Sql): AsyncIterable<string> {
  for (const row of await sql.all(SUMS)) yield* wrongSumsIn(row);
}

/** Rows whose owner is gone: no reader comes upon them, but they take space. */
async function* strays(sql: Sql): AsyncIterable<string> {
  for (const [what, where] of straysBy({ page: "checkpoint", chunk: "part", part: "hash" })) {
    yield* strayIn(await sql.get(`SELECT count(*) AS n FROM ${where}`), what);
  }
}

function messageOf(error: unknown): string {
  if (error instanceof RlmError) return error.message;
  throw error;
}
