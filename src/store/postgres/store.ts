import { hasCode, RlmError } from "../../../runtime/errors.ts";
import { misuse } from "../failure.ts";
import type { BareLease, Methods } from "../methods.ts";
import { leaseOfAccount } from "../rows/batch.ts";
import { baselineOf, fieldsOfCheckpoint, type Writing } from "../rows/checkpoint.ts";
import { packedBytes, packText } from "../rows/pack.ts";
import type { PackedPages } from "../rows/pages.ts";
import { numberColumn, seal, textColumn } from "../rows/seal.ts";
import { decodeSession } from "../rows/session.ts";
import { hasCheckpoint, insertPages, packInTurns } from "../sql/checkpoints.ts";
import { removeSession } from "../sql/gc.ts";
import { type Dialect, planned } from "../sql/planned.ts";
import { CHECKPOINT_BYTES, createSession, labelOf, readSession, shownSession } from "../sql/sessions.ts";
import { get, oneOf, raw, run, sql } from "../sql/sql.ts";
import { thin } from "../sql/thin.ts";
import { commit, type Leased } from "./commit.ts";
import { connect, type Server, type Sql } from "./connection.ts";
import { leaseLost } from "./failure.ts";
import { NOW } from "./functions.ts";
import { gc } from "./gc.ts";
import { dueJobs, moneyMethods } from "./jobs.ts";
import { type LeaseParts, type Leases, openLeases } from "./leases.ts";
import { checkServer } from "./look.ts";
import { migrate } from "./migrate.ts";

/** A store on a server. */
export interface ServerStore extends AsyncDisposable {
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
    // What the server fails at is not a finding.
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
