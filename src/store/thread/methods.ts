import type { ErrorCode } from "../../../runtime/index.ts";
import type { BatchStore } from "../batch-store.ts";
import type { Jobs } from "../jobs/port.ts";
import type { Lease, NewSession, Store } from "../port.ts";
import type { Row } from "../rows/seal.ts";
import type { Database } from "../sqlite/database.ts";

/** Names of the store's methods, those of its jobs behind `jobs.`, and those of its batches behind `batches.`. */
type Port = Omit<Store, symbol | keyof Leasing | "jobs" | "batches"> &
  Leasing & { readonly [Name in keyof Jobs as `jobs.${Name}`]: Jobs[Name] } & {
    readonly [Name in keyof BatchStore as `batches.${Name}`]: BatchStore[Name];
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

/** The methods by their names on the wire, which answer at once or later. */
export type MethodsOf<W extends When> = {
  readonly [Name in Method]: (...args: Arguments[Name]) => Done<W, Results[Name]>;
};
export type When = "at once" | "later";
export type Done<W, T> = W extends "later" ? Promise<T> : T;
export type WireMethods = MethodsOf<"later">;
export type SyncMethods = MethodsOf<"at once">;

/** The store as it runs in its thread. */
export interface SyncStore extends Disposable, SyncMethods, Pick<Database, "together"> {
  contents(): Contents;
}

/** The rows of a store in memory by their tables, and its leases. Another thread goes on from them. */
export interface Contents {
  readonly tables: readonly (readonly [name: string, rows: readonly Row[]])[];
  readonly leases: readonly string[];
}

const OWN = [
  ...(["create", "lease", "release", "find", "list", "damaged", "commit", "thin", "journal", "readable"] as const),
  ...(["checkpoints", "checkpoint", "image", "putBaseline", "hasBaseline", "putContext", "context"] as const),
  ...(["contextIndex", "hasContext", "cached", "keepText", "fork", "remove", "gc", "verify"] as const),
];
const OF_JOBS = [
  ...(["open", "add", "known", "replace", "run", "runs", "damagedRuns", "read", "find", "list", "damaged"] as const),
  ...(["input", "result", "counts", "begin", "finish", "put", "change", "due", "lapse", "limit", "remove"] as const),
  ...(["reserve", "give", "slot", "hush", "reuse", "reused", "sameFiles", "answersTo"] as const),
];
const OF_BATCHES = [
  ...(["keep", "ofCall", "giveUp", "waits", "delivered", "groups", "lease", "release", "close"] as const),
  ...(["open", "names", "step", "toSend", "answer", "end", "pause"] as const),
];

/** The methods that are listed here. A store that lacks one of the port does not compile. */
interface Listed extends Pick<Omit<Store, keyof Leasing> & Leasing, (typeof OWN)[number]> {
  readonly jobs: Pick<Jobs, (typeof OF_JOBS)[number]>;
  readonly batches: Pick<BatchStore, (typeof OF_BATCHES)[number]>;
}

/** Every method of the port, made by its name. */
export function eachMethod(
  make: <Name extends Method>(name: Name) => (...args: Arguments[Name]) => Promise<Results[Name]>,
): Listed;
export function eachMethod(make: (name: Method) => unknown): object {
  const made = <Name extends string>(names: readonly Name[], one: (name: Name) => unknown) =>
    Object.fromEntries(names.map((name) => [name, one(name)]));
  return {
    ...made(OWN, make),
    jobs: made(OF_JOBS, (name) => make(`jobs.${name}`)),
    batches: made(OF_BATCHES, (name) => make(`batches.${name}`)),
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
