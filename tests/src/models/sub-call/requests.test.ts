import fc from "fast-check";
import { expect, test } from "vitest";
import type { ModelAnswer, SubCallCode } from "../../../../src/models/port.ts";
import { withRetries } from "../../../../src/models/sub-call/requests.ts";

type RetryOptions = Parameters<typeof withRetries>[1];

const USAGE = { input: 10, output: 1, cache_read: 2, cache_write: 3, cost_usd: 0.5 };
const FREE = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };

const DONE: ModelAnswer = {
  ...{ ok: true, usage: USAGE, charged: true, turn: { text: "done", toolUses: [], stop: "end", raw: null } },
};

function failed(code: SubCallCode, retriable: boolean, retryAfterMs?: number): ModelAnswer {
  const error = { code, message: code, suggestion: "", retriable };
  return { ok: false, usage: FREE, charged: true, error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** A clock that only sleeping moves, and the largest jitter. */
function scripted(answers: readonly ModelAnswer[], options: Partial<RetryOptions> = {}) {
  let time = 0;
  const sent: number[] = [];
  const result = withRetries(
    async (attempt) => {
      expect(attempt).toBeGreaterThanOrEqual(sent.length);
      return answers[sent.push(time) - 1] ?? DONE;
    },
    {
      clock: { now: () => time, monotonic: () => time },
      sleep: async (ms) => {
        time += ms;
      },
      random: () => 0.999_999,
      deadline: 1e9,
      signal: new AbortController().signal,
      ...options,
    },
  );
  return { result, sent };
}

test("transient failures are sent again, with waits that double up to 8 s", async () => {
  const { result, sent } = scripted(Array(6).fill(failed("provider_error", true)), { maxRetries: 6 });
  expect((await result).answer).toBe(DONE);
  expect((await result).attempts.map((attempt) => attempt.waited_ms)).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
  expect(sent).toEqual([0, 500, 1500, 3500, 7500, 15_500, 23_500]);
});

test("after three retries the failure is the answer", async () => {
  const { result, sent } = scripted(Array(9).fill(failed("rate_limited", true)));
  expect((await result).answer).toMatchObject({ ok: false, error: { code: "rate_limited" } });
  expect((await result).attempts).toHaveLength(3);
  expect(sent).toHaveLength(4);
});

test("a wait for a server is told among the attempts, and is not one of the retries", async () => {
  const gone = failed("provider_error", true);
  const { result } = scripted([{ ...gone, waitedMs: 700 }, gone, gone, { ...DONE, waitedMs: 60 }]);
  expect((await result).answer.ok).toBe(true);
  expect((await result).attempts.map(({ waited_ms }) => waited_ms)).toEqual([700, 500, 1000, 2000, 60]);
});

test.each<[SubCallCode, boolean]>([
  ["timeout", true],
  ["empty_answer", true],
  ["content_filtered", false],
  ["auth_failed", false],
  ["cancelled", false],
  ["rate_limited", false],
  ["provider_error", false],
])("%s with retriable %s is not sent again", async (code, retriable) => {
  const { result, sent } = scripted([failed(code, retriable)]);
  expect((await result).answer).toMatchObject({ ok: false, error: { code } });
  expect(sent).toEqual([0]);
});

test("Retry-After is waited for, and a little longer", async () => {
  const { result } = scripted([failed("rate_limited", true, 7000)]);
  expect((await result).attempts).toEqual([{ code: "rate_limited", waited_ms: 7500 }]);
  const exact = scripted([failed("rate_limited", true, 7000)], { random: () => 0 });
  expect((await exact.result).attempts).toMatchObject([{ waited_ms: 7000 }]);
});

test("a Retry-After beyond the deadline fails at once", async () => {
  const { result, sent } = scripted([failed("rate_limited", true, 7000)], { deadline: 6000 });
  expect((await result).answer).toMatchObject({ ok: false, error: { code: "rate_limited" }, retryAfterMs: 7000 });
  expect(sent).toEqual([0]);
});

test("an abort while waiting ends it as cancelled", async () => {
  const cancel = new AbortController();
  const broken: ModelAnswer = { ...failed("provider_error", true), usage: USAGE };
  const { result, sent } = scripted([broken], { signal: cancel.signal, sleep: async () => cancel.abort() });
  expect((await result).answer).toMatchObject({ ok: false, charged: true, usage: USAGE, error: { code: "cancelled" } });
  expect(sent).toEqual([0]);
});

test("no wait goes beyond the deadline, none is longer than its cap, none shorter than Retry-After", async () => {
  const retryAfter = fc.option(fc.integer({ min: 0, max: 20_000 }), { nil: undefined });
  const property = fc.asyncProperty(
    fc.array(retryAfter, { maxLength: 6 }),
    fc.integer({ min: 0, max: 30_000 }),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    async (asked, deadline, random) => {
      const answers = asked.map((ms) => failed("rate_limited", true, ms));
      const { result, sent } = scripted(answers, { deadline, random: () => random });
      const { attempts } = await result;
      expect(sent.every((at) => at === 0 || at < deadline)).toBe(true);
      expect(attempts.length).toBeLessThanOrEqual(3);
      for (const [index, { waited_ms }] of attempts.entries()) {
        const ms = asked[index];
        expect(waited_ms).toBeGreaterThanOrEqual(ms ?? 0);
        expect(waited_ms).toBeLessThanOrEqual(ms === undefined ? 500 * 2 ** index : ms + 500);
      }
    },
  );
  await fc.assert(property);
});
