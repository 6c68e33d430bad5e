import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { aborted, joinSignals, whenAborted } from "../../../src/platform/signals.ts";

test("a joined signal aborts with the first of its sources, and with its reason", () => {
  const [a, b] = [new AbortController(), new AbortController()];
  using joined = joinSignals(a.signal, undefined, b.signal);
  expect(joined.signal.aborted).toBe(false);
  b.abort("b");
  a.abort("a");
  expect(joined.signal).toMatchObject({ aborted: true, reason: "b" });
});

test("a signal that is joined with an aborted one is aborted from the start", () => {
  using joined = joinSignals(new AbortController().signal, AbortSignal.abort("early"));
  expect(joined.signal).toMatchObject({ aborted: true, reason: "early" });
});

test("a joined signal that was disposed of leaves no listener and aborts no more", () => {
  const source = new AbortController();
  const joined = joinSignals(source.signal);
  expect(getEventListeners(source.signal, "abort")).toHaveLength(1);
  joined[Symbol.dispose]();
  expect(getEventListeners(source.signal, "abort")).toEqual([]);
  source.abort();
  expect(joined.signal.aborted).toBe(false);
});

test("what waits for a signal resolves when it aborts, and at once if it already has", async () => {
  const source = new AbortController();
  const waited = aborted(source.signal);
  source.abort();
  await waited;
  await aborted(source.signal);
  expect(getEventListeners(source.signal, "abort")).toEqual([]);
});

test("any number of those who wait share one listener, and each is called unless it was called off", () => {
  const source = new AbortController();
  const called: number[] = [];
  const callOffs = Array.from({ length: 100 }, (_, n) => whenAborted(source.signal, () => called.push(n)));
  expect(getEventListeners(source.signal, "abort")).toHaveLength(1);
  for (const callOff of callOffs.slice(2)) callOff();
  source.abort();
  expect(called).toEqual([0, 1]);
  for (const callOff of callOffs) callOff();
  expect(getEventListeners(source.signal, "abort")).toEqual([]);
});
