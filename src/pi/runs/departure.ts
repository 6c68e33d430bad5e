/** Pi's presence on the session that the calls are of. */
export interface Departure {
  /** Aborts when what runs is to be suspended. */
  readonly suspended: AbortSignal;
  suspend(): void;
  /** Lets what runs continue although Pi leaves. */
  goOn(): void;
  hasLeft(): boolean;
  /** True if Pi has told that it is about to leave. */
  isNear(): boolean;
  near(is: boolean): void;
  /** The time after which a call that Pi aborts now counts as cancelled, ms; null: it is cancelled at once. */
  grace(): number | null;
}

/** ms that a call which Pi has aborted continues: it was about to leave the session, or may be about to quit. */
const DEPARTING_MS = 5_000;
const QUITTING_MS = 1_000;

/** @param quitsByAbort true if this Pi aborts what runs before it tells that it quits */
export function openDeparture(quitsByAbort: boolean): Departure {
  const suspend = new AbortController();
  let isNear = false;
  let goesOn = false;
  return {
    suspended: suspend.signal,
    suspend: () => suspend.abort(),
    goOn(): void {
      goesOn = true;
    },
    hasLeft: () => goesOn || suspend.signal.aborted,
    isNear: () => isNear,
    near(is: boolean): void {
      isNear = is;
    },
    grace(): number | null {
      if (isNear) return DEPARTING_MS;
      return quitsByAbort ? QUITTING_MS : null;
    },
  };
}
