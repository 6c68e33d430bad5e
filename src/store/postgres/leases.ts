import { randomUUID } from "node:crypto";
import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { displayName } from "../../platform/ids.ts";
import { numberColumn, type Row, textColumn } from "../rows/row.ts";
import type { Session } from "../rows/session.ts";
import type { Holder } from "../sql/sessions.ts";
import type { Server } from "./connection.ts";

/** Time that a lease lasts without a beat, ms. */
const LEASE_MS = 20_000;
/** The number of beats in a lease. */
const BEATS = 5;

/**
 * The leases of this store. Each write carries its fence; one that another process has replaced is
 * refused.
 */
export interface Leases {
  /**
   * Takes the lease; answers the row of the session with its fence.
   *
   * @throws RlmError `session_busy`
   */
  take(session: Label): Promise<Row>;
  /**
   * Takes the lease of a provider's account, by its id among leases; returns its fence. null:
   * another process has it.
   */
  takeAccount(id: string, account: string): Promise<number | null>;
  release(id: string): Promise<void>;
  holds(id: string): boolean;
  /** Another process has the session, as a write has learnt. */
  lose(id: string): void;
  close(): Promise<void>;
}

/** The name and id of a session whose row may be damaged. */
type Label = Pick<Session, "id" | "name">;

export interface LeaseParts extends Holder {
  /** Called once for a lease that is lost. */
  lost(session: string): void;
}

export function openLeases(server: Server, { pid, host, lost }: LeaseParts): Leases {
  const holder = randomUUID();
  const lastMs = leaseMs(process.env.BELAY_LEASE_MS);
  const beatMs = lastMs / BEATS;
  /** By session: the instant on the monotonic clock from which another process may have it. */
  const held = new Map<string, number>();
  let beating: Promise<void> | null = null;

  function lose(id: string): void {
    if (held.delete(id)) lost(id);
  }

  async function beat(): Promise<void> {
    const asked = [...held.keys()];
    if (asked.length === 0) return;
    const from = performance.now();
    const still = await server.all(BEAT, holder, asked, lastMs).catch(() => null);
    if (still) {
      const kept = new Set(still.map((row) => textColumn(row, "session")));
      for (const id of asked) {
        if (!kept.has(id)) lose(id);
        else if (held.has(id)) held.set(id, from + lastMs);
      }
    }
  }

  const timer = setInterval(() => {
    const now = performance.now();
    for (const [id, until] of held) if (now > until - beatMs) lose(id);
    beating ??= beat().finally(() => {
      beating = null;
    });
  }, beatMs).unref();

  return {
    async take(session) {
      const from = performance.now();
      const row = held.has(session.id) ? undefined : await server.get(TAKE, session.id, holder, lastMs, pid, host);
      if (!row) throw await busyError(server, session);
      held.set(session.id, from + lastMs);
      return row;
    },
    async takeAccount(id, account) {
      const from = performance.now();
      const row = held.has(id) ? undefined : await server.get(TAKE_ACCOUNT, id, holder, lastMs, account);
      if (!row) return null;
      held.set(id, from + lastMs);
      return numberColumn(row, "fence");
    },
    async release(id) {
      if (held.delete(id)) await server.run("DELETE FROM leases WHERE session = $1 AND holder = $2", id, holder);
    },
    holds: (id) => held.has(id),
    lose,
    async close() {
      clearInterval(timer);
      await beating;
      const ids = [...held.keys()];
      held.clear();
      if (ids.length === 0) return;
      await server.run("DELETE FROM leases WHERE session = ANY($1) AND holder = $2", ids, holder).catch(() => {});
    },
  };
}

/**
 * The deadline stands in the row that is locked: of two takers one waits for the other, and then
 * sees it.
 */
const takenFrom = (ids: string) => `WITH taken AS (
  INSERT INTO leases AS l (session, holder, until)
    SELECT id, $2, clock_timestamp() + $3 * interval '1 ms' FROM ${ids} WHERE id = $1
    ON CONFLICT (session) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE l.until <= clock_timestamp() RETURNING session)`;

const TAKE = `${takenFrom("sessions")}
  UPDATE sessions s SET fence = s.fence + 1, pid = $4, host = $5 FROM taken WHERE s.id = taken.session RETURNING s.*`;

const TAKE_ACCOUNT = `${takenFrom("(SELECT $1::text AS id) one")}
  INSERT INTO accounts AS a (id, fence) SELECT $4, 1 FROM taken
    ON CONFLICT (id) DO UPDATE SET fence = a.fence + 1 RETURNING fence`;

/** A beat names the sessions: one whose release failed is not kept alive. */
const BEAT = `UPDATE leases SET until = clock_timestamp() + $3 * interval '1 ms'
  WHERE holder = $1 AND session = ANY($2) RETURNING session`;

async function busyError(server: Server, session: Label): Promise<RlmError> {
  const row = await server.get(
    `SELECT s.pid, s.host, greatest(0, ceil(extract(epoch FROM l.until - clock_timestamp())))::int AS seconds
      FROM sessions s JOIN leases l ON l.session = s.id WHERE s.id = $1`,
    session.id,
  );
  const who = row && row.pid !== null ? `process ${row.pid} on ${row.host}` : "another process";
  const left = row ? `; its lease ends in ${numberColumn(row, "seconds")} s unless it renews it` : "";
  const suggestion = `Wait until it is done, or ${remedy("fork")}.`;
  return new RlmError("session_busy", `session ${displayName(session)} is held by ${who}${left}`, { suggestion });
}

/** Tests shorten the lease. */
function leaseMs(given: string | undefined): number {
  const ms = Number(given);
  return Number.isFinite(ms) && ms >= 100 && ms <= LEASE_MS ? ms : LEASE_MS;
}
