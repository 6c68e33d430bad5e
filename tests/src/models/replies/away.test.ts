import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { failure } from "../../../../src/models/failure.ts";
import type { ModelAnswer } from "../../../../src/models/port.ts";
import { isServerAway, type Patience, sendPatiently } from "../../../../src/models/replies/away.ts";
import { NO_USAGE } from "../../../../src/models/usage.ts";
import { OutboundError } from "../../../../src/platform/outbound.ts";

const GONE = failure("provider_error", "local/m: no connection to http://127.0.0.1:1 (ECONNREFUSED)");
const AWAY: ModelAnswer = { ok: false, usage: NO_USAGE, charged: true, error: GONE, isAway: true };
const ANSWER: ModelAnswer = {
  ...{ ok: true, usage: NO_USAGE, charged: true },
  turn: { text: "x", toolUses: [], stop: "end", raw: null },
};

/** Time that passes as soon as everybody waits for it. */
function quickClock() {
  let at = 0;
  const timers = new Set<{ readonly until: number; run(): void }>();
  const clock = {
    now: () => at,
    monotonic: () => at,
    after(ms: number, run: () => void) {
      const timer = { until: at + ms, run };
      timers.add(timer);
      void setImmediate().then(pass);
      return () => void timers.delete(timer);
    },
  };
  function pass(): void {
    const [next] = [...timers].sort((a, b) => a.until - b.until);
    if (!next) return;
    timers.delete(next);
    at = Math.max(at, next.until);
    next.run();
  }
  return clock;
}

/** A server that is away from its second request on, for so many ms, and the calls that it gets. */
function scene(server: string, { awayMs = Number.POSITIVE_INFINITY, mostMs = 60_000, answered = [""] } = {}) {
  const clock = quickClock();
  const askedAt: number[] = [];
  const waited: string[] = [];
  const patience: Patience = {
    ...{ clock, mostMs, answered: new Set(answered) },
    firstToken: () => ({ [Symbol.dispose]() {} }),
    waiting(of, _since, work) {
      waited.push(of);
      return work();
    },
  };
  let isUp = true;
  let error = GONE;
  const send = async () => {
    askedAt.push(clock.monotonic());
    await setImmediate();
    return isUp || clock.monotonic() >= awayMs ? ANSWER : error === GONE ? AWAY : { ...AWAY, error };
  };
  const call = (signal = new AbortController().signal) =>
    sendPatiently(send, { id: "local/m", server }, patience, signal);
  const goes = () => {
    isUp = false;
  };
  const says = (words: string) => {
    error = failure("rate_limited", words);
  };
  return { clock, call, askedAt, waited, goes, says };
}

test("a server that answered before is asked again by one call at a time, in longer and longer pauses", async () => {
  const { call, goes, askedAt, waited } = scene("http://one", { awayMs: 12_000 });
  await call();
  goes();
  const answers = await Promise.all([call(), call(), call()]);
  expect(answers.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(answers.every(({ waitedMs = 0 }) => waitedMs >= 11_000 && waitedMs < 13_000)).toBe(true);
  // The first answer, three failures at once, one request after each pause; and when one is answered, the others follow.
  expect(askedAt.slice(0, 10)).toEqual([0, 0, 0, 0, 250, 750, 1750, 3750, 7750, 12_750]);
  expect(askedAt.slice(10)).toEqual([12_750, 12_750]);
  expect(new Set(waited)).toEqual(new Set(["http://one"]));
});

test("a wait that is over fails with the server and the time, and calls behind it do not wait anew", async () => {
  const { call, goes, askedAt } = scene("http://two");
  await call();
  goes();
  const answer = await call();
  expect(answer).toMatchObject({ ok: false, ends: "run", error: { code: "provider_error", retriable: true } });
  const message = `${GONE.message}; the server answered before, and was waited for 60 s`;
  expect(answer).toMatchObject({ error: { message } });
  expect(answer.waitedMs).toBe(60_000);
  const asked = askedAt.length;
  expect(await call()).toMatchObject({ error: { message } });
  expect(askedAt).toHaveLength(asked + 1);
});

test("a server is asked once that has never answered, or that nobody has patience with", async () => {
  const never = scene("http://three");
  never.goes();
  expect(await never.call()).toBe(AWAY);
  const impatient = scene("http://four", { mostMs: 0 });
  await impatient.call();
  impatient.goes();
  expect(await impatient.call()).toBe(AWAY);
  expect([never.askedAt.length, impatient.askedAt.length, never.waited.length]).toEqual([1, 2, 0]);
});

test("a server that loads its model is waited for, though it never answered", async () => {
  const { call, goes, says, askedAt } = scene("http://seven", { awayMs: 5000 });
  goes();
  says("local/m: 503 Loading model");
  expect((await call()).ok).toBe(true);
  expect(askedAt.length).toBeGreaterThan(1);
});

test("a recorded answer of the model counts as one of its server", async () => {
  const { call, goes, askedAt } = scene("http://five", { awayMs: 5000, answered: ["local/m"] });
  goes();
  expect((await call()).ok).toBe(true);
  expect(askedAt.length).toBeGreaterThan(1);
});

test("an abort ends the wait at once", async () => {
  const { call, goes, clock } = scene("http://six");
  await call();
  goes();
  const stop = new AbortController();
  clock.after(3000, () => stop.abort());
  const answer = await call(stop.signal);
  expect(answer).toMatchObject({ ok: false, error: { code: "cancelled" } });
  expect(clock.monotonic()).toBeLessThan(4000);
});

test.each([
  [true, "refused", { networkError: "ECONNREFUSED" }],
  [true, "no such name", { networkError: "ENOTFOUND" }],
  [true, "reset", { networkError: "ECONNRESET" }],
  [true, "502 Bad Gateway", { status: 502 }],
  [true, "503 Loading model", { status: 503 }],
  [true, "504 Gateway Time-out", { status: 504 }],
  [true, "no tunnel", { outbound: new OutboundError("no tunnel", "", true) }],
  [false, "503 The server is overloaded", { status: 503 }],
  [false, "500 oops", { status: 500 }],
  [false, "broke off", { status: 200, networkError: "UND_ERR_SOCKET" }],
  [false, "wants a password", { outbound: new OutboundError("wants a password", "") }],
  [false, "late", { networkError: "UND_ERR_BODY_TIMEOUT" }],
])("is away: %s for %s", (isAway, said, seen) => {
  expect(isServerAway({ status: null, retryAfterMs: null, networkError: null, ...seen }, said)).toBe(isAway);
});

test("a process that is busy has not waited for a server that is there", async () => {
  let at = 0;
  const clock = { now: () => at, monotonic: () => (at += 25), after: () => () => {} };
  const patience: Patience = {
    clock,
    mostMs: 60_000,
    answered: new Set(),
    firstToken: () => ({ [Symbol.dispose]() {} }),
    waiting: (_of, _since, work) => work(),
  };
  const asked = await sendPatiently(async () => ANSWER, { id: "busy/m" }, patience, new AbortController().signal);
  expect(asked.waitedMs).toBeUndefined();
});
