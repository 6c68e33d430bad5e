import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { sleep } from "../../../../src/platform/signals.ts";
import { openStandingClock } from "../../../../src/session/sub-calls/patience.ts";

/** A clock that stands where the test sets it, and sleepers that it wakes. */
function scene() {
  let at = 1000;
  const sleepers = new Set<{ readonly until: number; wake(): void }>();
  const clock = openStandingClock({
    now: () => at,
    monotonic: () => at,
    after(ms, wake) {
      const sleeper = { until: at + ms, wake };
      sleepers.add(sleeper);
      return () => sleepers.delete(sleeper);
    },
  });
  return {
    clock,
    async pass(ms: number) {
      at += ms;
      for (const sleeper of sleepers) if (sleeper.until <= at && sleepers.delete(sleeper)) sleeper.wake();
      await setImmediate();
    },
  };
}

/** Whether a promise has settled by now. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol("open");
  return (await Promise.race([promise, setImmediate(open)])) !== open;
}

test("a sleep takes as much longer as the time stands still", async () => {
  const { clock, pass } = scene();
  const sleeping = sleep(clock, 100, new AbortController().signal);
  await pass(40);
  const wait = Promise.withResolvers<string>();
  const paused = clock.paused(() => wait.promise);
  await pass(500);
  expect(clock.monotonic()).toBe(1040);
  expect(await isDone(sleeping)).toBe(false);
  wait.resolve("waited");
  expect(await paused).toBe("waited");
  await setImmediate();
  await pass(59);
  expect([clock.monotonic(), await isDone(sleeping)]).toEqual([1099, false]);
  await pass(1);
  expect(await isDone(sleeping)).toBe(true);
});

test("an abort ends a sleep while the time stands still, and a wait that fails lets the time go on", async () => {
  const { clock, pass } = scene();
  const stop = new AbortController();
  const sleeping = sleep(clock, 100, stop.signal);
  const wait = Promise.withResolvers<never>();
  const paused = clock.paused(() => wait.promise);
  await pass(200);
  stop.abort();
  expect(await isDone(sleeping)).toBe(true);
  wait.reject(new Error("no"));
  await expect(paused).rejects.toThrow("no");
  await pass(7);
  expect(clock.monotonic()).toBe(1007);
});
