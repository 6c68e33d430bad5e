import { backgroundClock, type Clock } from "../../../runtime/index.ts";
import { sleep } from "../../platform/sleep.ts";

/** A wait of calls for a server that answered before and is away, or for the first token of an answer. */
export interface Wait {
  readonly for: "server" | "first_token";
  /** The origin of the server's address, or the model, `provider/id`. */
  readonly of: string;
  /** Time that the wait has lasted, and that it can last, ms. */
  readonly waited_ms: number;
  readonly most_ms: number;
}

/** `waiting for http://127.0.0.1:8080, which answered before (12 s of 60 s)` */
export function waitText({ for: what, of, waited_ms, most_ms }: Wait): string {
  const name = what === "server" ? `${of}, which answered before` : `the first token of ${of}`;
  return `waiting for ${name} (${Math.floor(waited_ms / 1000)} s of ${Math.round(most_ms / 1000)} s)`;
}

/** A wait since an instant of the clock's monotonic scale. */
export interface OpenWait extends Omit<Wait, "waited_ms"> {
  readonly since: number;
}

/** Time between two reports, ms. */
const TELL_MS = 1000;
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
  /** Ends the pause between two reports when there is nothing to tell. null: nothing is told. */
  let telling: AbortController | null = null;
  let told: Wait | null = null;

  function report(): void {
    const wait = foremost(Array.from(open, ({ since, ...of }) => ({ ...of, waited_ms: clock.monotonic() - since })));
    if (wait ?? told) tell(wait);
    told = wait;
  }

  async function tellOn(stop: AbortSignal): Promise<void> {
    while (!stop.aborted && (open.size > 0 || told)) {
      report();
      await sleep(backgroundClock, TELL_MS, stop);
    }
    if (!stop.aborted) telling = null;
  }

  function close(wait: OpenWait): void {
    open.delete(wait);
    // A wait that was told may continue after one more request: its end is told with the next
    // report.
    if (open.size > 0 || told) return;
    telling?.abort();
    telling = null;
  }

  return (wait: OpenWait): Disposable => {
    open.add(wait);
    // People are told at once that a server is away.
    if (telling && wait.for === "server" && told?.for !== "server") report();
    if (!telling) {
      telling = new AbortController();
      void tellOn(telling.signal);
    }
    return { [Symbol.dispose]: () => close(wait) };
  };
}
