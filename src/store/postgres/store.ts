import { RlmError } from "../../../runtime/errors.ts";
import { misuse } from "../failure.ts";
import type { NewSession, Step, VerifiedPage, VerifyPart } from "../port.ts";
import { baselineOf, shown } from "../rows/checkpoint.ts";
import { packPages } from "../rows/pages.ts";
import { number, text } from "../rows/seal.ts";
import { decodeSession } from "../rows/session.ts";
import { keepText, readAnswer } from "../sql/cache.ts";
import { checkpointsOf, hasCheckpoint, readCheckpoint, readImage } from "../sql/checkpoints.ts";
import { hasContext, insertContext, readContext, readIndex } from "../sql/contexts.ts";
import { fork } from "../sql/fork.ts";
import { dropUnreached } from "../sql/gc.ts";
import { readable, readJournal } from "../sql/journal.ts";
import { refuseSession } from "../sql/parcels.ts";
import {
  CHECKPOINT_BYTES,
  createSession,
  damagedSessions,
  findSession,
  labelOf,
  listSessions,
  readSession,
  shownSession,
} from "../sql/sessions.ts";
import type { Plan } from "../sql/sql.ts";
import { thin } from "../sql/thin.ts";
import { type Verifying, verify } from "../sql/verify.ts";
import type { SentLease, WireMethods } from "../thread/methods.ts";
import { dropUnneeded, insertBaseline } from "./checkpoints.ts";
import { commit, type Leased } from "./commit.ts";
import { connect, type Server } from "./connection.ts";
import { leaseLost } from "./failure.ts";
import { deleteFamily, gc } from "./gc.ts";
import { jobMethods } from "./jobs/index.ts";
import { type LeaseParts, type Leases, openLeases } from "./leases.ts";
import { checkServer } from "./look.ts";
import { migrate } from "./migrate.ts";
import { shippingMethods } from "./shipping.ts";

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
      ...shippingMethods(server, leases),
      gc: (rule) => gc(server, leases, rule),
      verify: (part, after) => verifyPage(server, part, after),
    },
    async [Symbol.asyncDispose]() {
      await leases.close();
      await server.close();
    },
  };
}

function sessionMethods(server: Server, leases: Leases, holder: LeaseParts) {
  /** The sessions whose leases this store has. */
  const known = new Map<string, Leased>();

  async function lease(id: string): Promise<SentLease> {
    const row = await leases.take(await server.perform(readSession(id)));
    const session = decodeSession(row);
    const fence = number(row, "fence");
    const reached = `SELECT c.id, ${CHECKPOINT_BYTES} AS bytes FROM reach r JOIN checkpoints c ON c.n = r.checkpoint
      WHERE r.session = $1`;
    const reach = new Map((await server.all(reached, id)).map((one) => [text(one, "id"), number(one, "bytes")]));
    const shown = await server.perform(shownSession(id));
    // It may have been lost meanwhile, and nobody could be told yet.
    if (!leases.holds(id)) throw leaseLost(id);
    known.set(id, { session, fence, reach });
    return { ...shown, fence };
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
    async commit(id, step: Step) {
      const before = known.get(id);
      if (!before) throw misuse(`session ${id} is written to without its lease`);
      try {
        const after = await commit(server, before, step);
        known.set(id, after.known);
        return after.more;
      } catch (error) {
        if (error instanceof RlmError && error.code === "lease_lost") leases.lose(id);
        throw error;
      }
    },
    async thin(id, ends) {
      const before = known.get(id);
      if (!before) throw misuse(`session ${id} is written to without its lease`);
      const { gone, more } = await server.write(async (sql) => {
        const held = await sql.get("SELECT id FROM sessions WHERE id = $1 AND fence = $2 FOR UPDATE", id, before.fence);
        if (!held) throw leaseLost(id);
        return sql.perform(thin(id, ends, dropUnneeded));
      });
      for (const end of gone) before.reach.delete(end);
      known.set(id, { ...before, session: await server.perform(readSession(id)) });
      return more;
    },
    async fork(session, checkpoint, wanted: NewSession) {
      await server.write((sql) => sql.perform(fork(session, checkpoint, wanted)));
      return server.perform(shownSession(wanted.id));
    },
    async remove(id, { discard = false } = {}) {
      // Its row may be damaged, so only the fence is read.
      const isHeld = leases.holds(id);
      const fence = isHeld
        ? (known.get(id)?.fence ?? 0)
        : number(await leases.take(await server.perform(labelOf(id))), "fence");
      const gone = await server
        .write(async (sql) => {
          const held = await sql.get("SELECT id FROM sessions WHERE id = $1 AND fence = $2 FOR UPDATE", id, fence);
          if (!held) throw leaseLost(id);
          if (!discard) await sql.perform(refuseSession(id));
          const family = await deleteFamily(sql, id);
          await sql.perform(dropUnreached());
          return family;
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
  } satisfies Partial<WireMethods>;
}

function readingMethods(server: Server) {
  /** Performs a plan whose reads are all of one moment. */
  const performed = <T>(plan: () => Plan<T>) => server.read((sql) => sql.perform(plan()));
  return {
    find: (nameOrId) => performed(() => findSession(nameOrId)),
    list: (page) => server.perform(listSessions(page)),
    damaged: () => server.perform(damagedSessions()),
    journal: (id, from = 1) => performed(() => readJournal(id, from)),
    readable: (id) => performed(() => readable(id)),
    checkpoints: (id) => performed(() => checkpointsOf(id)).then((found) => found.map(shown)),
    checkpoint: async (id) => shown(await server.perform(readCheckpoint(id))),
    image: (id) => performed(() => readImage(id)),
    async putBaseline(id, meta, pages) {
      if (await server.perform(hasCheckpoint(id))) return;
      const packed = packPages(pages, meta.linearBytes);
      await server.write((sql) => insertBaseline(sql, baselineOf(id, meta), packed));
    },
    hasBaseline: (id) => server.perform(hasCheckpoint(id)),
  } satisfies Partial<WireMethods>;
}

function contextMethods(server: Server) {
  return {
    putContext: (context) => server.write((sql) => sql.perform(insertContext(context))),
    context: (hash) => server.read((sql) => sql.perform(readContext(hash))),
    contextIndex: (hash) => server.perform(readIndex(hash)),
    hasContext: (hash) => server.perform(hasContext(hash)),
    cached: (key) => server.perform(readAnswer(key)),
    keepText: (hash, text, at) => server.perform(keepText(hash, text, at)),
  } satisfies Partial<WireMethods>;
}

/** Checks a page of a part, all of it as of one moment. */
function verifyPage(server: Server, part: VerifyPart, after: string | null): Promise<VerifiedPage> {
  return server.read(async (sql) => {
    const findings: string[] = [];
    return { next: await sql.perform(verify(part, after, VERIFYING, findings)), findings };
  });
}

/** A server checks its files by itself. What it fails at is no finding. */
const VERIFYING: Verifying = {
  busy: (session) => session.busy === 1,
  file: () => [],
  messageOf(error) {
    if (error instanceof RlmError) return error.message;
    throw error;
  },
};
