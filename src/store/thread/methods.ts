import type { ErrorCode } from "../../../runtime/index.ts";
import type { Jobs } from "../jobs/port.ts";
import type { Lease, NewSession, Store } from "../port.ts";
import type { Row } from "../rows/seal.ts";
import type { Shipping } from "../shipping/port.ts";
import type { Database } from "../sqlite/database.ts";

/** Names of the store's methods, those of its jobs behind `jobs.`, and those of its parcels behind `shipping.`. */
type Port = Omit<Store, symbol | keyof Leasing | "jobs" | "shipping"> &
  Leasing & { readonly [Name in keyof Jobs as `jobs.${Name}`]: Jobs[Name] } & {
    readonly [Name in keyof Shipping as `shipping.${Name}`]: Shipping[Name];
  };
export type Method = Exclude<keyof Port, symbol>;

/** A lease on its way between threads. The signal of its loss stays with the caller. */
export type SentLease = Omit<Lease, "lost">;
interface Leasing {
  create(session: NewSession): Promise<SentLease>;
  lease(id: string): Promise<SentLease>;
}

export type Arguments = { readonly [Name in Method]: Parameters<Port[Name]> };
export type Results = { readonly [Name in Method]: Awaited<ReturnType<Port[Name]>> };

export type MethodOf<Name extends Method> = (...args: Arguments[Name]) => Promise<Results[Name]>;
/** The port of the store without its end. */
export type Methods = Omit<Store, typeof Symbol.asyncDispose | keyof Leasing> & Leasing;

/** The methods by their names on the wire, as a server's store has them. */
export type WireMethods = { readonly [Name in Method]: MethodOf<Name> };

/** The methods, answering at once. */
export type SyncMethods = { readonly [Name in Method]: (...args: Arguments[Name]) => Results[Name] };
/** Those of jobs. */
export type SyncJobs = Pick<SyncMethods, `jobs.${keyof Jobs}`>;
/** Those of parcels and shipments. */
export type SyncShipping = Pick<SyncMethods, `shipping.${keyof Shipping}`>;
/** The store as it runs in its thread. */
export interface SyncStore extends Disposable, SyncMethods, Pick<Database, "together"> {
  contents(): Contents;
}

/** The rows of a store in memory by their tables, and its leases. Another thread goes on from them. */
export interface Contents {
  readonly tables: readonly (readonly [name: string, rows: readonly Row[]])[];
  readonly leases: readonly string[];
}

/** Every method of the port, made by its name. A method that is missing here does not compile. */
export function eachMethod(make: <Name extends Method>(name: Name) => MethodOf<Name>): Methods {
  return {
    create: make("create"),
    lease: make("lease"),
    release: make("release"),
    find: make("find"),
    list: make("list"),
    damaged: make("damaged"),
    commit: make("commit"),
    thin: make("thin"),
    journal: make("journal"),
    readable: make("readable"),
    checkpoints: make("checkpoints"),
    checkpoint: make("checkpoint"),
    image: make("image"),
    putBaseline: make("putBaseline"),
    hasBaseline: make("hasBaseline"),
    putContext: make("putContext"),
    context: make("context"),
    contextIndex: make("contextIndex"),
    hasContext: make("hasContext"),
    cached: make("cached"),
    keepText: make("keepText"),
    fork: make("fork"),
    remove: make("remove"),
    gc: make("gc"),
    verify: make("verify"),
    jobs: {
      open: make("jobs.open"),
      add: make("jobs.add"),
      known: make("jobs.known"),
      replace: make("jobs.replace"),
      run: make("jobs.run"),
      runs: make("jobs.runs"),
      damagedRuns: make("jobs.damagedRuns"),
      read: make("jobs.read"),
      find: make("jobs.find"),
      list: make("jobs.list"),
      damaged: make("jobs.damaged"),
      input: make("jobs.input"),
      result: make("jobs.result"),
      counts: make("jobs.counts"),
      begin: make("jobs.begin"),
      finish: make("jobs.finish"),
      put: make("jobs.put"),
      change: make("jobs.change"),
      due: make("jobs.due"),
      lapse: make("jobs.lapse"),
      limit: make("jobs.limit"),
      remove: make("jobs.remove"),
      reserve: make("jobs.reserve"),
      give: make("jobs.give"),
      slot: make("jobs.slot"),
      hush: make("jobs.hush"),
    },
    shipping: {
      keep: make("shipping.keep"),
      parcels: make("shipping.parcels"),
      giveUp: make("shipping.giveUp"),
      waits: make("shipping.waits"),
      delivered: make("shipping.delivered"),
      groups: make("shipping.groups"),
      lease: make("shipping.lease"),
      release: make("shipping.release"),
      close: make("shipping.close"),
      open: make("shipping.open"),
      batches: make("shipping.batches"),
      step: make("shipping.step"),
      requests: make("shipping.requests"),
      answer: make("shipping.answer"),
      end: make("shipping.end"),
      pause: make("shipping.pause"),
    },
  };
}

/** To the store's thread: a call of a method, or `close`, which answers the contents of a store in memory that moves. */
export type Request =
  | { [Name in Method]: { readonly id: number; readonly method: Name; readonly args: Arguments[Name] } }[Method]
  | { readonly id: number; readonly method: "close"; readonly args: readonly [moves: boolean] };

/** From the store's thread, in the order of the requests. Id 0 stands for opening it. */
export type Answer<Value = unknown> =
  | { readonly id: number; readonly ok: true; readonly value: Value }
  | { readonly id: number; readonly ok: false; readonly error: SentError };

/** From the store's thread, beside the answers: it has lost the lease of a session. */
export interface Loss {
  readonly lost: string;
  readonly error: SentError;
}

/** An RlmError on its way between threads. */
export interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly suggestion: string;
}

/** The data with which the thread is started. */
export interface StoreSetup {
  /** A folder, or the URL of a server; null: in memory. */
  readonly place: string | null;
  /** The beginning of a store in memory. */
  readonly contents?: Contents;
}
