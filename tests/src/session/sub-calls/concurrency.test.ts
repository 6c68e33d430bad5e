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

test("a place is given back once, and an aborted wait takes none", async () => {
  const limiter = openLimiter(1);
  const first = await limiter.take(live);
  const abort = new AbortController();
  const second = limiter.take(abort.signal);
  const third = limiter.take(live);
  abort.abort();
  expect(await second).toBeUndefined();
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  expect(await third).toBeDefined();
  const fourth = limiter.take(live);
  expect(await Promise.race([fourth, Promise.resolve("waits")])).toBe("waits");
});

test("a widened limiter lets more run, and as few as before once it is not", async () => {
  const limiter = openLimiter(1);
  const first = await limiter.take(live);
  const second = limiter.take(live);
  const wide = limiter.widen(2);
  expect(await second).toBeDefined();
  wide[Symbol.dispose]();
  first?.[Symbol.dispose]();
  const third = limiter.take(live);
  expect(await Promise.race([third, Promise.resolve("waits")])).toBe("waits");
  (await second)?.[Symbol.dispose]();
  expect(await third).toBeDefined();
});

test("a failure frees its place", async () => {
  const limiter = openLimiter(1);
  await expect(limiter.run(live, () => Promise.reject(new Error("boo")))).rejects.toThrow("boo");
  expect(await limiter.run(live, async () => 1)).toBe(1);
});
