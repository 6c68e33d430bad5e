import type { Store } from "../../src/store/port.ts";
import { eachMethod, type Method } from "../../src/store/thread/methods.ts";

/** A method of the store's port. */
export type Operation = Method;

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
    ...eachMethod(
      (name) =>
        (...args) =>
          around(name, () => methodOf(store, name)(...args)),
    ),
    create: (session) => around("create", () => store.create(session)),
    lease: (id) => around("lease", () => store.lease(id)),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function methodOf(store: Store, name: Operation) {
  const [first = "", behind] = name.split(".");
  const found = Reflect.get(store, first);
  return behind === undefined ? found : Reflect.get(found, behind);
}
