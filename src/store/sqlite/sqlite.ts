import { join } from "node:path";
import { guarded } from "../failure.ts";
import { baselineOf, shown } from "../rows/checkpoint.ts";
import { packPages } from "../rows/pages.ts";
import { keepText, readAnswer } from "../sql/cache.ts";
import { checkpointsOf, hasCheckpoint, readCheckpoint, readImage } from "../sql/checkpoints.ts";
import { hasContext, insertContext, readContext, readIndex } from "../sql/contexts.ts";
import type { SyncMethods, SyncStore } from "../thread/methods.ts";
import { insertCheckpoint } from "./checkpoints.ts";
import { gc } from "./gc.ts";
import { jobMethods } from "./jobs/index.ts";
import { openFileLeases, openMemoryLeases } from "./lease.ts";
import { LOCKS_FOLDER, openDatabase } from "./open-database.ts";
import { type Access, sessionMethods } from "./session-methods.ts";
import type { Holder } from "./sessions.ts";
import { verify } from "./verify.ts";

/**
 * Opens the store in a folder, which is made if it is missing; null: a store in memory.
 * @throws RlmError `store_failed`, `store_corrupt`, `store_too_new`
 */
export function openSqliteStore(folder: string | null, holder: Holder, now = Date.now): SyncStore {
  const database = guarded(folder, () => openDatabase(folder));
  const leases = folder === null ? openMemoryLeases() : openFileLeases(join(folder, LOCKS_FOLDER));
  const access: Access = {
    database,
    leases,
    guard: (work) => guarded(folder, work),
    reading: (work) => guarded(folder, () => database.read(work)),
  };
  return {
    ...sessionMethods(access, holder),
    ...checkpointMethods(access),
    ...contextMethods(access),
    ...jobMethods(access, now),
    gc: (rule) => access.guard(() => gc(database, leases, rule)),
    verify: (part, after) => access.reading(() => verify(database, leases, part, after)),
    [Symbol.dispose]() {
      leases[Symbol.dispose]();
      access.guard(() => database.close());
    },
  };
}

type CheckpointMethods = Pick<SyncMethods, "checkpoints" | "checkpoint" | "image" | "putBaseline" | "hasBaseline">;

function checkpointMethods({ database, guard, reading }: Access): CheckpointMethods {
  return {
    checkpoints: (session) => reading(() => database.perform(checkpointsOf(session)).map(shown)),
    checkpoint: (id) => reading(() => shown(database.perform(readCheckpoint(id)))),
    image: (id) => reading(() => database.perform(readImage(id))),
    putBaseline: (id, meta, pages) =>
      guard(() => {
        if (database.perform(hasCheckpoint(id))) return;
        const packed = packPages(pages, meta.linearBytes);
        database.write(() => {
          if (!database.perform(hasCheckpoint(id))) insertCheckpoint(database, baselineOf(id, meta), packed);
        });
      }),
    hasBaseline: (id) => reading(() => database.perform(hasCheckpoint(id))),
  };
}

type ContextMethods = Pick<
  SyncMethods,
  "putContext" | "context" | "contextIndex" | "hasContext" | "cached" | "keepText"
>;

function contextMethods({ database, guard, reading }: Access): ContextMethods {
  return {
    putContext: (context) => guard(() => database.write(() => database.perform(insertContext(context)))),
    context: (hash) => reading(() => database.perform(readContext(hash))),
    contextIndex: (hash) => reading(() => database.perform(readIndex(hash))),
    hasContext: (hash) => reading(() => database.perform(hasContext(hash))),
    cached: (key) => reading(() => database.perform(readAnswer(key))),
    keepText: (hash, text, at) => guard(() => database.perform(keepText(hash, text, at))),
  };
}
