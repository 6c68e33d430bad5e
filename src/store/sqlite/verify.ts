import { RlmError } from "../../../runtime/errors.ts";
import { displayName } from "../../ids.ts";
import { answerOf } from "../rows/answer.ts";
import { decodeCheckpoint } from "../rows/checkpoint.ts";
import { readHead } from "../rows/context.ts";
import { flawOf } from "../rows/jobs.ts";
import { text } from "../rows/seal.ts";
import { SUMS, wrongSumsIn } from "../rows/sums.ts";
import { missedUses } from "../rows/uses.ts";
import { isRunning } from "../running.ts";
import { hasCheckpoint, reachedBy } from "./checkpoints.ts";
import { readPart } from "./contexts.ts";
import type { Database } from "./database.ts";
import { pagesAreWhole } from "./images.ts";
import { readRecords } from "./journal.ts";
import type { Leases } from "./lease.ts";
import { holderOf, readSession, sessionIds } from "./sessions.ts";
import { unnotedUses } from "./uses.ts";

/** Looks through the whole store; a line for each finding. Lines that begin with `info: ` are not errors. */
export function verify(database: Database, leases: Leases): string[] {
  const found: string[] = [];
  // If the file itself is damaged, each part may be unreadable in its own way. The other parts are still checked.
  for (const part of [integrity, sessions, checkpoints, contexts, cache, runs, sums, strays]) {
    try {
      found.push(...part(database, leases));
    } catch (error) {
      found.push(messageOf(error));
    }
  }
  return found;
}

function integrity(database: Database): string[] {
  const lines = database.all("PRAGMA integrity_check").map((row) => text(row, "integrity_check"));
  return lines.filter((line) => line !== "ok").map((line) => `database: ${line}`);
}

function* sessions(database: Database, leases: Leases): Iterable<string> {
  for (const id of sessionIds(database)) {
    try {
      const session = readSession(database, id);
      const missed = unnotedUses(database, id, readRecords(database, session, 1));
      if (missed.length > 0) yield `session ${displayName(session)}: ${missedUses(missed)}`;
      const reached = reachedBy(database, session);
      if (session.head !== null && !reached.some((one) => one.id === session.head)) {
        yield `session ${displayName(session)}: its head ${session.head} is missing`;
      }
      const holder = holderOf(database, id);
      if (holder && isRunning(JSON.parse(session.facts)) && !leases.busy(id)) {
        yield `info: session ${displayName(session)} is interrupted, its holder pid ${holder.pid} on ${holder.host} is gone`;
      }
    } catch (error) {
      yield `session ${id}: ${messageOf(error)}`;
    }
  }
}

function* checkpoints(database: Database): Iterable<string> {
  for (const row of database.all("SELECT n FROM checkpoints ORDER BY n")) {
    const found = database.get("SELECT * FROM checkpoints WHERE n = ?", Number(row.n));
    const checkpoint = found ? decodeCheckpoint(found) : null;
    if (!checkpoint) {
      yield `checkpoint ${String(found?.id)} is damaged`;
      continue;
    }
    const { id, base } = checkpoint;
    if (base !== null && !hasCheckpoint(database, base)) yield `checkpoint ${id}: its base ${base} is missing`;
    if (!pagesAreWhole(database, checkpoint)) yield `checkpoint ${id}: its pages are missing or damaged`;
  }
}

function* contexts(database: Database): Iterable<string> {
  for (const row of database.all("SELECT * FROM contexts")) {
    const head = readHead(row);
    if (!head) yield `context ${String(row.hash)}: its index is damaged`;
    for (const part of head?.parts ?? []) {
      if (!readPart(database, part)) yield `context ${String(row.hash)}: its part ${part} is missing or damaged`;
    }
  }
}

function* cache(database: Database): Iterable<string> {
  for (const row of database.each("SELECT * FROM cache")) {
    if (answerOf(row) === null) yield `cache: the answer ${String(row.key)} is damaged`;
  }
}

function* runs(database: Database): Iterable<string> {
  for (const kind of ["run", "job"] as const) {
    for (const row of database.each(`SELECT * FROM ${kind}s`)) {
      const flaw = flawOf(row, kind);
      if (flaw !== null) yield flaw;
    }
  }
}

function sums(database: Database): string[] {
  return database.all(SUMS).flatMap(wrongSumsIn);
}

/** Rows whose owner is gone: no reader comes upon them, but they take space. */
function* strays(database: Database): Iterable<string> {
  for (const [what, sql] of STRAYS) {
    const row = database.get(`SELECT count(*) AS n FROM ${sql}`);
    if (row && row.n !== 0) yield `${String(row.n)} ${what}`;
  }
}

const STRAYS = [
  ["records belong to no session", "journal WHERE session NOT IN (SELECT id FROM sessions)"],
  ["noted uses belong to no session", "uses WHERE session NOT IN (SELECT id FROM sessions)"],
  ["jobs belong to no run", "jobs WHERE run NOT IN (SELECT id FROM runs)"],
  ["reached checkpoints are missing", "reach WHERE checkpoint NOT IN (SELECT n FROM checkpoints)"],
  ["pages belong to no checkpoint", "pages WHERE place / 65536 NOT IN (SELECT n FROM checkpoints)"],
  ["chunks belong to no part", "chunks WHERE place / 65536 NOT IN (SELECT n FROM parts)"],
] as const;

function messageOf(error: unknown): string {
  if (error instanceof RlmError) return error.message;
  if (error instanceof Error) return `database: ${error.message}`;
  throw error;
}
