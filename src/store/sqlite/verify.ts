import { RlmError } from "../../../runtime/errors.ts";
import { displayName } from "../../platform/ids.ts";
import type { VerifiedPage, VerifyPart } from "../port.ts";
import { answerOf } from "../rows/answer.ts";
import { decodeCheckpoint } from "../rows/checkpoint.ts";
import { readHead } from "../rows/context.ts";
import { flawsOf } from "../rows/job-flaws.ts";
import { text } from "../rows/seal.ts";
import { strayIn, straysBy } from "../rows/strays.ts";
import { SUMS, wrongSumsIn } from "../rows/sums.ts";
import { missedUses } from "../rows/uses.ts";
import { isRunning } from "../running.ts";
import { readPart } from "../sql/contexts.ts";
import { unnotedUses } from "../sql/uses.ts";
import { hasCheckpoint, reachedBy } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { pagesAreWhole } from "./images.ts";
import { readRecords } from "./journal.ts";
import type { Leases } from "./lease.ts";
import { holderOf, readSession } from "./sessions.ts";

/** A part whose rows are checked page by page. */
interface Part {
  /** Keys behind one, in their order. */
  readonly keys: string;
  /** Comes before every key. */
  readonly first: string;
  check(database: Database, key: string, leases: Leases): Iterable<string>;
}

const PAGE = 50;

const keysOf = (key: string, table: string) =>
  `SELECT ${key} AS key FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${PAGE}`;

const PAGED: Readonly<Partial<Record<VerifyPart, Part>>> = {
  sessions: { keys: keysOf("id", "sessions"), first: "", check: session },
  checkpoints: { keys: keysOf("n", "checkpoints"), first: "-1", check: checkpoint },
  contexts: { keys: keysOf("hash", "contexts"), first: "", check: context },
  answers: { keys: keysOf("key", "cache"), first: "", check: answer },
  runs: { keys: keysOf("id", "runs"), first: "", check: run },
  jobs: { keys: keysOf("rowid", "jobs"), first: "-1", check: job },
};

const AT_ONCE: Readonly<Partial<Record<VerifyPart, (database: Database) => Iterable<string>>>> = {
  file: integrity,
  sums,
  strays,
};

/** Checks a page of a part. If the file itself is damaged, each part may be unreadable in its own way: it ends with that line. */
export function verify(database: Database, leases: Leases, part: VerifyPart, after: string | null): VerifiedPage {
  const findings: string[] = [];
  try {
    const paged = PAGED[part];
    if (!paged) {
      findings.push(...(AT_ONCE[part]?.(database) ?? []));
      return { findings, next: null };
    }
    const keys = database.all(paged.keys, after ?? paged.first).map((row) => String(row.key));
    for (const key of keys) findings.push(...paged.check(database, key, leases));
    return { findings, next: keys.length < PAGE ? null : (keys.at(-1) ?? null) };
  } catch (error) {
    return { findings: [...findings, messageOf(error)], next: null };
  }
}

function integrity(database: Database): string[] {
  const lines = database.all("PRAGMA integrity_check").map((row) => text(row, "integrity_check"));
  return lines.filter((line) => line !== "ok").map((line) => `database: ${line}`);
}

function* session(database: Database, id: string, leases: Leases): Iterable<string> {
  try {
    const session = readSession(database, id);
    const missed = database.perform(unnotedUses(id, readRecords(database, session, 1)));
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

function* checkpoint(database: Database, n: string): Iterable<string> {
  const found = database.get("SELECT * FROM checkpoints WHERE n = ?", Number(n));
  const checkpoint = found ? decodeCheckpoint(found) : null;
  if (!checkpoint) return yield `checkpoint ${String(found?.id)} is damaged`;
  const { id, base } = checkpoint;
  if (base !== null && !hasCheckpoint(database, base)) yield `checkpoint ${id}: its base ${base} is missing`;
  if (!pagesAreWhole(database, checkpoint)) yield `checkpoint ${id}: its pages are missing or damaged`;
}

function* context(database: Database, hash: string): Iterable<string> {
  const row = database.get("SELECT * FROM contexts WHERE hash = ?", hash);
  const head = row ? readHead(row) : null;
  if (!head) yield `context ${hash}: its index is damaged`;
  for (const part of head?.parts ?? []) {
    if (!database.perform(readPart(part))) yield `context ${hash}: its part ${part} is missing or damaged`;
  }
}

function* answer(database: Database, key: string): Iterable<string> {
  const row = database.get("SELECT * FROM cache WHERE key = ?", key);
  if (!row || answerOf(row) === null) yield `cache: the answer ${key} is damaged`;
}

function run(database: Database, id: string): string[] {
  return flawsOf(database.get("SELECT * FROM runs WHERE id = ?", id), "run");
}

function job(database: Database, rowid: string): string[] {
  return flawsOf(database.get("SELECT * FROM jobs WHERE rowid = ?", Number(rowid)), "job");
}

function sums(database: Database): string[] {
  return database.all(SUMS).flatMap(wrongSumsIn);
}

/** Rows whose owner is gone: no reader comes upon them, but they take space. */
function* strays(database: Database): Iterable<string> {
  for (const [what, where] of straysBy({ page: "place / 65536", chunk: "place / 65536", part: "n" })) {
    yield* strayIn(database.get(`SELECT count(*) AS n FROM ${where}`), what);
  }
}

function messageOf(error: unknown): string {
  if (error instanceof RlmError) return error.message;
  if (error instanceof Error) return `database: ${error.message}`;
  throw error;
}
