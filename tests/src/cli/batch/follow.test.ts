import { expect, test } from "vitest";
import { countsAndWaits, followRun } from "../../../../src/cli/batch/follow.ts";
import type { Counts, RunRow } from "../../../../src/store/index.ts";

const NONE = { waiting: 0, running: 0, parked: 0, cancelling: 0, done: 0, failed: 0, cancelled: 0, workers: 0 };

/** The number of looks after which a run is over, whose looks are scripted. The last one is repeated. */
async function looks(script: readonly (readonly [state: RunRow["state"], counts: Partial<Counts>])[]): Promise<number> {
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
        counts: async () => ({ ...NONE, ...now()?.[1] }),
        list: async () => [],
      },
      shipping: { waits: async () => [] } as never,
    },
    run: "R",
    clock: { now: () => 0 },
    signal: failure.signal,
    isAlone: true,
    async wait() {
      at += 1;
      if (at > 9) failure.abort();
    },
    async look() {},
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

test("a run whose answer arrives while it is looked at goes on: its jobs are counted again", async () => {
  const parked = { ...NONE, parked: 1 };
  const counts = [parked, { ...NONE, waiting: 1 }];
  const store = { jobs: { counts: async () => counts.shift() ?? NONE }, shipping: { waits: async () => [] } as never };
  expect(await countsAndWaits(store, "R")).toMatchObject({ counts: { waiting: 1, parked: 0 }, waits: [] });
});
