import fc from "fast-check";
import { expect, test } from "vitest";
import { NO_USAGE, type Reservation, type SubCallError, type Usage } from "../../../../src/models/index.ts";
import { leftForNext, leftOfBoth, spend } from "../../../../src/session/journal/ledger.ts";
import { type BudgetLimits, EMPTY_LEDGER, type Ledger, readRecord } from "../../../../src/session/journal/records.ts";

import { type Budget, openBudget } from "../../../../src/session/sub-calls/budget.ts";

type BudgetStart = Parameters<typeof openBudget>[2];

const usage = (tokens: number, cost_usd = 0): Usage => ({ ...NO_USAGE, input: tokens, cost_usd });
const limits = (max_tokens: number, max_cost_usd: number | null = null): BudgetLimits => ({
  max_tokens,
  max_cost_usd,
  max_sub_calls: 50,
  max_time_ms: 300_000,
});
/** A session without questions of their own. */
const openOf = (most: BudgetLimits, ledger: Ledger, start: BudgetStart = {}) =>
  openBudget({ budget: most, question: null }, { ledger, question: null }, start);
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
        const budget = openOf(limits(maxTokens, maxCost), EMPTY_LEDGER);
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
                budget.close(id, { ledger, question: null });
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
    { numRuns: 200 },
  );
});

test("a request waits for those in flight, and goes once they took less than they held", async () => {
  const budget = openOf(limits(100), EMPTY_LEDGER);
  const first = await budget.open("a").reserve({ input_tokens: 10, max_tokens: 80, cost_usd: 0 }, never);
  const second = budget.open("b").reserve({ input_tokens: 10, max_tokens: 50, cost_usd: 0 }, never);
  expect(await Promise.race([second, Promise.resolve("waits")])).toBe("waits");
  if (!isReservation(first)) throw new Error("refused");
  first.settle(usage(20, 0));
  expect(isReservation(await second)).toBe(true);
  expect(budget.left().remaining_tokens).toBe(20);
});

test("what can never fit is refused, and says by how much", async () => {
  const budget = openOf(limits(100), { ...EMPTY_LEDGER, tokens: 70 });
  const got = await budget.open("a").reserve({ input_tokens: 10, max_tokens: 80, cost_usd: 0 }, never);
  expect(got).toMatchObject({ code: "budget_exceeded", message: expect.stringContaining("90 tokens") });
});

test("dollars are a limit of their own", async () => {
  const budget = openOf(limits(1000, 0.01), { ...EMPTY_LEDGER, cost_usd: 0.009 });
  const got = await budget.open("a").reserve({ input_tokens: 1, max_tokens: 1, cost_usd: 0.002 }, never);
  expect(got).toMatchObject({ code: "budget_exceeded", message: expect.stringContaining("$0.0020") });
});

test("who waits and is aborted leaves the queue to the next", async () => {
  const budget = openOf(limits(100), EMPTY_LEDGER);
  const first = await budget.open("a").reserve({ input_tokens: 0, max_tokens: 90, cost_usd: 0 }, never);
  const abort = new AbortController();
  const second = budget.open("b").reserve({ input_tokens: 0, max_tokens: 100, cost_usd: 0 }, abort.signal);
  const third = budget.open("c").reserve({ input_tokens: 0, max_tokens: 10, cost_usd: 0 }, never);
  abort.abort();
  expect(await second).toMatchObject({ code: "cancelled" });
  expect(isReservation(await third)).toBe(true);
  if (isReservation(first)) first.settle(usage(1, 0));
});

const estimate = (max_tokens: number, cost_usd = 0) => ({ input_tokens: 0, max_tokens, cost_usd });
const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A level below this budget, over the call of this id. */
const below = (above: Budget, callId: string, most: BudgetLimits) =>
  openOf(most, EMPTY_LEDGER, { above: above.open(callId) });

/** A tree of three levels: one budget above, and so many below each. */
const tree = fc.record({
  root: fc.integer({ min: 50, max: 400 }),
  rootCost: fc.option(fc.integer({ min: 20, max: 200 }), { nil: null }),
  middle: fc.array(fc.integer({ min: 30, max: 300 }), { minLength: 1, maxLength: 3 }),
  leaves: fc.array(fc.integer({ min: 20, max: 200 }), { minLength: 1, maxLength: 2 }),
});

const treeRequest = fc.record({
  /** Which of the levels sends it. */
  at: fc.nat(),
  tokens: fc.integer({ min: 0, max: 150 }),
  cost: fc.integer({ min: 0, max: 60 }),
  /** What it turns out to take, of what was held. */
  part: fc.integer({ min: 0, max: 100 }),
  aborts: fc.boolean(),
});

test("no level of a tree holds more than it may, all requests end, and nothing stays held", async () => {
  await fc.assert(
    fc.asyncProperty(
      tree,
      fc.array(treeRequest, { maxLength: 40 }),
      fc.infiniteStream(fc.nat()),
      async ({ root, rootCost, middle, leaves }, requests, order) => {
        const top = { budget: openOf(limits(root, rootCost), EMPTY_LEDGER), most: root, spent: 0 };
        const parents = middle.map((most, at) => ({
          budget: below(top.budget, `m${at}`, limits(most)),
          most,
          spent: 0,
        }));
        const children = parents.flatMap((parent) =>
          leaves.map((most, at) => ({
            level: { budget: below(parent.budget, `c${at}`, limits(most)), most, spent: 0 },
            parent,
          })),
        );
        const senders = [
          [top],
          ...parents.map((parent) => [parent, top]),
          ...children.map(({ level, parent }) => [level, parent, top]),
        ];
        const levels = [top, ...parents, ...children.map(({ level }) => level)];
        const within = () => {
          for (const { budget, most, spent } of levels) expect(budget.held().tokens + spent).toBeLessThanOrEqual(most);
          if (rootCost !== null) expect(top.budget.held().cost_usd).toBeLessThanOrEqual(rootCost);
        };
        const flying: (() => void)[] = [];
        let open = requests.length;
        for (const [id, { at, tokens, cost, part, aborts }] of requests.entries()) {
          const path = senders[at % senders.length] ?? [top];
          const abort = new AbortController();
          void path[0]?.budget
            .open(`r${id}`)
            .reserve(estimate(tokens, cost), abort.signal)
            .then((got) => {
              within();
              if (!isReservation(got)) {
                open--;
                return;
              }
              flying.push(() => {
                const took = Math.floor((tokens * part) / 100);
                got.settle(usage(took, (cost * part) / 100));
                for (const level of path) level.spent += took;
                open--;
              });
            });
          if (aborts) flying.push(() => abort.abort());
        }
        for (let rounds = 0; open > 0; rounds++) {
          if (rounds > 500) throw new Error(`${open} requests wait for each other`);
          await soon();
          flying.splice((order.next().value ?? 0) % Math.max(1, flying.length), 1)[0]?.();
          within();
        }
        for (const { budget } of levels) expect(budget.held()).toEqual({ tokens: 0, cost_usd: 0 });
      },
    ),
    { numRuns: 100 },
  );
});

test("a request that a lower level refuses gives back what is held above", async () => {
  const top = openOf(limits(100), EMPTY_LEDGER);
  const child = below(top, "call", limits(30));
  expect(await child.open("a").reserve(estimate(40), never)).toMatchObject({
    code: "budget_exceeded",
    message: expect.stringContaining("30 are left"),
  });
  expect(top.left().remaining_tokens).toBe(100);
  expect(top.held()).toEqual({ tokens: 0, cost_usd: 0 });
});

test("a request that is aborted while it waits at a lower level gives back what is held above", async () => {
  const top = openOf(limits(100), EMPTY_LEDGER);
  const child = below(top, "call", limits(30));
  const first = await child.open("a").reserve(estimate(30), never);
  const abort = new AbortController();
  const second = child.open("b").reserve(estimate(20), abort.signal);
  await soon();
  expect(top.held().tokens).toBe(50);
  abort.abort();
  expect(await second).toMatchObject({ code: "cancelled" });
  expect(top.held().tokens).toBe(30);
  if (isReservation(first)) first.settle(usage(10));
  expect(top.left().remaining_tokens).toBe(90);
});

test("requests of different levels are served in the order in which they came to the level that they wait for", async () => {
  const top = openOf(limits(100), EMPTY_LEDGER);
  const child = below(top, "call", limits(100));
  const first = await top.open("a").reserve(estimate(90), never);
  const served: string[] = [];
  const wait = (name: string, from: Budget, tokens: number) =>
    from
      .open(name)
      .reserve(estimate(tokens), never)
      .then(() => served.push(name));
  void wait("large", child, 80);
  void wait("small", top, 10);
  await soon();
  expect(served).toEqual([]);
  if (isReservation(first)) first.settle(usage(15));
  await soon();
  expect(served).toEqual(["large"]);
});

test("what is left to a child is what every level above has left, dollars too", async () => {
  const top = openOf(limits(1000, 0.5), { ...EMPTY_LEDGER, tokens: 300 });
  const child = below(top, "call", limits(800, 2));
  expect(child.left()).toMatchObject({ remaining_tokens: 700, remaining_cost_usd: 0.5, remaining_sub_calls: 50 });
  const held = await top.open("other").reserve(estimate(600, 0.4), never);
  expect(child.left().remaining_tokens).toBe(100);
  expect(child.left().remaining_cost_usd).toBeCloseTo(0.1);
  if (isReservation(held)) held.settle(usage(0, 0));
  expect(child.left().remaining_tokens).toBe(700);
});

test("a child can wait for requests of other levels to be over, as long as there are some", async () => {
  const top = openOf(limits(1000), EMPTY_LEDGER);
  const child = below(top, "call", limits(1000));
  const seen = child.open("own");
  expect(seen.settled()).toBeNull();
  const held = await top.open("other").reserve(estimate(900), never);
  const over = seen.settled();
  expect(await Promise.race([over, Promise.resolve("in flight")])).toBe("in flight");
  if (isReservation(held)) held.settle(usage(10));
  await over;
  expect(seen.settled()).toBeNull();
  expect(child.left().remaining_tokens).toBe(990);
});

test("a call that an earlier process left open begins with what its child has spent", () => {
  const unrecorded = [{ callId: "call", tokens: 400, cost_usd: 0.25 }];
  const budget = openOf(limits(1000, 1), { ...EMPTY_LEDGER, tokens: 100 }, { unrecorded });
  expect(budget.left()).toMatchObject({ remaining_tokens: 500, remaining_cost_usd: 0.75 });
  budget.close("call", { ledger: { ...EMPTY_LEDGER, tokens: 600, cost_usd: 0.25 }, question: null });
  expect(budget.left()).toMatchObject({ remaining_tokens: 400, remaining_cost_usd: 0.75 });
});

test("a request has to fit into what the question has left, and into what the session has", async () => {
  const rules = { budget: limits(1000), question: limits(100) };
  const question = { id: "q", ledger: { ...EMPTY_LEDGER, tokens: 30 }, limits: {}, isWorkflow: false };
  const budget = openBudget(rules, { ledger: { ...EMPTY_LEDGER, tokens: 930 }, question });
  expect(budget.left()).toMatchObject({ remaining_tokens: 70, remaining_sub_calls: 50 });
  const held = await budget.open("a").reserve(estimate(60), never);
  expect(budget.left().remaining_tokens).toBe(10);
  if (isReservation(held)) held.settle(usage(60));
  const spent = { ...question, ledger: { ...EMPTY_LEDGER, tokens: 90 } };
  budget.close("a", { ledger: { ...EMPTY_LEDGER, tokens: 990 }, question: spent });
  expect(await budget.open("b").reserve(estimate(20), never)).toMatchObject({ limit: "tokens" });
  // A next question has all of its own, and the session has ten.
  expect(leftForNext(rules, { ledger: { ...EMPTY_LEDGER, tokens: 990 } }).remaining_tokens).toBe(10);
});

test("a question that is a workflow has limits of its own, which a record lowers too", () => {
  const rules = { budget: limits(1000, 9), question: limits(100, 1), workflow: limits(800, 8) };
  const left = (isWorkflow: boolean, own: Partial<BudgetLimits> = {}) =>
    leftOfBoth(rules, { ledger: EMPTY_LEDGER, question: { id: "q", ledger: EMPTY_LEDGER, limits: own, isWorkflow } });
  expect([left(false), left(true)].map(({ remaining_tokens }) => remaining_tokens)).toEqual([100, 800]);
  expect(left(true, { max_tokens: 40 }).remaining_tokens).toBe(40);
});

test("a record lowers the limits of a question, and raises none", () => {
  const rules = { budget: limits(1000, 2), question: limits(100, 1) };
  const left = (own: Partial<BudgetLimits>) =>
    leftOfBoth(rules, {
      ledger: EMPTY_LEDGER,
      question: { id: "q", ledger: EMPTY_LEDGER, limits: own, isWorkflow: false },
    });
  expect(left({ max_tokens: 40, max_cost_usd: 0.5 })).toMatchObject({ remaining_tokens: 40, remaining_cost_usd: 0.5 });
  const raised = left({ max_tokens: 1e9, max_sub_calls: 1e9, max_time_ms: 1e9, max_cost_usd: null });
  expect(raised).toEqual(left({}));
});
