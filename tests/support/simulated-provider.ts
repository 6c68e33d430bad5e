import type { Json } from "../../runtime/index.ts";
import {
  type BatchClient,
  ProviderError,
  type ResultRow,
  type RowRequest,
} from "../../src/provider-batches/providers/provider.ts";

/** A clock that moves only when it is told to. */
export interface SimulatedClock {
  now(): number;
  monotonic(): number;
  after(ms: number, then: () => void): () => void;
  /** Runs what is due next, then all that follows from it. false: nothing is due. */
  advance(): Promise<boolean>;
}

export function simulatedClock(start = 1_000_000): SimulatedClock {
  let now = start;
  const due = new Map<object, { readonly at: number; readonly then: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, then) {
      const key = {};
      due.set(key, { at: now + Math.max(0, ms), then });
      return () => void due.delete(key);
    },
    async advance() {
      const [next] = [...due].sort(([, a], [, b]) => a.at - b.at);
      if (!next) return false;
      const [key, { at, then }] = next;
      due.delete(key);
      now = Math.max(now, at);
      then();
      await new Promise(setImmediate);
      return true;
    },
  };
}

interface Batch {
  readonly id: string;
  readonly own: string;
  readonly rows: readonly RowRequest[];
  readonly readyAt: number;
  readonly fate: "done" | "expired" | "lost" | "tokens";
}

/**
 * A provider whose answers are lost, late, refused or wrong, by a random number. `paid` counts how often each request was run with
 * success. With a fence a create finds no file once that is deleted, however late it is carried out; without one it is carried out
 * within 55 s.
 */
export function simulatedProvider(clock: SimulatedClock, random: () => number, hasFence: boolean) {
  const paid = new Map<string, number>();
  const files = new Map<string, readonly RowRequest[]>();
  const batches: Batch[] = [];
  let made = 0;
  const later = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  const chance = (share: number) => random() < share;

  /** What any request may meet: an error before anything is done, or an answer that is lost. */
  async function request<T>(work: () => T, carriedOutMs = random() * 200): Promise<T> {
    await later(random() * 100);
    if (chance(0.04)) throw new ProviderError("503", 503);
    if (chance(0.02)) throw new ProviderError("429", 429);
    if (chance(0.08)) {
      // Nobody gets the answer, and it may be carried out much later.
      clock.after(carriedOutMs, () => {
        try {
          work();
        } catch {}
      });
      await later(random() * 2000);
      throw new ProviderError("the connection was lost", null);
    }
    return work();
  }

  function make(own: string, rows: readonly RowRequest[]): string {
    const id = `batch_${++made}`;
    const fate = chance(0.1) ? "expired" : chance(0.03) ? "lost" : rows.length > 1 && chance(0.05) ? "tokens" : "done";
    const readyAt = clock.now() + random() * 600_000;
    const batch: Batch = { id, own, rows, readyAt, fate };
    batches.push(batch);
    // A batch that nobody knows of runs all the same.
    if (fate !== "tokens") clock.after(readyAt - clock.now(), () => run(batch));
    return id;
  }

  const results = new Map<string, ResultRow[]>();
  /** The rows run when the batch is over. */
  function run({ id, rows, fate }: Batch): ResultRow[] {
    const known = results.get(id);
    if (known) return known;
    const answers = rows.map(({ custom_id, body }): ResultRow => {
      if (fate === "expired" && chance(0.4)) return { custom_id, answer: null };
      if (chance(0.05)) return { custom_id, answer: { status: chance(0.5) ? 429 : 500, body: { error: "busy" } } };
      paid.set(body, (paid.get(body) ?? 0) + 1);
      return { custom_id, answer: { status: 200, body: JSON.parse(body) as Json } };
    });
    results.set(id, answers);
    return answers;
  }

  const found = (id: string) => {
    const batch = batches.find((one) => one.id === id);
    if (!batch) throw new ProviderError("404", 404);
    return batch;
  };

  const client: BatchClient = {
    async create({ id, file, rows, asking }) {
      const given = await all(rows);
      if (!(await asking())) throw new ProviderError("it was not sent", null);
      const late = chance(hasFence ? 0.2 : 0.6) ? random() * (hasFence ? 300_000 : 55_000) : random() * 500;
      return request(() => {
        const held = hasFence ? files.get(file ?? "") : given;
        if (!held) throw new ProviderError("no such file", 400);
        return make(id, held);
      }, late);
    },
    find: ({ id: sought, requests, known }) =>
      request(() => {
        const listed = batches.filter(({ id, rows }) => !known.has(id) && rows.length === requests);
        const made = hasFence ? batches.find((batch) => batch.own === sought) : undefined;
        if (made) return { kind: "found", batch: made.id };
        if (hasFence) return { kind: "none" };
        const over = listed.filter(({ readyAt }) => readyAt <= clock.now());
        const mine = over.find((batch) => batch.own === sought);
        if (mine) return { kind: "found", batch: mine.id };
        return over.length < listed.length ? { kind: "maybe" } : { kind: "none" };
      }),
    look: (id) =>
      request(() => {
        const batch = found(id);
        if (batch.fate === "tokens") return { state: "refused", message: "too many enqueued tokens", why: "tokens" };
        if (clock.now() < batch.readyAt) return { state: "out", done: null };
        return { state: "over" };
      }),
    async results(id) {
      const batch = await request(() => found(id));
      if (batch.fate === "lost") return null;
      const rows = run(batch);
      return (async function* () {
        for (let at = 0; at < rows.length; at += 3) {
          if (chance(0.05)) throw new ProviderError("the answer broke off", null);
          yield rows.slice(at, at + 3).sort(() => random() - 0.5);
        }
      })();
    },
    cancel: (id) => request(() => void found(id)),
  };
  if (hasFence) {
    let uploads = 0;
    client.upload = async (_id, rows) => {
      const held = await all(rows);
      return request(() => {
        const id = `file_${++uploads}`;
        files.set(id, held);
        return id;
      });
    };
    client.fence = (file) => request(() => void files.delete(file));
  }
  return { client, paid, batches };
}

async function all(pages: AsyncIterable<readonly RowRequest[]>): Promise<RowRequest[]> {
  const rows: RowRequest[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}
