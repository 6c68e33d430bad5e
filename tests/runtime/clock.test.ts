import { expect, test } from "vitest";
import { openRunClock } from "../../runtime/clock.ts";
import { DEFAULT_EXEC_LIMITS } from "../../runtime/limits.ts";
import { SHARED } from "../../runtime/protocol.ts";
import { newState } from "../support/checkpoints.ts";
import { openMachineHere } from "../support/machine-here.ts";

/** A clock that a test moves, and the words that the host reads. */
function clockAt() {
  const shared = new Int32Array(new SharedArrayBuffer(64));
  let now = 1000;
  const clock = openRunClock({ now: () => now, monotonic: () => now, after: () => () => {} }, shared);
  const pass = (ms: number) => {
    now += ms;
  };
  return { clock, shared, pass };
}

test("time off the clock does not count, also where such work calls for more of it", () => {
  const { clock, shared, pass } = clockAt();
  clock.start(0, 100);
  pass(40);
  clock.offClock(() => {
    pass(500);
    expect(clock.shouldStop()).toBe(false);
    clock.offClock(() => pass(300));
    expect(Atomics.load(shared, SHARED.offClock)).toBe(1);
    expect(clock.shouldStop()).toBe(false);
    pass(200);
  });
  expect(Atomics.load(shared, SHARED.offClock)).toBe(0);
  expect(Atomics.load(shared, SHARED.offClockMs)).toBe(1000);
  expect(clock.shouldStop()).toBe(false);
  pass(61);
  expect(clock.shouldStop()).toBe(true);
  expect(clock.stopped()).toBe("timeout");
});

test("work off the clock ends when the exec is cancelled", () => {
  const { clock, shared } = clockAt();
  clock.start(0, 100);
  clock.offClock(() => {
    Atomics.store(shared, SHARED.cancel, 1);
    expect(clock.shouldStop()).toBe(true);
  });
  expect(clock.stopped()).toBe("cancelled");
});

test("a cell whose time is over before it begins has timed out, and was not cancelled", async () => {
  let ms = 0;
  // Each look at the clock is 5 ms later, as on a computer that does something else meanwhile.
  const clock = { now: () => ms, monotonic: () => (ms += 5), after: () => () => {} };
  using here = await openMachineHere(clock);
  const state = { ...newState(), limits: { ...DEFAULT_EXEC_LIMITS, max_execution_ms: 1 } };
  expect(here.machine.startCell({ source: "1", state, facts: null })).toMatchObject({ end: { kind: "timeout" } });
});
