import { corrupt, misuse } from "../failure.ts";
import type { NewSession, Readable, Step } from "../port.ts";
import { shown, wholeCheckpoints } from "../rows/checkpoint.ts";
import { recordsIn } from "../rows/journal.ts";
import { packPages } from "../rows/pages.ts";
import { number, type Row, text } from "../rows/seal.ts";
import { blank, decodeSession } from "../rows/session.ts";
import { hashesIn } from "../rows/uses.ts";
import { checkSessionId } from "../session-id.ts";
import { keepText, readAnswer } from "../sql/cache.ts";
import { hasContext, insertContext, readContext, readIndex } from "../sql/contexts.ts";
import { addUses } from "../sql/uses.ts";
import type { Method, Results, SentLease, WireMethods } from "../thread/methods.ts";
import { checkServer } from "./check-server.ts";
import { hasCheckpoint, insertBaseline, readableCheckpoints, readCheckpoint, readImage } from "./checkpoints.ts";
import { commit, type Leased } from "./commit.ts";
import { connect, type Server, type Sql } from "./connection.ts";
import { leaseLost } from "./failure.ts";
import { fork } from "./fork.ts";
import { deleteFamily, dropUnreached, gc } from "./gc.ts";
import { jobMethods } from "./jobs/index.ts";
import { type LeaseParts, type Leases, openLeases } from "./leases.ts";
import { migrate } from "./migrate.ts";
import {
  damagedSessions,
  findSession,
  insertSession,
  labelOf,
  listedRows,
  readSession,
  SHOWN,
  shownSession,
} from "./sessions.ts";
import { verify } from "./verify.ts";

/** A store on a server, as it works in the store's thread. */
export interface ServerStore extends AsyncDisposable {
  readonly methods: WireMethods;
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
  return {
    methods: {
      ...sessionMethods(server, leases, parts),
      ...readingMethods(server),
      ...contextMethods(server),
      ...jobMethods(server, leases),
      gc: (rule) => gc(server, leases, rule),
      verify: (part, after) => verify(server, part, after),
    },
    async [Symbol.asyncDispose]() {
      await leases.close();
      await server.close();
    },
  };
}

type Some<Names extends Method> = Pick<WireMethods, Names>;

function sessionMethods(
  server: Server,
  leases: Leases,
  { pid, host }: LeaseParts,
): Some<"create" | "lease" | "release" | "commit" | "fork" | "remove"> {
  /** What is known of the sessions whose leases this store has. */
  const known = new Map<string, Leased>();

  async function lease(id: string): Promise<SentLease> {
    const row = await leases.take(await readSession(server, id));
    const session = decodeSession(row);
    const fence = number(row, "fence");
    const reached = "SELECT c.id FROM reach r JOIN checkpoints c ON c.n = r.checkpoint WHERE r.session = $1";
    const reach = new Set((await server.all(reached, id)).map((one) => text(one, "id")));
    const shown = shownSession(await shownRow(server, id));
    // It may have been lost meanwhile, and nobody could be told yet.
    if (!leases.holds(id)) throw leaseLost(id);
    known.set(id, { session, fence, reach });
    return { ...shown, fence };
  }

  return {
    async create(session) {
      checkSessionId(session.id);
      await insertSession(server, blank(session));
      await server.perform(addUses(session.id, hashesIn(session.settings)));
      await server.run("UPDATE sessions SET pid = $2, host = $3 WHERE id = $1", session.id, pid, host);
      return lease(session.id);
    },
    lease,
    async release(id) {
      known.delete(id);
      await leases.release(id);
    },
    async commit(id, step: Step) {
      const before = known.get(id);
      if (!before) throw misuse(`session ${id} is written to without its lease`);
      try {
        known.set(id, await commit(server, before, step));
      } catch (error) {
        if (isLeaseLost(error)) leases.lose(id);
        throw error;
      }
    },
    async fork(session, checkpoint, wanted: NewSession) {
      checkSessionId(wanted.id);
      await server.write((sql) => fork(sql, session, checkpoint, wanted));
      return shownSession(await shownRow(server, wanted.id));
    },
    async remove(id) {
      // Its row may be damaged, so only the fence is read.
      const fence = leases.holds(id)
        ? (known.get(id)?.fence ?? 0)
        : number(await leases.take(await labelOf(server, id)), "fence");
      const gone = await server.write(async (sql) => {
        const held = await sql.get("SELECT id FROM sessions WHERE id = $1 AND fence = $2 FOR UPDATE", id, fence);
        if (!held) throw leaseLost(id);
        const family = await deleteFamily(sql, id);
        await dropUnreached(sql);
        return family;
      });
      for (const one of gone) {
        known.delete(one);
        await leases.release(one);
      }
    },
  };
}

function isLeaseLost(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, "code") === "lease_lost";
}

async function shownRow(sql: Sql, id: string): Promise<Row> {
  await readSession(sql, id);
  const row = await sql.get(`SELECT ${SHOWN} FROM sessions s WHERE id = $1`, id);
  if (!row) throw corrupt(`session ${id} went while it was read`);
  return row;
}

type Reading =
  | ("find" | "list" | "damaged" | "journal" | "readable")
  | ("checkpoints" | "checkpoint" | "image" | "putBaseline" | "hasBaseline");

function readingMethods(server: Server): Some<Reading> {
  return {
    find: (nameOrId) =>
      server.read(async (sql): Promise<Results["find"]> => {
        const id = await findSession(sql, nameOrId);
        return id === null ? null : shownSession(await shownRow(sql, id));
      }),
    list: async (page) => (await listedRows(server, page)).map(shownSession),
    damaged: () => damagedSessions(server),
    journal: (id, from = 1) =>
      server.read(async (sql) => {
        const { rows, damaged } = await journalOf(sql, id, from);
        const [first] = damaged;
        if (first !== undefined) throw corrupt(first);
        return rows;
      }),
    readable: (id) =>
      server.read(async (sql): Promise<Readable> => {
        const { rows, damaged } = await journalOf(sql, id, 1);
        const found = await readableCheckpoints(sql, await readSession(sql, id));
        return {
          records: rows,
          checkpoints: found.checkpoints.map(shown),
          damaged: [
            ...damaged,
            ...found.damaged.map((one) => `checkpoint ${one} is damaged`),
            ...(found.miscounted === null ? [] : [found.miscounted]),
          ],
        };
      }),
    checkpoints: (id) =>
      server.read(async (sql) =>
        wholeCheckpoints(await readableCheckpoints(sql, await readSession(sql, id))).map(shown),
      ),
    checkpoint: async (id) => shown(await readCheckpoint(server, id)),
    image: (id) => server.read((sql) => readImage(sql, id)),
    async putBaseline(id, meta, pages) {
      if (await hasCheckpoint(server, id)) return;
      const packed = packPages(pages, meta.linearBytes);
      await server.write((sql) => insertBaseline(sql, { ...BASELINE, id, meta }, packed));
    },
    hasBaseline: (id) => hasCheckpoint(server, id),
  };
}

async function journalOf(sql: Sql, id: string, from: number) {
  const session = await readSession(sql, id);
  const stored = "SELECT * FROM journal WHERE session = $1 AND seq >= $2 ORDER BY seq";
  return recordsIn(await sql.all(stored, id, from), session, from);
}

const BASELINE = {
  session: null,
  parent: null,
  base: null,
  exec_id: null,
  kind: "baseline",
  seq: 0,
  chain: { length: 0, bytes: 0 },
  extras: null,
  at: 0,
} as const;

function contextMethods(
  server: Server,
): Some<"putContext" | "context" | "contextIndex" | "hasContext" | "cached" | "keepText"> {
  return {
    putContext: (context) => server.write((sql) => sql.perform(insertContext(context))),
    context: (hash) => server.read((sql) => sql.perform(readContext(hash))),
    contextIndex: (hash) => server.perform(readIndex(hash)),
    hasContext: (hash) => server.perform(hasContext(hash)),
    cached: (key) => server.perform(readAnswer(key)),
    keepText: (hash, text, at) => server.perform(keepText(hash, text, at)),
  };
}
