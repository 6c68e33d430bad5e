import { AsyncLocalStorage } from "node:async_hooks";

type Fetch = typeof globalThis.fetch;

/** Answers the requests of one call. @param plain the `fetch` of the process */
export type Fetching = (plain: Fetch, ...request: Parameters<Fetch>) => Promise<Response>;

const calls = new AsyncLocalStorage<Fetching | null>();
let isReplaced = false;

/**
 * Runs `send`. The requests that it makes with `fetch` go to `fetching`; null: to the `fetch` of
 * the process.
 */
export function fetchingBy<T>(fetching: Fetching | null, send: () => T): T {
  replaceFetch();
  return calls.run(fetching, send);
}

/**
 * Google's SDK takes no `fetch` but the global one. Requests of others go to the one that was
 * there.
 */
function replaceFetch(): void {
  if (isReplaced) return;
  isReplaced = true;
  const plain = globalThis.fetch;
  globalThis.fetch = (...request) => {
    const fetching = calls.getStore();
    return fetching ? fetching(plain, ...request) : plain(...request);
  };
}
