import { hostname } from "node:os";
import { hasCode, RlmError } from "../../../runtime/errors.ts";
import { displayName } from "../../platform/ids.ts";
import { misuse } from "../failure.ts";
import { type BareLease, type Methods, type Serving, wrapEach } from "../methods.ts";
import type { Collected, GcRule } from "../port.ts";
import { leaseOfAccount } from "../rows/batch.ts";
import { baselineOf, fieldsOfCheckpoint, type Writing } from "../rows/checkpoint.ts";
import { packedBytes, packText } from "../rows/pack.ts";
import type { PackedPages } from "../rows/pages.ts";
import { numberColumn, seal, textColumn } from "../rows/row.ts";
import { decodeSession } from "../rows/session.ts";
import { hasCheckpoint, insertPages, packInTurns } from "../sql/checkpoints.ts";
import type { Dialect } from "../sql/dialect.ts";
import { deleteFamily, type Past, pastSessions, removeSession, sweep } from "../sql/gc.ts";
import { planned } from "../sql/planned.ts";
import { CHECKPOINT_BYTES, createSession, labelOf, readSession, shownSession } from "../sql/sessions.ts";
import { get, oneOf, raw, run, sql } from "../sql/sql.ts";
import { thin } from "../sql/thin.ts";
import { commit, type Leased } from "./commit.ts";
import { connect, type Server, type Sql } from "./connection.ts";
import { leaseLost } from "./failure.ts";
import { NOW } from "./functions.ts";
import { dueJobs, moneyMethods } from "./jobs.ts";
import { type LeaseParts, type Leases, openLeases } from "./leases.ts";
import { checkServer } from "./look.ts";
import { migrate } from "./schema.ts";

/**
 * Serves the store on a server. Several requests are out at once, but those of one session or run
 * are carried out in order.
 * @param lost is told the session of each lease that is lost
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function serveServer(url: string, lost: (session: string) => void): Promise<Serving> {
  const store = await openPostgresStore(url, { pid: process.pid, host: hostname(), lost });
  const turns = openTurns();
  return {
    methods: wrapEach(store.methods, (method) => (...args) => {
      const [first]: readonly unknown[] = args;
      return turns.take(typeof first === "string" ? first : null, () => method(...args));
    }),
    texts: null,
    async close() {
      await turns.over();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** A store on a server. */
interface ServerStore extends AsyncDisposable {
  readonly methods: Methods;
}

/** @throws RlmError `store_failed`, `store_too_new` */
export async function openPostgresStore(url: string, parts: LeaseParts): Promise<ServerStore> {
  const server = await connect(url);
  try {
    await checkServer(server);
    await migrate(server);
  } catch (error) {
    await server.close();
    throw error;
  }
  const leases = openLeases(server, parts);
  const own = postgresDialect(leases);
  return {
    methods: {
      ...planned({
        looks: (plan) => server.perform(plan(own)),
        reads: (plan) => server.read((tx) => tx.perform(plan(own))),
        changes: (plan) => server.write((tx) => tx.perform(plan(own))),
      }),
      ...sessionMethods(server, leases, own, parts),
      async putBaseline(id, meta, pages) {
        if (await server.perform(hasCheckpoint(id))) return;
        const packed = await server.perform(packInTurns(pages, meta.linearBytes));
        await server.write((tx) => insertBaseline(tx, baselineOf(id, meta), packed));
      },
      async sweepTexts() {},
      gc: (rule) => gc(server, leases, own, rule),
      "jobs.due": (page) => dueJobs(server, page),
      ...moneyMethods(server),
      "batches.lease": (account) => leases.takeAccount(leaseOfAccount(account), account),
      "batches.release": (account) => leases.release(leaseOfAccount(account)),
    },
    async [Symbol.asyncDispose]() {
      await leases.close();
      await server.close();
    },
  };
}

/** A server's side of plans, whose instants are those of its clock. */
function postgresDialect(leases: Pick<Leases, "holds">): Dialect {
  return {
    now: raw(NOW),
    texts: null,
    busy: (session) => session.busy === 1 || leases.holds(textColumn(session, "id")),
    *dropLeases(sessions) {
      yield* run(sql`DELETE FROM leases WHERE session ${oneOf(sessions)}`);
    },
    *workers(run) {
      const row = yield* get(sql`SELECT count(DISTINCT l.holder) AS n FROM jobs j JOIN leases l ON l.session = j.session
        WHERE j.run = ${run} AND j.state IN ('running', 'cancelling') AND l.until > clock_timestamp()`);
      return row ? numberColumn(row, "n") : 0;
    },
    holding: (account, fence) => sql`SELECT 1 AS n FROM accounts WHERE id = ${account} AND fence = ${fence} FOR SHARE`,
    *doubting(update, _job, isOver) {
      const row = yield* get(sql`WITH changed AS (${update} RETURNING run, n)
        SELECT count(*) AS n, count(doubt_job(run, n, ${raw(String(isOver))})) FROM changed`);
      return row?.n === 1;
    },
    *dropUnneeded(checkpoint) {
      yield* get(sql`SELECT drop_unneeded(${checkpoint})::text AS gone`);
    },
    // A failure of the server is not a finding.
    messageOf(error) {
      if (error instanceof RlmError) return error.message;
      throw error;
    },
  };
}

/** The methods of sessions that take leases or need them. */
function sessionMethods(server: Server, leases: Leases, own: Dialect, holder: LeaseParts) {
  /** The sessions whose leases this store has. */
  const known = new Map<string, Leased>();

  async function lease(id: string): Promise<BareLease> {
    const row = await leases.take(await server.perform(readSession(id)));
    const session = decodeSession(row);
    const fence = numberColumn(row, "fence");
    const reached = `SELECT c.id, ${CHECKPOINT_BYTES} AS bytes FROM reach r JOIN checkpoints c ON c.n = r.checkpoint
      WHERE r.session = $1`;
    const reach = new Map(
      (await server.all(reached, id)).map((one) => [textColumn(one, "id"), numberColumn(one, "bytes")]),
    );
    const shown = await server.perform(shownSession(id, own));
    // It may have been lost meanwhile, and nobody could be told yet.
    if (!leases.holds(id)) throw leaseLost(id);
    known.set(id, { session, fence, reach });
    return { ...shown, fence };
  }

  function held(id: string): Leased {
    const session = known.get(id);
    if (!session) throw misuse(`session ${id} is written to without its lease`);
    return session;
  }

  /** Locks the row of a session. @throws RlmError `lease_lost` if it has another fence */
  async function lock(tx: Sql, id: string, fence: number): Promise<void> {
    const row = await tx.get("SELECT id FROM sessions WHERE id = $1 AND fence = $2 FOR UPDATE", id, fence);
    if (!row) throw leaseLost(id);
  }

  return {
    async create(session) {
      await server.perform(createSession(session, holder));
      return lease(session.id);
    },
    lease,
    async release(id) {
      known.delete(id);
      await leases.release(id);
    },
    async commit(id, step) {
      const before = held(id);
      try {
        const after = await commit(server, before, step);
        known.set(id, after.known);
        return after.more;
      } catch (error) {
        if (hasCode(error, "lease_lost")) leases.lose(id);
        throw error;
      }
    },
    async thin(id, ends) {
      const before = held(id);
      const { gone, more } = await server.write(async (tx) => {
        await lock(tx, id, before.fence);
        return tx.perform(thin(id, ends, own));
      });
      for (const end of gone) before.reach.delete(end);
      known.set(id, { ...before, session: await server.perform(readSession(id)) });
      return more;
    },
    async remove(id, options = {}) {
      // Its row may be damaged, so only the fence is read.
      const isHeld = leases.holds(id);
      const fence = isHeld
        ? (known.get(id)?.fence ?? 0)
        : numberColumn(await leases.take(await server.perform(labelOf(id))), "fence");
      const gone = await server
        .write(async (tx) => {
          await lock(tx, id, fence);
          return tx.perform(removeSession(id, options, own));
        })
        .catch(async (error) => {
          if (!isHeld) await leases.release(id);
          throw error;
        });
      for (const one of gone) {
        known.delete(one);
        await leases.release(one);
      }
      return { text_bytes: 0, texts_in_use: false };
    },
  } satisfies Partial<Methods>;
}

/** Keeps a baseline, unless it is there. */
async function insertBaseline(tx: Sql, writing: Writing, pages: PackedPages): Promise<void> {
  const { meta, extras, before, after, sealed } = fieldsOfCheckpoint(writing, pages);
  const row = await tx.get(
    `INSERT INTO checkpoints (id, session, parent, base, exec_id, kind, seq, meta, beside, chain_length, chain_bytes, pages,
      stored_bytes, at, parts, sha256) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
      ON CONFLICT (id) DO NOTHING RETURNING n`,
    ...[...before, packedBytes(packText(meta)), packedBytes(packText(extras)), ...after, seal(sealed)],
  );
  if (row) await tx.perform(insertPages(numberColumn(row, "n"), pages));
}

/** Work that is out: on one subject in turns, on none at once. */
interface Turns {
  take<T>(subject: string | null, work: () => Promise<T>): Promise<T>;
  /** Resolves when all is done, whatever came of it. */
  over(): Promise<void>;
}

function openTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  const out = new Set<Promise<unknown>>();
  return {
    take(subject, work) {
      const before = subject === null ? undefined : last.get(subject);
      const turn = before ? before.then(work, work) : work();
      out.add(turn);
      if (subject !== null) last.set(subject, turn);
      const end = () => {
        out.delete(turn);
        if (subject !== null && last.get(subject) === turn) last.delete(subject);
      };
      turn.then(end, end);
      return turn;
    },
    async over() {
      await Promise.allSettled(out);
    },
  };
}

/**
 * Drops what the rule lets go and what nothing reaches. The server gives space back by itself:
 * autovacuum.
 */
async function gc(server: Server, leases: Leases, own: Dialect, rule: GcRule): Promise<Collected> {
  const before = await sizeOf(server);
  let dropped: Pick<Collected, "sessions" | "checkpoints" | "contexts" | "cached"> | undefined;
  try {
    await server.write(async (sql) => {
      // Fences before leases: who takes a lease after both has another fence.
      const old = await sql.perform(pastSessions(rule));
      const open = new Set((await sql.all(OPEN)).map((row) => textColumn(row, "session")));
      const going: Past[] = [];
      for (const one of old) {
        if (open.has(one.id) || leases.holds(one.id) || !(await isStill(sql, one))) continue;
        going.push(one);
        await sql.perform(deleteFamily(one.id, own));
      }
      const found = await sql.perform(sweep(rule, open.size > 0));
      dropped = { sessions: going.map(displayName), ...found };
      if (rule.dryRun) throw DRY;
    });
  } catch (error) {
    if (error !== DRY) throw error;
  }
  if (!dropped) throw new Error("nothing was collected");
  return {
    ...dropped,
    texts: 0,
    texts_in_use: false,
    bytes: rule.dryRun ? 0 : Math.max(0, before - (await sizeOf(server))),
  };
}

/**
 * True if nobody has taken the session's lease since. Who wants it now waits until this transaction
 * has ended.
 */
async function isStill(sql: Sql, { id, fence }: Past): Promise<boolean> {
  return (await sql.get("SELECT id FROM sessions WHERE id = $1 AND fence = $2 FOR UPDATE", id, fence)) !== undefined;
}

/** Sessions that are open. Accounts of providers have leases too. */
const OPEN = "SELECT l.session FROM leases l JOIN sessions s ON s.id = l.session WHERE l.until > clock_timestamp()";

/** Ends the transaction of a dry run. */
const DRY = new Error("a dry run");

async function sizeOf(server: Server): Promise<number> {
  const row = await server.get(
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes FROM pg_class c
      JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1 AND c.relkind = 'r'`,
    server.schema,
  );
  return row ? numberColumn(row, "bytes") : 0;
}
