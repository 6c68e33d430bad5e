import type { BatchStore } from "./batch-store.ts";
import type { Jobs } from "./job-store.ts";
import type { Lease, NewSession, Store, Texts } from "./port.ts";

/** A lease as a database gives it. The signal of its loss is added where the store is opened. */
export type BareLease = Omit<Lease, "lost">;

interface Leasing {
  create(session: NewSession): Promise<BareLease>;
  lease(id: string): Promise<BareLease>;
}

/** The methods that a database provides. */
type OfDatabase = Omit<Store, symbol | keyof Leasing | "texts"> & Leasing;

/**
 * Every method of the port on one level: those of its jobs are named `jobs.…`, those of its batches
 * `batches.…`. So a database is one list of methods, each of which can be wrapped in the same way.
 */
export type Methods = Omit<OfDatabase, "jobs" | "batches"> & {
  readonly [Name in keyof Jobs as `jobs.${Name}`]: Jobs[Name];
} & { readonly [Name in keyof BatchStore as `batches.${Name}`]: BatchStore[Name] };

/** A method that is wrapped. What it takes and returns does not matter. */
export type AnyMethod = (...args: never[]) => Promise<unknown>;

/** Returns a method that takes and returns the same as the one that it is given. */
type Wrap = (method: AnyMethod, name: string) => AnyMethod;

/** Wraps each method. */
export function wrapEach(methods: Methods, wrap: Wrap): Methods;
export function wrapEach(methods: Readonly<Record<string, AnyMethod>>, wrap: Wrap): object {
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, wrap(method, name)]));
}

/** A store that is at work: its methods may be called at any time, and `close` waits for them. */
export interface Serving {
  readonly methods: Methods;
  readonly texts: Texts | null;
  close(): Promise<void>;
}

/** The methods as the port has them. */
export function portOf(methods: Methods): OfDatabase;
export function portOf(methods: Readonly<Record<string, AnyMethod>>): object {
  const port: Record<string, unknown> = {};
  const inner: Record<string, Record<string, AnyMethod>> = {};
  for (const [path, method] of Object.entries(methods)) {
    const [first = "", second] = path.split(".");
    if (second === undefined) port[first] = method;
    else inner[first] = { ...inner[first], [second]: method };
  }
  return Object.assign(port, inner);
}
