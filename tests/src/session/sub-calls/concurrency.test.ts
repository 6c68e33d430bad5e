import { expect, test } from "vitest";
import { openLimiter } from "../../../../src/session/sub-calls/concurrency.ts";

const live = new AbortController().signal;

/** Work that ends when told to. */
function openWork() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, work: () => ended };
}

test("at most so many run at once, the rest in order", async () => {
  const limiter = openLimiter(3);
  let running = 0;
  let peak = 0;
  const started: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      limiter.run(live, async () => {
        started.push(index);
        peak = Math.max(peak, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
      }),
    ),
  );
  expect(peak).toBe(3);
  expect(started).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("who gives up while waiting does not take the turn of another", async () => {
  const limiter = openLimiter(1);
  const slow = openWork();
  const first = limiter.run(live, slow.work);
  const abort = new AbortController();
  const second = limiter.run(abort.signal, async () => "never");
  const third = limiter.run(live, async () => "runs");
  abort.abort();
  expect(await second).toBeUndefined();
  slow.end();
  await first;
  expect(await third).toBe("runs");
});

test("a failure frees its place", async () => {
  const limiter = openLimiter(1);
  await expect(limiter.run(live, () => Promise.reject(new Error("boo")))).rejects.toThrow("boo");
  expect(await limiter.run(live, async () => 1)).toBe(1);
});
