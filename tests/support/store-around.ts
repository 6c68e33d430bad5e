import type { Store } from "../../src/store/port.ts";

/** A method of the store's port. */
export type Operation = Exclude<keyof Store, typeof Symbol.asyncDispose>;

/** Operations that write, or take what other processes can see. */
export const WRITES: ReadonlySet<Operation> = new Set([
  "create",
  "lease",
  "release",
  "commit",
  "putBaseline",
  "putContext",
  "fork",
  "remove",
  "gc",
]);

/** Carries an operation out, or does something else in its stead. */
export type Around = <T>(name: Operation, run: () => Promise<T>) => Promise<T>;

/** A store whose every operation goes through `around`. */
export function storeAround(store: Store, around: Around): Store {
  return {
    create: (session) => around("create", () => store.create(session)),
    lease: (id) => around("lease", () => store.lease(id)),
    release: (id) => around("release", () => store.release(id)),
    find: (nameOrId) => around("find", () => store.find(nameOrId)),
    list: () => around("list", () => store.list()),
    commit: (session, step) => around("commit", () => store.commit(session, step)),
    journal: (session, from) => around("journal", () => store.journal(session, from)),
    checkpoints: (session) => around("checkpoints", () => store.checkpoints(session)),
    checkpoint: (id) => around("checkpoint", () => store.checkpoint(id)),
    image: (id) => around("image", () => store.image(id)),
    putBaseline: (id, meta, pages) => around("putBaseline", () => store.putBaseline(id, meta, pages)),
    hasBaseline: (id) => around("hasBaseline", () => store.hasBaseline(id)),
    putContext: (context) => around("putContext", () => store.putContext(context)),
    context: (hash) => around("context", () => store.context(hash)),
    contextIndex: (hash) => around("contextIndex", () => store.contextIndex(hash)),
    hasContext: (hash) => around("hasContext", () => store.hasContext(hash)),
    cached: (key) => around("cached", () => store.cached(key)),
    fork: (session, checkpoint, fork) => around("fork", () => store.fork(session, checkpoint, fork)),
    remove: (session) => around("remove", () => store.remove(session)),
    gc: (rule) => around("gc", () => store.gc(rule)),
    verify: () => around("verify", () => store.verify()),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
