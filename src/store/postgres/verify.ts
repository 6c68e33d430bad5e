import { RlmError } from "../../../runtime/errors.ts";
import { displayName } from "../../ids.ts";
import { answerOf } from "../rows/answer.ts";
import { decodeCheckpoint, WITHOUT_NUMBER, wholeCheckpoints } from "../rows/checkpoint.ts";
import { readHead } from "../rows/context.ts";
import { flawOf } from "../rows/jobs.ts";
import { recordsIn } from "../rows/journal.ts";
import { number, type Row, text } from "../rows/seal.ts";
import { decodeSession } from "../rows/session.ts";
import { SUMS, wrongSumsIn } from "../rows/sums.ts";
import { missedUses } from "../rows/uses.ts";
import { isRunning } from "../running.ts";
import { hasCheckpoint, pagesAreWhole, readableCheckpoints } from "./checkpoints.ts";
import type { Server, Sql } from "./connection.ts";
import { readPart } from "./contexts.ts";
import { unnotedUses } from "./uses.ts";

/** Looks through the whole store; a line for each finding. Lines that begin with `info: ` are not errors. */
export async function verify(server: Server): Promise<string[]> {
  const found: string[] = [];
  for (const part of [sessions, checkpoints, contexts, cache, runs, sums, strays]) {
    for await (const line of part(server)) found.push(line);
  }
  return found;
}

async function* sessions(sql: Sql): AsyncIterable<string> {
  const ids = (await sql.all("SELECT id FROM sessions ORDER BY changed_at DESC, id DESC")).map((row) =>
    text(row, "id"),
  );
  for (const id of ids) yield* session(sql, id);
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
    const missed = await unnotedUses(sql, id, rows);
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

async function* checkpoints(sql: Sql): AsyncIterable<string> {
  for (const one of await sql.all("SELECT n FROM checkpoints ORDER BY n")) {
    const found = await sql.get("SELECT * FROM checkpoints WHERE n = $1", number(one, "n"));
    const checkpoint = found ? decodeCheckpoint(found, WITHOUT_NUMBER) : null;
    if (!checkpoint) {
      yield `checkpoint ${String(found?.id)} is damaged`;
      continue;
    }
    const { id, base } = checkpoint;
    if (base !== null && !(await hasCheckpoint(sql, base))) yield `checkpoint ${id}: its base ${base} is missing`;
    if (!(await pagesAreWhole(sql, checkpoint))) yield `checkpoint ${id}: its pages are missing or damaged`;
  }
}

async function* contexts(sql: Sql): AsyncIterable<string> {
  for (const row of await sql.all("SELECT * FROM contexts")) {
    const head = readHead(row);
    if (!head) yield `context ${String(row.hash)}: its index is damaged`;
    for (const part of head?.parts ?? []) {
      if (!(await readPart(sql, part))) yield `context ${String(row.hash)}: its part ${part} is missing or damaged`;
    }
  }
}

async function* cache(sql: Sql): AsyncIterable<string> {
  for (const key of (await sql.all("SELECT key FROM cache")).map((row) => text(row, "key"))) {
    const row = await sql.get("SELECT * FROM cache WHERE key = $1", key);
    if (row && answerOf(row) === null) yield `cache: the answer ${key} is damaged`;
  }
}

async function* runs(sql: Sql): AsyncIterable<string> {
  for (const row of await sql.all("SELECT * FROM runs ORDER BY id")) yield* flaw(row, "run");
  for (const key of await sql.all("SELECT run, n FROM jobs ORDER BY run, n")) {
    const row = await sql.get("SELECT * FROM jobs WHERE run = $1 AND n = $2", text(key, "run"), number(key, "n"));
    if (row) yield* flaw(row, "job");
  }
}

function* flaw(row: Row, kind: "run" | "job"): Iterable<string> {
  const found = flawOf(row, kind);
  if (found !== null) yield found;
}

async function* sums(sql: Sql): AsyncIterable<string> {
  for (const row of await sql.all(SUMS)) yield* wrongSumsIn(row);
}

/** Rows whose owner is gone: no reader comes upon them, but they take space. */
async function* strays(sql: Sql): AsyncIterable<string> {
  for (const [what, where] of STRAYS) {
    const row = await sql.get(`SELECT count(*) AS n FROM ${where}`);
    if (row && row.n !== 0) yield `${String(row.n)} ${what}`;
  }
}

const STRAYS = [
  ["records belong to no session", "journal WHERE session NOT IN (SELECT id FROM sessions)"],
  ["noted uses belong to no session", "uses WHERE session NOT IN (SELECT id FROM sessions)"],
  ["jobs belong to no run", "jobs WHERE run NOT IN (SELECT id FROM runs)"],
  ["reached checkpoints are missing", "reach WHERE checkpoint NOT IN (SELECT n FROM checkpoints)"],
  ["pages belong to no checkpoint", "pages WHERE checkpoint NOT IN (SELECT n FROM checkpoints)"],
  ["chunks belong to no part", "chunks WHERE part NOT IN (SELECT hash FROM parts)"],
] as const;

function messageOf(error: unknown): string {
  if (error instanceof RlmError) return error.message;
  throw error;
}
