import type { Context } from "../context/index.ts";
import { storedContext } from "../session/index.ts";
import type { Store } from "../store/index.ts";

/** The contexts that jobs of this process have open: jobs with the same one share it in memory. */
export function openHeldContexts(store: Pick<Store, "context">): (key: string) => Promise<Context> {
  const held = new Map<string, WeakRef<Promise<Context>>>();
  return (key) => {
    const known = held.get(key)?.deref();
    if (known) return known;
    const opening = storedContext(store, key).then((context) => {
      // The context keeps the promise for as long as a session has it.
      kept.set(context, opening);
      return context;
    });
    for (const [other, ref] of held) if (!ref.deref()) held.delete(other);
    held.set(key, new WeakRef(opening));
    opening.catch(() => held.delete(key));
    return opening;
  };
}

const kept = new WeakMap<Context, Promise<Context>>();
