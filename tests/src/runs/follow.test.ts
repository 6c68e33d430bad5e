import { expect, test } from "vitest";
import { countsAndWaits, followRun, untilIdle } from "../../../src/runs/follow.ts";
import type { Counts, JobRow, RunRow } from "../../../src/store/index.ts";

const NONE = { waiting: 0, running: 0, parked: 0, cancelling: 0, done: 0, failed: 0, cancelled: 0, workers: 0 };

/**
 * The number of looks after which a run is over, whose looks are scripted. The last one is repeated.
 * @param parked the instants at which its parked jobs go on @param onLook receives the instant of the first one
 */
async function looks(
  script: readonly (readonly [state: RunRow["state"], counts: Partial<Counts>])[],
  parked: readonly (number | null)[] = [],
  onLook: (next: number | null) => void = () => {},
): Promise<number> {
  const amount = { nanodollars: 0, tokens: 0, sub_calls: 0 };
  const limits = { nanodollars: null, tokens: null, sub_calls: null };
  const sums = { spent: amount, held: amount, doubtful: amount, limits };
  let at = 0;
  const now = () => script[Math.min(at, script.length - 1)] ?? script[0];
  const failure = new AbortController();
  await followRun({
    store: {
      jobs: {
        run: async (id) => ({
          id,
          name: "r",
          queue: "q",
          share: 1,
          spec: null,
          hash: "",
          state: now()?.[0] ?? "open",
          why: null,
          created_at: 0,
          ...sums,
        }),
        reused: async () => ({ answers: 0, tokens: 0, nanodollars: 0, from: [] }),
        counts: async () => ({ ...NONE, ...now()?.[1] }),
        list: async (_, { from }) => (from > 0 ? [] : parked.map((run_at) => ({ run_at, engine: null }) as JobRow)),
      },
      batches: { waits: async () => [] } as never,
    },
    run: "R",
    clock: { now: () => 0 },
    signal: failure.signal,
    isAlone: true,
    async wait() {
      at += 1;
      if (at > 9) failure.abort();
    },
    look: async ({ next }) => onLook(next),
  });
  return at;
}

test("a run is followed while a job of it runs, and until the last one is over", async () => {
  expect(
    await looks([
      ["open", { running: 1, workers: 1 }],
      ["open", { waiting: 1 }],
      ["open", { done: 1 }],
    ]),
  ).toBe(2);
});

test("a paused run ends with the last job that somebody holds, also if rows of others say that they run", async () => {
  expect(
    await looks([
      ["paused", { running: 2, workers: 1 }],
      ["paused", { running: 1, waiting: 1 }],
    ]),
  ).toBe(1);
  expect(await looks([["open", { running: 1 }]])).toBe(10);
});

test("a look has the time at which the first parked job goes on, and a run is over if none will", async () => {
  const next: (number | null)[] = [];
  const parked = { parked: 3 };
  expect(
    await looks(
      [
        ["open", parked],
        ["open", parked],
        ["open", { done: 3 }],
      ],
      [null, 70, 50],
      (at) => next.push(at),
    ),
  ).toBe(2);
  expect(next).toEqual([50, 50, null]);
  expect(await looks([["open", parked]], [null, null, null])).toBe(0);
});

test("a run whose parked job has been offered since it was counted goes on", async () => {
  expect(
    await looks([
      ["open", { parked: 1, done: 2 }],
      ["open", { running: 1, done: 2, workers: 1 }],
      ["open", { done: 3 }],
    ]),
  ).toBe(2);
});

test("a run whose answer arrives while it is looked at goes on: its jobs are counted again", async () => {
  const parked = { ...NONE, parked: 1 };
  const counts = [parked, { ...NONE, waiting: 1 }];
  const store = { jobs: { counts: async () => counts.shift() ?? NONE }, batches: { waits: async () => [] } as never };
  expect(await countsAndWaits(store, "R")).toMatchObject({ counts: { waiting: 1, parked: 0 }, waits: [] });
});

test("a worker leaves calls to a provider only once they have left, and it has looked for answers", async () => {
  // A batch gets its name when the provider has taken it; the worker looks for answers after that.
  const names = [null, "batch_1", "batch_1"];
  let looks = 0;
  const run = { id: "R", state: "open", queue: "q" } as RunRow;
  const wait = { account: "a", model: "local/m", state: "waiting", calls: 1, done: 0, since: 0, earlier: [] };
  const left = await untilIdle({
    store: {
      jobs: {
        runs: async ({ after }) => (after === null ? [run] : []),
        counts: async () => ({ ...NONE, parked: 1 }),
        list: async () => [],
      },
      batches: { waits: async () => [{ ...wait, batch: names[looks++] }] } as never,
    },
    queues: ["q"],
    isBusy: () => false,
    hasLooked: () => looks > 2,
    signal: new AbortController().signal,
    waitMs: 0,
  });
  expect([left, looks]).toEqual(["providers", 3]);
});
