import { describe, expect, test } from "vitest";
import type { DeadLetter, Dispatcher, Ticket, Tried, Verdict } from "../../../src/runs/dispatcher.ts";
import { openInProcess } from "../../../src/runs/in-process.ts";
import { openPgBoss, queueFigures } from "../../../src/runs/pg-boss.ts";
import { tryJob } from "../../../src/runs/try.ts";
import { giveUpJob } from "../../../src/runs/worker.ts";
import { DONE, jobScene } from "../../support/jobs/scene.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { askServer } from "../../support/postgres/sql.ts";

const ticket = (n: number, more: Partial<Ticket> = {}): Ticket => ({ run: "R", n, rank: n, ...more });

/** What a worker does with the tickets that it gets, and what it was told. */
async function working(
  dispatcher: Dispatcher,
  attempt: (tried: Tried, count: number) => Promise<Verdict>,
  { concurrency = 1, bury = async (_: DeadLetter): Promise<Verdict> => "over" } = {},
) {
  const tried: number[] = [];
  const dead: string[] = [];
  const stop = new AbortController();
  let wake = () => {};
  const work = dispatcher.work(
    { concurrency, signal: stop.signal },
    async (one) => {
      tried.push(one.n);
      try {
        return await attempt(one, tried.filter((n) => n === one.n).length);
      } finally {
        wake();
      }
    },
    async (letter) => {
      dead.push(`${letter.n}: ${letter.why}, ${letter.lapses} lapses`);
      try {
        return await bury(letter);
      } finally {
        wake();
      }
    },
  );
  return {
    tried,
    dead,
    /** Resolves once this holds. */
    async until(holds: () => boolean) {
      while (!holds()) await new Promise<void>((resolve) => (wake = resolve));
    },
    async stop() {
      stop.abort();
      await work;
    },
    async stopAfter(tries: number) {
      await this.until(() => tried.length === tries);
      await this.stop();
    },
  };
}

let shared: Promise<string> | undefined;
let queues = 0;

const KINDS = [
  { kind: "in the process", skipped: null, open: async () => openInProcess({ retryMs: 1 }) },
  {
    kind: "pg-boss",
    skipped: NO_POSTGRES,
    async open() {
      shared ??= freshStoreUrl();
      return openPgBoss({
        url: await shared,
        queue: `queue-${++queues}`,
        periods: { touch: 1, poll: 0.5, pollDead: 0.5, retry: 0 },
      });
    },
  },
];

describe.each(KINDS)("a dispatcher: $kind", ({ skipped, open }) => {
  const dispatched = (title: string, work: (dispatcher: Dispatcher) => Promise<void>) =>
    test(title, async ({ skip }) => {
      skip(skipped !== null, skipped ?? "");
      await using dispatcher = await open();
      await work(dispatcher);
    });

  dispatched("tickets are tried in the order of their ranks, and a job has one that waits", async (dispatcher) => {
    await dispatcher.offer([ticket(3), ticket(1), ticket(2), ticket(3), ticket(1)]);
    const worker = await working(dispatcher, async () => "over");
    await worker.stopAfter(3);
    expect(worker.tried).toEqual([1, 2, 3]);
  });

  dispatched("a job that is being tried can be offered again, and is tried again after it", async (dispatcher) => {
    await dispatcher.offer([ticket(1)]);
    const worker = await working(dispatcher, async (_, count) => {
      if (count === 1) await dispatcher.offer([ticket(1), ticket(1)]);
      return "over";
    });
    await worker.stopAfter(2);
    expect(worker.tried).toEqual([1, 1]);
  });

  dispatched(
    "a verdict gives the ticket back, and one that is to wait waits behind those that need not",
    async (dispatcher) => {
      await dispatcher.offer([ticket(1), ticket(2, { afterMs: 30 }), ticket(3)]);
      const worker = await working(dispatcher, async ({ n }, count) =>
        n === 1 && count === 1 ? { againMs: 60 } : "over",
      );
      await worker.stopAfter(4);
      // A server counts in whole seconds: what waits may be due at once.
      expect(worker.tried.slice(0, 2)).toEqual([1, 3]);
      expect(worker.tried.slice(2).toSorted()).toEqual([1, 2]);
    },
  );

  dispatched("a ticket that waits until its job is due comes at once if the job is offered", async (dispatcher) => {
    await dispatcher.offer([ticket(1), ticket(2, { afterMs: 600_000 })]);
    const worker = await working(dispatcher, async ({ n }, count) =>
      n === 1 && count === 1 ? { dueMs: 600_000 } : "over",
    );
    // The verdict on the first has been taken in once the next is tried.
    await dispatcher.offer([ticket(3)]);
    await worker.until(() => worker.tried.length === 2);
    await dispatcher.offer([ticket(1), ticket(2)]);
    await worker.stopAfter(4);
    expect(worker.tried).toEqual([1, 3, 1, 2]);
  });

  dispatched("a ticket that is to come again after a while waits, even if its job is offered", async (dispatcher) => {
    await dispatcher.offer([ticket(1)]);
    const worker = await working(dispatcher, async ({ n }) => (n === 1 ? { againMs: 600_000 } : "over"));
    await dispatcher.offer([ticket(2)]);
    await worker.until(() => worker.tried.length === 2);
    await dispatcher.offer([ticket(1), ticket(3)]);
    await worker.stopAfter(3);
    expect(worker.tried).toEqual([1, 2, 3]);
  });

  dispatched(
    "a rejected attempt is a lapse: after five the ticket is dead, and new if its job is to be tried again",
    async (dispatcher) => {
      const lapses: number[] = [];
      await dispatcher.offer([ticket(1)]);
      const worker = await working(
        dispatcher,
        async (tried, count) => {
          lapses.push(tried.lapses);
          // Somebody else has the job for a while: that neither counts nor forgets a lapse.
          if (count === 3) return { againMs: 0, lapses: tried.lapses };
          if (count <= 7) throw new Error("a defect");
          return "over";
        },
        { bury: async () => ({ againMs: 0 }) },
      );
      await worker.stopAfter(8);
      expect(lapses).toEqual([0, 1, 2, 2, 3, 4, 5, 0]);
      expect(worker.dead).toEqual(["1: a defect, 6 lapses"]);
    },
  );

  dispatched(
    "a job that ends its processes is given up, and one that records an answer each time is done",
    async (dispatcher) => {
      let answers = 0;
      const dying = () => {
        throw new Error("the process ended");
      };
      const poison = jobScene({ cell: dying });
      const neighbour = jobScene({ answers: () => answers, cell: async () => (++answers < 9 ? dying() : DONE) });
      const scenes = [poison, neighbour];
      await dispatcher.offer([ticket(0), ticket(1), ticket(2)]);
      const worker = await working(
        dispatcher,
        async (tried) => {
          const scene = scenes[tried.n];
          return scene ? tryJob(scene.parts, tried) : "over";
        },
        { concurrency: 2, bury: (letter) => giveUpJob(scenes[letter.n]?.parts ?? poison.parts, letter) },
      );
      const isOver = ({ row }: typeof poison) => row?.job.state === "done" || row?.job.state === "failed";
      await worker.until(() => scenes.every(isOver));
      await worker.stop();
      expect(poison.row?.job).toMatchObject({ state: "failed", told: { error_code: "job_crashed" } });
      expect(neighbour.row?.job).toMatchObject({ state: "done" });
      const tries = [0, 1, 2].map((n) => worker.tried.filter((one) => one === n).length);
      // Of the neighbour's tickets some become new ones, which takes a try each.
      expect([tries[0], answers, tries[2]]).toEqual([6, 9, 1]);
    },
  );

  dispatched("a nudge aborts `changed` of the try, and the job is tried again", async (dispatcher) => {
    await dispatcher.offer([ticket(1), ticket(2)]);
    const began = Promise.withResolvers<Tried>();
    const worker = await working(dispatcher, async (tried, count) => {
      if (tried.n === 2 || count > 1) return "over";
      began.resolve(tried);
      await new Promise((resolve) => tried.changed.addEventListener("abort", resolve));
      return "over";
    });
    const { id } = await began.promise;
    await dispatcher.nudge([{ ticket: ticket(1), id }]);
    await worker.stopAfter(3);
    expect(worker.tried.toSorted()).toEqual([1, 1, 2]);
  });

  dispatched("work ends when it is told to, after the tries that run, and leaves the others", async (dispatcher) => {
    await dispatcher.offer([ticket(1), ticket(2), ticket(3)]);
    const hold = Promise.withResolvers<Verdict>();
    const both = Promise.withResolvers<void>();
    let begun = 0;
    const worker = await working(
      dispatcher,
      () => {
        if (++begun === 2) both.resolve();
        return hold.promise;
      },
      { concurrency: 2 },
    );
    await both.promise;
    const stopped = worker.stop();
    hold.resolve("over");
    await stopped;
    // Either of two loops may be the first to hand out its ticket.
    expect(worker.tried.toSorted()).toEqual([1, 2]);
  });
});

test("in the process, a dead letter that cannot be dealt with now comes again", async () => {
  await using dispatcher = openInProcess({ retryMs: 1, mostLapses: 0 });
  await dispatcher.offer([ticket(1)]);
  let isBusy = true;
  const worker = await working(
    dispatcher,
    async () => {
      throw new Error("a defect");
    },
    {
      async bury() {
        if (!isBusy) return "over";
        isBusy = false;
        throw new Error("the session is busy");
      },
    },
  );
  await worker.until(() => worker.dead.length === 2);
  await worker.stop();
  expect(worker.tried).toEqual([1]);
});

test("what a row counts as lapses counts in the process too", async () => {
  await using dispatcher = openInProcess({ retryMs: 1 });
  await dispatcher.offer([ticket(2, { lapses: 4 })]);
  const worker = await working(dispatcher, async () => {
    throw new Error("a defect");
  });
  await worker.until(() => worker.dead.length === 1);
  await worker.stop();
  expect(worker.tried).toEqual([2, 2]);
});

test("a job that is being tried in the process is tried again only once that is over, and then at once", async () => {
  await using dispatcher = openInProcess();
  const isOver = Promise.withResolvers<void>();
  let together = 0;
  const most: number[] = [];
  const worker = await working(
    dispatcher,
    async (_, count) => {
      most.push(++together);
      if (count === 1) await isOver.promise;
      together--;
      return "over";
    },
    { concurrency: 2 },
  );
  await dispatcher.offer([ticket(1)]);
  while (worker.tried.length === 0) await new Promise(setImmediate);
  await dispatcher.offer([ticket(1)]);
  await dispatcher.offer([ticket(1)]);
  await new Promise(setImmediate);
  expect(worker.tried).toEqual([1]);
  isOver.resolve();
  await worker.stopAfter(2);
  expect([worker.tried, most]).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

describe.skipIf(NO_POSTGRES !== null)("what Belay counts on in pg-boss", () => {
  const opened = async (queue: string) => {
    shared ??= freshStoreUrl();
    return openPgBoss({ url: await shared, queue, periods: { poll: 0.5, retry: 0 } });
  };

  test("tickets offered twice are there once (F6), and its schema is the one that this build knows", async () => {
    await using dispatcher = await opened("twice");
    const tickets = Array.from({ length: 2500 }, (_, n) => ticket(n));
    await dispatcher.offer(tickets);
    await dispatcher.offer(tickets);
    const figures = await queueFigures((await shared) ?? "");
    expect(figures?.schemaVersion).toBe(43);
    expect(figures?.queues).toContainEqual({ queue: "twice", waiting: 2500, active: 0, dead: 0 });
  });

  test("a ticket that comes back is not behind all the others (T5)", async () => {
    await using dispatcher = await opened("back");
    await dispatcher.offer(Array.from({ length: 8 }, (_, n) => ticket(n)));
    const worker = await working(dispatcher, async ({ n }, count) => {
      if (n === 0 && count === 1) throw new Error("a defect");
      return "over";
    });
    await worker.stopAfter(9);
    expect(worker.tried.lastIndexOf(0)).toBeLessThan(5);
  });

  test("two workers share the tickets, and an end that comes late changes nothing (F5)", async () => {
    await using one = await opened("two");
    await using other = await opened("two");
    await one.offer(Array.from({ length: 12 }, (_, n) => ticket(n)));
    const [first, second] = [await working(one, async () => "over"), await working(other, async () => "over")];
    const all = () => [...first.tried, ...second.tried];
    await Promise.race([first.until(() => all().length === 12), second.until(() => all().length === 12)]);
    await Promise.all([first.stop(), second.stop()]);
    expect(all().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n));
  });

  test("a queue of a later pg-boss is refused", async () => {
    const url = await freshStoreUrl();
    await (await openPgBoss({ url, queue: "q" }))[Symbol.asyncDispose]();
    await askServer(url, "UPDATE QUEUE.version SET version = 999");
    await expect(openPgBoss({ url, queue: "q" })).rejects.toMatchObject({ code: "store_too_new" });
  });
});

test("of 100,000 tickets few are held at a time, and what a source throws its offer throws", async () => {
  await using dispatcher = openInProcess({ held: 50 });
  let taken = 0;
  const source = (function* () {
    for (let n = 0; n < 100_000; n++) {
      taken += 1;
      yield ticket(n);
    }
  })();
  void dispatcher.offer(source);
  const worker = await working(dispatcher, async () => "over", { concurrency: 4 });
  await worker.until(() => worker.tried.length >= 500);
  expect(taken - worker.tried.length).toBeLessThanOrEqual(60);
  await worker.stop();
  const broken = (async function* () {
    yield ticket(1);
    throw new Error("the store failed");
  })();
  await using other = openInProcess();
  await expect(other.offer(broken)).rejects.toThrow("the store failed");
});
