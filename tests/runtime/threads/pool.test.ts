import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { Poolable, Seat } from "../../../runtime/threads/pool.ts";
import { openPool } from "../../../runtime/threads/pool.ts";
import { openMovedClock } from "../../support/moved-clock.ts";

interface FakeThread extends Poolable {
  readonly name: string;
  die(): void;
}

/** A pool of threads that do nothing, with a clock that only the test moves. */
function openFakes({ cores = 1, kept = 1, start = async () => {} } = {}) {
  const clock = openMovedClock();
  const live = new Set<string>();
  let started = 0;
  const pool = openPool<FakeThread>({
    async start() {
      const name = `thread ${++started}`;
      await start();
      live.add(name);
      let die = () => {};
      const gone = new Promise<void>((resolve) => {
        die = resolve;
      }).then(() => void live.delete(name));
      return { name, gone, die, hold() {}, end: async () => die() };
    },
    clock,
    background: clock,
    cores,
    kept,
    lingerMs: 10_000,
  });
  return {
    pool,
    live,
    started: () => started,
    async pass(ms: number) {
      await settled();
      clock.move(ms);
      await settled();
    },
    async open(): Promise<Seat<FakeThread>> {
      const seat = await pool.take();
      seat.opened();
      return seat;
    },
  };
}

/** All that can happen without time has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Whether a promise has been resolved by now. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await settled();
  return done;
}

test("as many machines open at once as there are cores, in the order in which they were asked for", async () => {
  const { pool } = openFakes({ cores: 2, kept: 10 });
  const [first, second] = [await pool.take(), await pool.take()];
  const [third, fourth] = [pool.take(), pool.take()];
  expect([await isDone(third), await isDone(fourth)]).toEqual([false, false]);
  second.opened();
  expect([await isDone(third), await isDone(fourth)]).toEqual([true, false]);
  await first.leave(false);
  expect(await isDone(fourth)).toBe(true);
});

test("a machine that waits for another one does not keep it from being opened, with one core and one thread", async () => {
  const { open, started } = openFakes({ cores: 1, kept: 1 });
  const parent = await open();
  parent.waits(true);
  const child = await open();
  child.waits(true);
  expect((await open()).thread.name).toBe("thread 3");
  expect(started()).toBe(3);
});

test("a machine leaves its thread to the next one, unless something failed in it", async () => {
  const { open, live } = openFakes();
  const first = await open();
  await first.leave(true);
  const second = await open();
  expect(second.thread).toBe(first.thread);
  await second.leave(false);
  expect((await open()).thread.name).toBe("thread 2");
  expect([...live]).toEqual(["thread 2"]);
});

test("a machine that needs a thread takes that of the one that has rested longest", async () => {
  const { open } = openFakes({ kept: 2 });
  const [first, second] = [await open(), await open()];
  const givenUp: string[] = [];
  const rest = (seat: Seat<FakeThread>) =>
    seat.rest(async () => {
      givenUp.push(seat.thread.name);
      await seat.leave(true);
    }, 60_000);
  rest(first);
  rest(second);
  first.wake();
  rest(first);
  expect((await open()).thread).toBe(second.thread);
  expect(givenUp).toEqual([second.thread.name]);
});

test("a machine waits for the thread of a short cell, and not for that of a long one", async () => {
  const { open, pass, started } = openFakes();
  const first = await open();
  const second = open();
  await pass(50);
  expect(await isDone(second)).toBe(false);
  await first.leave(true);
  expect((await second).thread).toBe(first.thread);
  const third = open();
  await pass(99);
  expect(await isDone(third)).toBe(false);
  await pass(1);
  expect((await third).thread.name).toBe("thread 2");
  expect(started()).toBe(2);
});

test("machines that come all at once take turns in the threads that are kept", async () => {
  const { open, started } = openFakes({ cores: 2, kept: 2 });
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const seat = await open();
      await settled();
      seat.rest(async () => {
        await settled();
        await seat.leave(true);
      }, 60_000);
    }),
  );
  expect(started()).toBe(2);
});

test("a resting machine is given up when its time is over, and not after it was used again", async () => {
  const { open, pass } = openFakes();
  const seat = await open();
  let givenUp = 0;
  const giveUp = async () => void givenUp++;
  seat.rest(giveUp, 1000);
  await pass(999);
  seat.wake();
  await pass(1000);
  expect(givenUp).toBe(0);
  seat.rest(giveUp, 1000);
  // An answer that came too late does not wake it.
  seat.waits(false);
  await pass(1000);
  expect(givenUp).toBe(1);
});

test("beside a machine that waits for an answer, a thread goes from one machine to the next", async () => {
  const { open, started } = openFakes();
  (await open()).waits(true);
  await (await open()).leave(true);
  await open();
  expect(started()).toBe(2);
});

test("free threads beyond those that are kept end; a kept one ends if no machine takes it", async () => {
  const { open, pass, live } = openFakes();
  const first = await open();
  first.waits(true);
  const more = await open();
  first.waits(false);
  first.rest(() => first.leave(true), 60_000);
  await settled();
  expect(live.size).toBe(2);
  await more.leave(true);
  expect([...live]).toEqual([first.thread.name]);
  await pass(9_999);
  expect(live.size).toBe(1);
  await pass(1);
  expect(live.size).toBe(0);
});

test("a thread that dies is not used again, and its machine does not count as opening any more", async () => {
  const { pool, open } = openFakes({ kept: 2 });
  const dying = await pool.take();
  dying.thread.die();
  const free = await open();
  await free.leave(true);
  free.thread.die();
  await settled();
  expect((await open()).thread.name).toBe("thread 3");
});

test("a thread that does not start fails its machine alone", async () => {
  let fails = true;
  const { open, pool } = openFakes({
    async start() {
      if (fails) throw new Error("no thread");
    },
  });
  pool.warm();
  await settled();
  await expect(open()).rejects.toThrow("no thread");
  fails = false;
  await expect(open()).resolves.toBeDefined();
});

test("a thread that was warmed is the next machine's", async () => {
  const { pool, open, started } = openFakes({ kept: 2 });
  pool.warm();
  pool.warm();
  await open();
  expect(started()).toBe(1);
});

test("a thread that serves machine after machine keeps nothing of those that left", async () => {
  const { open } = openFakes();
  async function serve(): Promise<WeakRef<Seat<FakeThread>>> {
    const seat = await open();
    await seat.leave(true);
    return new WeakRef(seat);
  }
  const left = [await serve(), await serve(), await serve()];
  await open();
  await settled();
  collectGarbage();
  expect(left.map((seat) => seat.deref())).toEqual([undefined, undefined, undefined]);
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
