import fc from "fast-check";
import { expect, test } from "vitest";
import type { Reservation, SubCallError, Usage } from "../../../../src/model/port.ts";
import { type BudgetLimits, EMPTY_LEDGER, type Ledger, spend } from "../../../../src/session/journal/ledger.ts";
import { readRecord } from "../../../../src/session/journal/records.ts";
import { openBudget } from "../../../../src/session/sub-calls/budget.ts";

const usage = (tokens: number, cost_usd: number): Usage => ({
  input: tokens,
  output: 0,
  cache_read: 0,
  cache_write: 0,
  cost_usd,
});
const limits = (max_tokens: number, max_cost_usd: number | null = null): BudgetLimits => ({
  max_tokens,
  max_cost_usd,
  max_sub_calls: 50,
  max_time_ms: 300_000,
});
const never = new AbortController().signal;
const isReservation = (value: Reservation | SubCallError): value is Reservation => "settle" in value;

/** One request of a call: what it reserves, and what it turns out to take. */
const request = fc.record({
  input_tokens: fc.integer({ min: 0, max: 60 }),
  max_tokens: fc.integer({ min: 1, max: 60 }),
  cost: fc.integer({ min: 0, max: 40 }),
  /** Actual tokens over (or under) what was held. */
  error: fc.integer({ min: -50, max: 20 }),
});

test("a record that gives something back raises no budget", () => {
  const result = { record: "rlm_tool_result", usage: usage(-1000, -5), refused: true, cached: false };
  const ends = { record: "rlm_complete", kind: "cell", success: true, time_ms: -1000 };
  const ledger = [result, ends, result].map(readRecord).reduce((before, record) => spend(before, record), EMPTY_LEDGER);
  expect(ledger).toEqual(EMPTY_LEDGER);
});

test("parallel requests never hold more than is left, and overshoot by their estimates' errors alone", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { maxLength: 30 }),
      fc.integer({ min: 1, max: 600 }),
      fc.option(fc.integer({ min: 1, max: 300 }), { nil: null }),
      fc.infiniteStream(fc.nat()),
      async (requests, maxTokens, maxCost, order) => {
        const budget = openBudget(limits(maxTokens, maxCost), EMPTY_LEDGER);
        let ledger: Ledger = EMPTY_LEDGER;
        let overTokens = 0;
        const flying: { settle(): void }[] = [];
        const asked = requests.map(async ({ input_tokens, max_tokens, cost, error }, index) => {
          const id = `call-${index}`;
          const got = await budget.open(id).reserve({ input_tokens, max_tokens, cost_usd: cost }, never);
          if (!isReservation(got)) return expect(got.code).toBe("budget_exceeded");
          const held = budget.held();
          expect(ledger.tokens + held.tokens - Math.max(0, overTokens)).toBeLessThanOrEqual(maxTokens);
          await new Promise<void>((resolve) => {
            flying.push({
              settle() {
                const tokens = Math.max(0, input_tokens + max_tokens + error);
                overTokens += Math.max(0, tokens - input_tokens - max_tokens);
                got.settle(usage(tokens, cost));
                ledger = { ...ledger, tokens: ledger.tokens + tokens, cost_usd: ledger.cost_usd + cost };
                budget.close(id, ledger);
                resolve();
              },
            });
          });
        });
        const all = Promise.all(asked);
        let done = false;
        void all.then(() => {
          done = true;
        });
        while (!done) {
          await new Promise<void>((resolve) => setImmediate(resolve));
          const next = order.next().value ?? 0;
          flying.splice(flying.length > 0 ? next % flying.length : 0, 1)[0]?.settle();
        }
        expect(ledger.tokens).toBeLessThanOrEqual(maxTokens + overTokens);
        if (maxCost !== null) expect(ledger.cost_usd).toBeLessThanOrEqual(maxCost);
        expect(budget.held()).toEqual({ tokens: 0, cost_usd: 0 });
      },
    ),
    { numRuns: 1000 },
  );
});

test("a request waits for those in flight, and goes once they took less than they held", async () => {
  const budget = openBudget(limits(100), EMPTY_LEDGER);
  const first = await budget.open("a").reserve({ input_tokens: 10, max_tokens: 80, cost_usd: 0 }, never);
  const second = budget.open("b").reserve({ input_tokens: 10, max_tokens: 50, cost_usd: 0 }, never);
  expect(await Promise.race([second, Promise.resolve("waits")])).toBe("waits");
  if (!isReservation(first)) throw new Error("refused");
  first.settle(usage(20, 0));
  expect(isReservation(await second)).toBe(true);
  expect(budget.left().remaining_tokens).toBe(20);
});

test("what can never fit is refused, and says by how much", async () => {
  const budget = openBudget(limits(100), { ...EMPTY_LEDGER, tokens: 70 });
  const got = await budget.open("a").reserve({ input_tokens: 10, max_tokens: 80, cost_usd: 0 }, never);
  expect(got).toMatchObject({ code: "budget_exceeded", message: expect.stringContaining("90 tokens") });
});

test("dollars are a limit of their own", async () => {
  const budget = openBudget(limits(1000, 0.01), { ...EMPTY_LEDGER, cost_usd: 0.009 });
  const got = await budget.open("a").reserve({ input_tokens: 1, max_tokens: 1, cost_usd: 0.002 }, never);
  expect(got).toMatchObject({ code: "budget_exceeded", message: expect.stringContaining("$0.0020") });
});

test("who waits and is aborted leaves the queue to the next", async () => {
  const budget = openBudget(limits(100), EMPTY_LEDGER);
  const first = await budget.open("a").reserve({ input_tokens: 0, max_tokens: 90, cost_usd: 0 }, never);
  const abort = new AbortController();
  const second = budget.open("b").reserve({ input_tokens: 0, max_tokens: 100, cost_usd: 0 }, abort.signal);
  const third = budget.open("c").reserve({ input_tokens: 0, max_tokens: 10, cost_usd: 0 }, never);
  abort.abort();
  expect(await second).toMatchObject({ code: "cancelled" });
  expect(isReservation(await third)).toBe(true);
  if (isReservation(first)) first.settle(usage(1, 0));
});
