import { expect, test } from "vitest";
import { COMMAND_MS, TERMINATE_MS } from "../../../runtime/limits.ts";
import { type FromThread, SHARED } from "../../../runtime/protocol.ts";
import { openThread } from "../../../runtime/threads/thread.ts";
import { CANCELLED, TIMED_OUT } from "../../../runtime/threads/watchdog.ts";
import { openMovedClock } from "../../support/moved-clock.ts";

const LIMIT_MS = 1000;
const LATE_MS = 200;
const DONE = { kind: "entered", value: null } as const;

/** A thread that answers when the test says so, and a message that it works on. */
function openBusy() {
  const clock = openMovedClock();
  const shared = new Int32Array(new SharedArrayBuffer(SHARED.words * Int32Array.BYTES_PER_ELEMENT));
  let answer = Promise.withResolvers<FromThread>();
  let left: boolean | undefined;
  const seat = {
    thread: {
      shared,
      ask() {
        answer = Promise.withResolvers();
        return answer.promise;
      },
      listen() {},
      async end() {},
    },
    async leave(reusable: boolean) {
      left = reusable;
    },
  };
  const thread = openThread({ seat, clock, notice: undefined });
  const ask = (listensToCancel?: boolean) => thread.ask({ kind: "stop" }, LIMIT_MS, listensToCancel);
  const set = (word: number, value: number) => Atomics.store(shared, word, value);
  const hear = (message: FromThread) => answer.resolve(message);
  return { clock, thread, ask, set, hear, left: () => left };
}

test("a guest has 500 ms more than its limit, and then the message counts as failed", async () => {
  const { ask, clock, hear } = openBusy();
  const inTime = ask();
  clock.move(LIMIT_MS + TERMINATE_MS - 1);
  hear(DONE);
  expect(await inTime).toEqual(DONE);
  const late = ask();
  clock.move(LIMIT_MS + TERMINATE_MS + LATE_MS);
  hear(DONE);
  await expect(late).rejects.toThrow(TIMED_OUT);
});

test("a cancelled guest has 500 ms, unless the message does not listen to that", async () => {
  const { ask, thread, clock, hear } = openBusy();
  thread.cancel(true);
  const deaf = ask(false);
  clock.move(LIMIT_MS);
  hear(DONE);
  expect(await deaf).toEqual(DONE);
  const cancelled = ask();
  clock.move(TERMINATE_MS + LATE_MS);
  await expect(cancelled).rejects.toThrow(CANCELLED);
});

test("time off the clock does not count, while it lasts and afterwards", async () => {
  const { ask, set, clock, hear } = openBusy();
  const reply = ask();
  set(SHARED.offClock, 1);
  clock.move(10 * LIMIT_MS);
  set(SHARED.offClockMs, 10 * LIMIT_MS);
  set(SHARED.offClock, 0);
  clock.move(LIMIT_MS);
  hear(DONE);
  expect(await reply).toEqual(DONE);
});

test("capturing an image counts neither against the limit nor against being cancelled, but has a limit of its own", async () => {
  const { ask, set, thread, clock, hear } = openBusy();
  thread.cancel(true);
  const captured = ask();
  set(SHARED.capturing, 1);
  clock.move(COMMAND_MS - LATE_MS);
  hear(DONE);
  expect(await captured).toEqual(DONE);
  thread.cancel(false);
  const next = ask();
  clock.move(LIMIT_MS + TERMINATE_MS + LATE_MS);
  await expect(next).rejects.toThrow(TIMED_OUT);
  const never = ask();
  set(SHARED.capturing, 1);
  clock.move(COMMAND_MS + LATE_MS);
  await expect(never).rejects.toThrow(TIMED_OUT);
});

test("the thread of a machine that is closed serves others at once, unless the machine was large", async () => {
  for (const isLarge of [0, 1]) {
    const { thread, set, left } = openBusy();
    set(SHARED.isLarge, isLarge);
    await thread.release("it was closed");
    expect(left()).toBe(isLarge === 0);
  }
});

test("a thread in which a message failed serves no other machine", async () => {
  const { ask, thread, clock, left } = openBusy();
  const late = ask();
  clock.move(LIMIT_MS + TERMINATE_MS + LATE_MS);
  await expect(late).rejects.toThrow(TIMED_OUT);
  await thread.release("it was closed");
  expect(left()).toBeUndefined();
  await expect(ask()).rejects.toThrow("it was closed");
});
