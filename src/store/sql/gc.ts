import { parseJson } from "../../platform/json.ts";
import type { Discarding } from "../job-store.ts";
import type { Collected, GcRule } from "../port.ts";
import { capped, SPEC_BOUNDS } from "../rows/pack.ts";
import { PLACES } from "../rows/pages.ts";
import { numberColumn, type Row, seal, textColumn } from "../rows/row.ts";
import { decodeSession, fieldsOf, isRunning, type Session, SHOWN_SESSION } from "../rows/session.ts";
import { dropAnswersOf } from "./answers.ts";
import { dropOver, giveUp, refuseSession } from "./batch-requests.ts";
import { dropOldAnswers } from "./cache.ts";
import { dropContexts } from "./contexts.ts";
import type { Dialect } from "./dialect.ts";
import { familyOf } from "./sessions.ts";
import { all, get, oneOf, type Plan, raw, run, type Statement, spelled, sql } from "./sql.ts";

/** A session that the rule lets go. */
export interface Past extends Pick<Session, "id" | "name"> {
  /** Fence of its newest lease. Leases of a store in a folder have none. */
  readonly fence: number;
}

const PAGE = 500;

/** Facts and settings that are larger than they can be are not fetched. */
const SESSIONS = sql`(SELECT ${raw(SHOWN_SESSION)}${spelled(sql``, sql`, fence`)} FROM sessions)`;

/**
 * Sessions but children that the rule lets go, the one changed last first. One that has requests
 * out stays. A damaged session stays: only `remove` drops it.
 */
export function* pastSessions(rule: GcRule): Plan<Past[]> {
  const past: Past[] = [];
  const kept = new Map<string, number>();
  for (let behind = sql``; ; ) {
    const rows = yield* all(sql`SELECT s.*, j.run, j.state, j.ended_at FROM ${SESSIONS} s
      LEFT JOIN jobs j ON s.origin = 'batch' AND j.session = s.id
      WHERE s.origin <> 'child' AND NOT EXISTS (SELECT 1 FROM batch_requests p WHERE p.root = s.id AND p.state = 'out') ${behind} ORDER BY s.changed_at DESC, s.id DESC LIMIT ${PAGE}`);
    for (const row of rows) {
      const session = wholeSession(row);
      const isPast =
        session && (typeof row.run === "string" ? yield* isJobPast(row, rule, kept) : isOld(session, rule));
      if (isPast) past.push({ id: session.id, name: session.name, fence: Number(row.fence ?? 0) });
    }
    const end = rows.at(-1);
    if (!end || rows.length < PAGE) return past;
    behind = sql`AND (s.changed_at, s.id) < (${numberColumn(end, "changed_at")}, ${textColumn(end, "id")})`;
  }
}

function wholeSession(row: Row): Session | null {
  try {
    return decodeSession(row);
  } catch {
    return null;
  }
}

function isOld(session: Session, rule: GcRule): boolean {
  const age = rule.now - session.changed_at;
  if (session.origin === "pi" && !rule.pi) return false;
  if (session.origin === "pi" || session.name !== null) return rule.namedMs !== null && age > rule.namedMs;
  return !isRunning(JSON.parse(session.facts)) && age > rule.anonymousMs;
}

const USUAL_KEEP_MS = 30 * 24 * 3600_000;

/** The jobs that are not done keep everything. @param kept ms by run, as far as they were read */
function* isJobPast({ run, state, ended_at }: Row, rule: GcRule, kept: Map<string, number>): Plan<boolean> {
  if (state !== "done" || typeof ended_at !== "number" || typeof run !== "string") return false;
  const known = kept.get(run);
  if (known !== undefined) return rule.now - ended_at > known;
  const row = yield* get(sql`SELECT ${raw(capped("spec", SPEC_BOUNDS.bytes))} FROM runs WHERE id = ${run}`);
  const ms = typeof row?.spec === "string" ? keepMs(row.spec) : Number.POSITIVE_INFINITY;
  kept.set(run, ms);
  return rule.now - ended_at > ms;
}

/**
 * Time that the journal of a job of this run stays once it is done, ms.
 *
 * @param spec as the run's row has it
 */
function keepMs(spec: string): number {
  const { keep_ms }: { readonly keep_ms?: unknown } = Object(parseJson(spec));
  return typeof keep_ms === "number" && keep_ms > 0 ? keep_ms : USUAL_KEEP_MS;
}

/**
 * Drops a session and its children; returns their ids. Checkpoints that only they need go with
 * {@link dropUnreached}.
 */
export function* deleteFamily(id: string, own: Dropping): Plan<readonly string[]> {
  const family = yield* familyOf(id);
  yield* giveUp(family);
  yield* dropAnswersOf([id]);
  for (const table of ["journal", "reach", "uses"]) {
    yield* run(sql`DELETE FROM ${raw(table)} WHERE session ${oneOf(family)}`);
  }
  yield* run(sql`DELETE FROM sessions WHERE id ${oneOf(family)}`);
  if (own.dropLeases) yield* own.dropLeases(family);
  return family;
}

type Dropping = Pick<Dialect, "dropLeases">;

/**
 * Drops a session and its children, with what only they need; returns their ids. The caller has its
 * lease.
 * @throws RlmError `session_busy` if requests of it are out, unless they are discarded
 */
export function* removeSession(id: string, { discard = false }: Discarding, own: Dropping): Plan<readonly string[]> {
  if (!discard) yield* refuseSession(id);
  const family = yield* deleteFamily(id, own);
  yield* dropUnreached();
  return family;
}

/**
 * Drops the checkpoints of a session and of its children: it stands at its beginning then, with its
 * journal. A damaged one keeps them.
 */
export function* dropImages(id: string, own: Pick<Dialect, "dropUnneeded">): Plan<void> {
  for (const one of yield* familyOf(id)) {
    const row = yield* get(sql`SELECT ${raw(SHOWN_SESSION)} FROM sessions WHERE id = ${one}`);
    const session = row ? wholeSession(row) : null;
    if (!session || (session.head === null && session.checkpoints === 0)) continue;
    // The newest first: one is the base of those behind it.
    const reached = yield* all(sql`SELECT c.id FROM reach r JOIN checkpoints c ON c.n = r.checkpoint
      WHERE r.session = ${one} ORDER BY c.n DESC`);
    yield* run(sql`DELETE FROM reach WHERE session = ${one}`);
    for (const checkpoint of reached) yield* own.dropUnneeded(textColumn(checkpoint, "id"));
    const sha256 = seal(fieldsOf({ ...session, head: null, checkpoints: 0 }));
    yield* run(sql`UPDATE sessions SET head = NULL, checkpoints = 0, sha256 = ${sha256} WHERE id = ${one}`);
  }
}

/**
 * Drops what nothing reaches, and answers that are too old. A session that is open somewhere may be
 * about to name a context or a baseline: then these stay.
 */
export function* sweep(rule: GcRule, anyOpen: boolean): Plan<Pick<Collected, "checkpoints" | "contexts" | "cached">> {
  const checkpoints = yield* dropUnreached();
  yield* dropOver(rule.now);
  const contexts = anyOpen ? 0 : yield* dropContexts();
  // The next session starts from the newest baseline.
  const newest = sql`SELECT max(n) FROM checkpoints WHERE session IS NULL`;
  if (!anyOpen) yield* dropBut(sql`session IS NULL AND n < (${newest})`);
  return { checkpoints, contexts, cached: yield* dropOldAnswers(rule) };
}

/**
 * Drops checkpoints that no session reaches and that no reached one is based on. Returns how many
 * they were.
 */
function* dropUnreached(): Plan<number> {
  return yield* dropBut(sql`session IS NOT NULL`);
}

function* dropBut(which: Statement): Plan<number> {
  const rows = yield* all(sql`WITH RECURSIVE needed (id) AS (
      SELECT id FROM checkpoints WHERE n IN (SELECT checkpoint FROM reach)
      UNION SELECT c.base FROM checkpoints c JOIN needed d ON c.id = d.id WHERE c.base IS NOT NULL)
    DELETE FROM checkpoints WHERE ${which} AND id NOT IN (SELECT id FROM needed) RETURNING n`);
  const numbers = rows.map((row) => numberColumn(row, "n"));
  const places = sql`SELECT p.place FROM json_each(${JSON.stringify(numbers)}) CROSS JOIN pages p
    ON p.place >= value * ${raw(`${PLACES}`)} AND p.place < (value + 1) * ${raw(`${PLACES}`)}`;
  yield* run(sql`DELETE FROM pages WHERE ${spelled(sql`place IN (${places})`, sql`checkpoint ${oneOf(numbers)}`)}`);
  return numbers.length;
}
