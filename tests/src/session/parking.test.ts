import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { openParking, type Parked } from "../../../src/session/parking.ts";

const DELIVERY = { why: "delivery" } as const;
const STORE_FAILED = { why: "store_failed", afterMs: null } as const;

/** A parking that notes why it suspends, and ends all waits then. */
function scene() {
  const parking = openParking();
  const reasons: Parked["why"][] = [];
  let ended = new AbortController();
  const begin = () => {
    ended = new AbortController();
    parking.begin(({ why }) => {
      reasons.push(why);
      ended.abort();
    });
  };
  begin();
  return {
    parking,
    reasons,
    begin,
    wait: (call: string, parked: Parked = DELIVERY) => parking.wait(call, parked, ended.signal),
  };
}

/** Lets go on what can. */
async function settled(): Promise<void> {
  for (let n = 0; n < 4; n++) await setImmediate();
}

test("an exec is suspended once all of it waits for batches", async () => {
  const { parking, reasons, wait } = scene();
  const other = Promise.withResolvers<void>();
  const exec = parking.active(async () => {
    const calls = [
      parking.active(() => wait("a")),
      parking.active(() => wait("b")),
      parking.active(() => other.promise),
    ];
    await parking.idle(() => Promise.all(calls));
  });
  await settled();
  // A call that is sent at once is still out.
  expect(reasons).toEqual([]);
  other.resolve();
  await exec;
  expect(reasons).toEqual(["delivery"]);
});

test("work that begins in the same turn as the last one ends keeps it from being suspended", async () => {
  const { parking, reasons, wait } = scene();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const exec = parking.active(async () => {
    const call = parking.active(() => wait("a"));
    await parking.idle(() => first.promise);
    // What the answer leads to: a slice, and the record of the next call.
    await second.promise;
    await parking.idle(() => call);
  });
  await settled();
  first.resolve();
  await settled();
  expect(reasons).toEqual(["delivery"]);
  second.resolve();
  await exec;
});

test("without a wait for a batch nothing is suspended, however idle it is", async () => {
  const { parking, reasons } = scene();
  await parking.active(() => parking.idle(settled));
  await settled();
  expect(reasons).toEqual([]);
});

test("another reason suspends as soon as each call that has been sent is recorded or waits", async () => {
  const { parking, reasons, wait } = scene();
  parking.sent("a");
  parking.sent("b");
  const waiting = wait("a", STORE_FAILED);
  expect(parking.reason()).toEqual(STORE_FAILED);
  expect(reasons).toEqual([]);
  parking.recorded("b");
  await waiting;
  expect(reasons).toEqual(["store_failed"]);
});

test("a call that waits for a batch does not keep another reason from suspending", async () => {
  const { parking, reasons, wait } = scene();
  parking.sent("a");
  const waits = [parking.active(() => wait("a")), wait("b", STORE_FAILED)];
  await Promise.all(waits);
  expect(reasons).toEqual(["store_failed"]);
});

test("a new exec begins without the reasons and waits of the one before", async () => {
  const { parking, reasons, begin, wait } = scene();
  await wait("a", STORE_FAILED);
  begin();
  expect(parking.reason()).toBeNull();
  await parking.active(async () => {
    await settled();
    expect(reasons).toEqual(["store_failed"]);
    await wait("b");
  });
  expect(reasons).toEqual(["store_failed", "delivery"]);
});

test("a failure of active or idle work counts as its end", async () => {
  const { parking, reasons, wait } = scene();
  const fails = () => Promise.reject(new Error("no"));
  const exec = parking.active(async () => {
    await Promise.allSettled([parking.active(fails), parking.idle(fails)]);
    await wait("a");
  });
  await exec;
  expect(reasons).toEqual(["delivery"]);
});
