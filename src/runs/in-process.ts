import PQueue from "p-queue";
import { messageOf } from "../platform/errors.ts";
import { aborted } from "../platform/signals.ts";
import { type DeadLetter, type Dispatcher, MOST_LAPSES, type Ticket, type Tried, type Verdict } from "./dispatcher.ts";

/** Settings that tests change. The numbers are those of pg-boss's queues. */
interface InProcessOptions {
  /** Tickets that are held at once; the others wait where they are offered from. */
  readonly held?: number;
  /** Lapses after which a ticket is dead. */
  readonly mostLapses?: number;
  /**
   * Time that a ticket waits after its first lapse, ms. The time doubles with each, up to SLOWEST
   * times as long.
   */
  readonly retryMs?: number;
}

/** The longest wait, as a multiple of `retryMs`. */
const SLOWEST = 60;

interface Handlers {
  attempt(tried: Tried): Promise<Verdict>;
  dead(letter: DeadLetter): Promise<Verdict>;
}

/**
 * Hands tickets out in this process alone. They live as long as it does: the rows say what is to be
 * offered again.
 */
export function openInProcess({
  held = 1000,
  mostLapses = MOST_LAPSES,
  retryMs = 1000,
}: InProcessOptions = {}): Dispatcher {
  const trying = new Map<string, { readonly ticket: Ticket; readonly changed: AbortController }>();
  const tickets = openTickets(held, tryOnce);
  let handlers: Handlers | null = null;
  let lastId = 0;

  async function tryOnce(ticket: Ticket): Promise<void> {
    if (!handlers) return;
    const { lapses = 0 } = ticket;
    const id = String(++lastId);
    const changed = new AbortController();
    trying.set(id, { ticket, changed });
    try {
      const { run, n, rank } = ticket;
      const verdict = await handlers.attempt({ run, n, rank, id, lapses, changed: changed.signal });
      giveBack({ run, n, rank }, verdict);
    } catch (error) {
      await lapsed(ticket, { id, lapses: lapses + 1, why: messageOf(error) });
    } finally {
      trying.delete(id);
    }
  }

  function giveBack(ticket: Ticket, verdict: Verdict): void {
    if (verdict === "over") return;
    const { lapses = 0 } = verdict;
    if ("dueMs" in verdict) tickets.add({ ...ticket, afterMs: verdict.dueMs, lapses });
    else tickets.keep({ ...ticket, afterMs: verdict.againMs, lapses });
  }

  async function lapsed(ticket: Ticket, end: Pick<DeadLetter, "id" | "lapses" | "why">): Promise<void> {
    if (end.lapses > mostLapses) return bury({ ...ticket, ...end });
    const afterMs = retryMs * Math.min(2 ** (end.lapses - 1), SLOWEST);
    tickets.keep({ ...ticket, afterMs, lapses: end.lapses });
  }

  async function bury(letter: DeadLetter): Promise<void> {
    try {
      const verdict = await handlers?.dead(letter);
      const { run, n, rank } = letter;
      if (verdict) giveBack({ run, n, rank }, verdict);
    } catch {
      tickets.after(retryMs * SLOWEST, () => void bury(letter));
    }
  }

  return {
    offer: tickets.offer,
    async work({ concurrency, signal }, attempt, dead) {
      handlers = { attempt, dead };
      tickets.start(concurrency);
      await aborted(signal);
      await tickets.rest();
    },
    async nudge(tries) {
      for (const { ticket, id } of tries) {
        trying.get(id)?.changed.abort();
        tickets.add(ticket);
      }
    },
    [Symbol.asyncDispose]: () => tickets.end(),
  };
}

/** A ticket that waits for its time, or for its turn. */
interface Waiting {
  /** The time before which it is not tried; monotonic, ms. */
  readonly from: number;
  readonly lapses: number;
  /** Takes it away, for one that comes sooner. */
  callOff(): void;
}

/** Tickets that wait here, one of each job, and are tried in the order of their ranks. */
function openTickets(held: number, tryOnce: (ticket: Ticket) => Promise<void>) {
  const queue = new PQueue({ concurrency: 1, autoStart: false });
  /** By the keys of their tickets. No other ticket comes sooner if the value is null. */
  const waiting = new Map<string, Waiting | null>();
  const timers = openTimers();
  /** Tries by the keys of their tickets. */
  const running = new Map<string, Promise<void>>();
  const offers = openOffers(() => waiting.size < held, add);

  /** Its job's row says when it is due: one of the same job that would come later gives way. */
  function add(ticket: Ticket): void {
    const key = keyOf(ticket);
    const from = performance.now() + (ticket.afterMs ?? 0);
    const other = waiting.get(key);
    if (other === null || (other && other.from <= from)) return;
    other?.callOff();
    const best = { ...ticket, lapses: Math.max(other?.lapses ?? 0, ticket.lapses ?? 0) };
    const callOff = later(best);
    if (callOff) waiting.set(key, { from, lapses: best.lapses, callOff });
  }

  /** It waits for as long as it says, even if its job is offered meanwhile. */
  function keep(ticket: Ticket): void {
    const key = keyOf(ticket);
    if (waiting.has(key)) return;
    waiting.set(key, null);
    later(ticket);
  }

  /** @returns what calls it off; `null` if it waits for its turn alone */
  function later(ticket: Ticket): (() => void) | null {
    const { afterMs = 0 } = ticket;
    if (afterMs > 0) return timers.after(afterMs, () => enqueue(ticket));
    enqueue(ticket);
    return null;
  }

  function enqueue(ticket: Ticket): void {
    const key = keyOf(ticket);
    waiting.set(key, null);
    const trial = async () => {
      // The session of a job that is being tried here is free once that try has ended, and not
      // sooner.
      const before = running.get(key);
      if (before) {
        void before.then(() => enqueue(ticket));
        return;
      }
      waiting.delete(key);
      const run = tryOnce(ticket).finally(() => running.delete(key));
      running.set(key, run);
      offers.look();
      await run;
    };
    void queue.add(trial, { priority: -ticket.rank }).catch(() => {});
  }

  /** Tries no further ticket, and waits for those that are being tried. */
  async function rest(): Promise<void> {
    queue.pause();
    await Promise.all(running.values());
  }

  return {
    add,
    keep,
    offer: offers.add,
    after: timers.after,
    start(concurrency: number): void {
      queue.concurrency = concurrency;
      queue.start();
    },
    rest,
    async end(): Promise<void> {
      queue.clear();
      timers.clear();
      offers.end();
      await rest();
    },
  };
}

function openTimers() {
  const timers = new Set<NodeJS.Timeout>();
  return {
    /** @returns what calls it off */
    after(ms: number, then: () => void): () => void {
      const timer = setTimeout(() => {
        timers.delete(timer);
        then();
      }, ms);
      timers.add(timer);
      return () => {
        clearTimeout(timer);
        timers.delete(timer);
      };
    },
    clear() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** Offers that are not taken yet: one after the other, for as long as there is room. */
function openOffers(hasRoom: () => boolean, take: (ticket: Ticket) => void) {
  let last = Promise.resolve();
  let changed = Promise.withResolvers<void>();
  let isOver = false;

  /** Waits for room. False: nothing more is taken. */
  async function goesOn(): Promise<boolean> {
    while (!isOver && !hasRoom()) await changed.promise;
    return !isOver;
  }

  async function takeAll(tickets: Iterable<Ticket> | AsyncIterable<Ticket>): Promise<void> {
    if (!(await goesOn())) return;
    for await (const ticket of tickets) {
      take(ticket);
      if (!(await goesOn())) return;
    }
  }

  return {
    /** Looks whether there is room now. */
    look(): void {
      changed.resolve();
      changed = Promise.withResolvers();
    },
    add(tickets: Iterable<Ticket> | AsyncIterable<Ticket>): Promise<void> {
      const taken = last.then(() => takeAll(tickets));
      last = taken.catch(() => {});
      return taken;
    },
    end(): void {
      isOver = true;
      changed.resolve();
    },
  };
}

const keyOf = ({ run, n }: Ticket) => `${run} ${n}`;
