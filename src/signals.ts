/** Aborts with the first of several signals, and no longer once it is disposed of. */
export interface JoinedSignal extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Like `AbortSignal.any`, for work that ends. Node keeps a signal of `any` that has a listener until one of its sources aborts.
 * It keeps all that the listener refers to, so a session that ended well would stay in memory.
 */
export function joinSignals(...sources: readonly (AbortSignal | undefined)[]): JoinedSignal {
  const joined = new AbortController();
  const listeners = new AbortController();
  for (const source of sources) {
    if (source?.aborted) joined.abort(source.reason);
    source?.addEventListener("abort", () => joined.abort(source.reason), { signal: listeners.signal });
  }
  return { signal: joined.signal, [Symbol.dispose]: () => listeners.abort("disposed") };
}

/** Resolves when the signal aborts, at once if it already has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
