import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { openSuspension, type SuspensionReason } from "../../../src/session/suspension.ts";

const DELIVERY = { why: "delivery" } as const;
const STORE_FAILED = { why: "store_failed", afterMs: null } as const;

/** A suspension that notes why it suspends, and ends all waits then. */
function scene() {
  const suspension = openSuspension();
  const reasons: SuspensionReason["why"][] = [];
  let ended = new AbortController();
  const begin = () => {
    ended = new AbortController();
    suspension.begin(({ why }) => {
      reasons.push(why);
      ended.abort();
    });
  };
  begin();
  return {
    suspension,
    reasons,
    begin,
    wait: (call: string, parked: SuspensionReason = DELIVERY) => suspension.wait(call, parked, ended.signal),
  };
}

/** Lets go on what can. */
async function settled(): Promise<void> {
  for (let n = 0; n < 4; n++) await setImmediate();
}

test("an exec is suspended once all of it waits for batches", async () => {
  const { suspension, reasons, wait } = scene();
  const other = Promise.withResolvers<void>();
  const exec = suspension.active(async () => {
    const calls = [
      suspension.active(() => wait("a")),
      suspension.active(() => wait("b")),
      suspension.active(() => other.promise),
    ];
    await suspension.idle(() => Promise.all(calls));
  });
  await settled();
  // A call that is sent at once is still out.
  expect(reasons).toEqual([]);
  other.resolve();
  await exec;
  expect(reasons).toEqual(["delivery"]);
});

test("work that begins in the same turn as the last one ends keeps it from being suspended", async () => {
  const { suspension, reasons, wait } = scene();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const exec = suspension.active(async () => {
    const call = suspension.active(() => wait("a"));
    await suspension.idle(() => first.promise);
    // What the answer leads to: a slice, and the record of the next call.
    await second.promise;
    await suspension.idle(() => call);
  });
  await settled();
  first.resolve();
  await settled();
  expect(reasons).toEqual(["delivery"]);
  second.resolve();
  await exec;
});

test("without a wait for a batch nothing is suspended, however idle it is", async () => {
  const { suspension, reasons } = scene();
  await suspension.active(() => suspension.idle(settled));
  await settled();
  expect(reasons).toEqual([]);
});

test("another reason suspends as soon as each call that has been sent is recorded or waits", async () => {
  const { suspension, reasons, wait } = scene();
  suspension.sent("a");
  suspension.sent("b");
  const waiting = wait("a", STORE_FAILED);
  expect(suspension.reason()).toEqual(STORE_FAILED);
  expect(reasons).toEqual([]);
  suspension.recorded("b");
  await waiting;
  expect(reasons).toEqual(["store_failed"]);
});

test("a call that waits for a batch does not keep another reason from suspending", async () => {
  const { suspension, reasons, wait } = scene();
  suspension.sent("a");
  const waits = [suspension.active(() => wait("a")), wait("b", STORE_FAILED)];
  await Promise.all(waits);
  expect(reasons).toEqual(["store_failed"]);
});

test("a new exec begins without the reasons and waits of the one before", async () => {
  const { suspension, reasons, begin, wait } = scene();
  await wait("a", STORE_FAILED);
  begin();
  expect(suspension.reason()).toBeNull();
  await suspension.active(async () => {
    await settled();
    expect(reasons).toEqual(["store_failed"]);
    await wait("b");
  });
  expect(reasons).toEqual(["store_failed", "delivery"]);
});

test("a failure of active or idle work counts as its end", async () => {
  const { suspension, reasons, wait } = scene();
  const fails = () => Promise.reject(new Error("no"));
  const exec = suspension.active(async () => {
    await Promise.allSettled([suspension.active(fails), suspension.idle(fails)]);
    await wait("a");
  });
  await exec;
  expect(reasons).toEqual(["delivery"]);
});
