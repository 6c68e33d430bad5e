import { hostname } from "node:os";
import { type Serving, wrapEach } from "../methods.ts";
import { openPostgresStore } from "./store.ts";

/**
 * Serves the store on a server. Several requests are out at once, but those of one session or run are carried out in order.
 * @param lost is told the session of each lease that is lost
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function serveServer(url: string, lost: (session: string) => void): Promise<Serving> {
  const store = await openPostgresStore(url, { pid: process.pid, host: hostname(), lost });
  const turns = openTurns();
  return {
    methods: wrapEach(store.methods, (method) => (...args) => {
      const [first]: readonly unknown[] = args;
      return turns.take(typeof first === "string" ? first : null, () => method(...args));
    }),
    async close() {
      await turns.over();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Work that is out: on one subject in turns, on none at once. */
interface Turns {
  take<T>(subject: string | null, work: () => Promise<T>): Promise<T>;
  /** Resolves when all is done, whatever came of it. */
  over(): Promise<void>;
}

function openTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  const out = new Set<Promise<unknown>>();
  return {
    take(subject, work) {
      const before = subject === null ? undefined : last.get(subject);
      const turn = before ? before.then(work, work) : work();
      out.add(turn);
      if (subject !== null) last.set(subject, turn);
      const end = () => {
        out.delete(turn);
        if (subject !== null && last.get(subject) === turn) last.delete(subject);
      };
      turn.then(end, end);
      return turn;
    },
    async over() {
      await Promise.allSettled(out);
    },
  };
}
