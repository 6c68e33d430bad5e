import { backgroundClock, type Clock } from "../../../runtime/index.ts";
import type { Patience } from "../../models/index.ts";
import { sleep } from "../../platform/signals.ts";
import type { SessionEvent, Wait } from "../events.ts";

/** The patience of a tree of sessions with the servers of their models. */
export interface TreePatience extends Patience {
  readonly answered: Set<string>;
  /** The time of the tree's execs and calls, which stands still while a server is waited for. */
  readonly time: StandingClock;
}

/** The clock that waits are measured by, and the place where they are reported. */
interface Host {
  readonly clock: Clock;
  emit(event: SessionEvent): void;
}

/** @param mostMs the longest wait for a server, ms */
export function openPatience({ clock, emit }: Host, mostMs: number): TreePatience {
  const time = openStandingClock(clock);
  const opened = openWaits(clock, (wait) => emit({ kind: "waiting", wait }));
  return {
    clock,
    mostMs,
    time,
    answered: new Set(),
    firstToken: (model, most_ms) => opened({ for: "first_token", of: model, since: clock.monotonic(), most_ms }),
    async waiting(server, since, work) {
      const of = URL.parse(server)?.origin ?? server;
      using _told = opened({ for: "server", of, since, most_ms: mostMs });
      return await time.paused(work);
    },
  };
}

/** `waiting for http://127.0.0.1:8080, which answered before (12 s of 60 s)` */
export function waitText({ for: what, of, waited_ms, most_ms }: Wait): string {
  const name = what === "server" ? `${of}, which answered before` : `the first token of ${of}`;
  return `waiting for ${name} (${Math.floor(waited_ms / 1000)} s of ${Math.round(most_ms / 1000)} s)`;
}

/** A wait since an instant of the clock's monotonic scale. */
interface OpenWait extends Omit<Wait, "waited_ms"> {
  readonly since: number;
}

/** Time between two reports, ms. */
const TELL_MS = 1000;
const NEVER = new AbortController().signal;
/** A first token that is waited for less long is not told of, ms. */
const USUAL_MS = 10_000;

/** The wait that people are told of: the longest one for a server, else for a first token that is late. null: there is none. */
export function foremost(waits: readonly Wait[]): Wait | null {
  const longest = waits.toSorted((a, b) => b.waited_ms - a.waited_ms);
  const server = longest.find((wait) => wait.for === "server");
  return server ?? longest.find(({ waited_ms }) => waited_ms >= USUAL_MS) ?? null;
}

/** Opens the waits of a tree of sessions. `tell` hears each second of the one that matters most, and of null when there is none. */
export function openWaits(clock: Pick<Clock, "monotonic">, tell: (wait: Wait | null) => void) {
  const open = new Set<OpenWait>();
  let isTelling = false;
  let reported: Wait | null = null;

  function report(): void {
    const wait = foremost(Array.from(open, ({ since, ...of }) => ({ ...of, waited_ms: clock.monotonic() - since })));
    if (wait ?? reported) tell(wait);
    reported = wait;
  }

  /** The end of a wait is told with the next report: it may continue after one more request. */
  async function tellOn(): Promise<void> {
    isTelling = true;
    while (open.size > 0 || reported) {
      report();
      await sleep(backgroundClock, TELL_MS, NEVER);
    }
    isTelling = false;
  }

  return (wait: OpenWait): Disposable => {
    open.add(wait);
    // People are told at once that a server is away.
    if (isTelling && wait.for === "server" && reported?.for !== "server") report();
    if (!isTelling) void tellOn();
    return { [Symbol.dispose]: () => void open.delete(wait) };
  };
}

/** A clock that stands still during some waits, which have nothing to do with the time that it measures. */
export interface StandingClock extends Clock {
  /** Does work during which the clock stands still. */
  paused<T>(work: () => Promise<T>): Promise<T>;
}

export function openStandingClock(clock: Clock): StandingClock {
  /** For how long the time has stood still, ms, since when it does now, and for how many waits. */
  let stood = 0;
  let since: number | null = null;
  let waits = 0;
  let going = Promise.withResolvers<void>();
  const monotonic = () => (since ?? clock.monotonic()) - stood;
  return {
    now: clock.now,
    monotonic,
    after(ms: number, run: () => void): () => void {
      const until = monotonic() + ms;
      let isOff = false;
      let stoodThen = stood;
      let callOff = clock.after(ms, due);
      function due(): void {
        if (isOff) return;
        if (since !== null) return void going.promise.then(due);
        const left = stood === stoodThen ? 0 : until - monotonic();
        stoodThen = stood;
        if (left > 0) callOff = clock.after(left, due);
        else run();
      }
      return () => {
        isOff = true;
        callOff();
      };
    },
    async paused<T>(work: () => Promise<T>): Promise<T> {
      since ??= clock.monotonic();
      waits += 1;
      try {
        return await work();
      } finally {
        waits -= 1;
        if (waits === 0) {
          stood += clock.monotonic() - since;
          since = null;
          going.resolve();
          going = Promise.withResolvers();
        }
      }
    },
  };
}
