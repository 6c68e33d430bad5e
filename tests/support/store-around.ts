import type { Store } from "../../src/store/index.ts";

/** The name of a method of the store's port, such as `commit` or `jobs.begin`. */
export type Operation = string;

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
  const wrapped = <T extends object>(methods: T, before: string): T =>
    new Proxy(methods, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name);
        if (typeof name !== "string") return found;
        if (typeof found === "function") {
          return (...args: unknown[]) => around(before + name, () => Reflect.apply(found, target, args));
        }
        return typeof found === "object" && found !== null ? wrapped(found, `${name}.`) : found;
      },
    });
  return wrapped(store, "");
}
