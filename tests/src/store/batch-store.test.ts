import { DatabaseSync } from "node:sqlite";
import { describe, expect, test, vi } from "vitest";
import type { BatchResult, NewBatchRequest, ProviderBatch } from "../../../src/store/batch-store.ts";
import type { Amount } from "../../../src/store/job-store.ts";
import { openStore } from "../../../src/store/open.ts";
import type { GcRule, Store } from "../../../src/store/port.ts";
import { keepRequest, waitsOf } from "../../../src/store/sql/batch-requests.ts";
import {
  answerRequests,
  closeBatch,
  endBatch,
  giveUpWhich,
  groupsOf,
  openBatches,
  requestsOf,
} from "../../../src/store/sql/batches.ts";
import { type Plan, sql } from "../../../src/store/sql/sql.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { EDITED } from "./edited.ts";
import { contextOf, recordOf, sessionOf } from "./sample.ts";
import { STORES, testOf } from "./stores.ts";

const ACCOUNT = "openai-completions https://api.example.com/v1 0123abcd";
const MODEL = "openai/gpt-x";
const OF = { account: ACCOUNT, model: MODEL };
const ALL = { requests: 20_000, bytes: 100e6 };
const OK = { status: 200, body: { text: "yes" } };
const LOST = { status: 0, body: { code: "answer_lost" } };
const UNLIMITED = { nanodollars: null, tokens: null, sub_calls: null };
const NONE: Amount = { nanodollars: 0, tokens: 0, sub_calls: 0 };
const tokens = (count: number): Amount => ({ nanodollars: 0, tokens: count, sub_calls: 0 });
const GC: GcRule = { now: Date.now(), anonymousMs: 0, namedMs: 0, pi: true, dryRun: false };

const requestFor = (session: string, more: Partial<NewBatchRequest> = {}): NewBatchRequest => ({
  ...{ session, call: `call of ${session}`, k: 0, root: session, run: null, account: ACCOUNT, model: MODEL },
  ...{ body: { model: "gpt-x", messages: [session] }, proof: "proof", ...more },
});
const askedIn = ({ session, call, k, root, run, model }: NewBatchRequest) => ({ session, call, k, root, run, model });
const answerOf = (n: number, more: Partial<BatchResult> = {}): BatchResult => ({ n, ...OK, again: false, ...more });

/** A run of jobs, each of which is tried and asks by batch. */
async function runOf({ jobs }: Store, count: number, id = "R") {
  const run = { id, name: `run ${id}`, queue: "q", share: 1, spec: {}, hash: "h", limits: UNLIMITED };
  await jobs.open(run);
  const asked = Array.from({ length: count }, (_, n) => ({
    id: `job-${n}`,
    session: `${id}-${n}`,
    input: `${n}`,
    context: null,
  }));
  await jobs.add(id, asked);
}
const keyOf = (n: number, run = "R") => ({ run, n });
const begin = ({ jobs }: Store, n: number, fence = 0) =>
  jobs.begin(keyOf(n), { ticket: "t", fence, engine: null, lapses: 0, answers: 0 });
const park = ({ jobs }: Store, n: number, fence = 0) =>
  jobs.put(keyOf(n), fence, { state: "parked", why: "delivery", afterMs: 0, counts: false });
const holdOf = (n: number, call: string, attempt: number) => ({ ...keyOf(n), call, attempt, fence: 0 });
const stateOf = async ({ jobs }: Store, n: number) => (await jobs.read(keyOf(n)))?.job.state;

/** Takes the lease of the account, once. */
async function leased({ batches }: Store, account = ACCOUNT): Promise<number> {
  const fence = await batches.lease(account);
  if (fence === null) throw new Error("somebody has it");
  return fence;
}
async function closed({ batches }: Store, fence: number, most = ALL): Promise<ProviderBatch> {
  const batch = await batches.close(OF, fence, most);
  if (!batch) throw new Error("nothing was closed");
  return batch;
}

describe.each(STORES)("requests by batch of a store $kind", (kind) => {
  const stored = testOf(kind);

  stored("a request goes its way from its request to its answer", async (store) => {
    const { batches } = store;
    const request = requestFor("S", { body: "x".repeat(10_000) });
    const { body: _, proof, ...shown } = request;
    const kept = await batches.keep(request);
    expect(kept).toEqual({ ...shown, state: "waiting", at: kept.at, sent_at: null, batch: null, answer: null });
    const [group] = await batches.groups();
    expect(group).toEqual({
      ...OF,
      requests: 1,
      bytes: 10_002,
      oldestMs: group?.oldestMs,
      newestMs: group?.oldestMs,
      grows: false,
    });
    const fence = await leased(store);
    const batch = await closed(store, fence);
    const fresh = { file: null, asked_at: null, batch: null, lookMs: 0, cancelled: false, proof: null } as const;
    const ages = { closedMs: expect.any(Number), askedMs: null, madeMs: null };
    const { id } = batch;
    expect(batch).toEqual({ id, ...OF, requests: 1, wanted: 1, state: "closed", ...ages, ...fresh });
    expect(await batches.open()).toEqual([{ ...batch, ...ages }]);
    expect(await batches.groups()).toEqual([]);
    expect(await batches.close(OF, fence, ALL)).toBeNull();
    expect(await batches.toSend(id, 0)).toEqual([
      { ...askedIn(request), n: 0, body: JSON.stringify(request.body), proof },
    ]);
    expect(await batches.toSend(id, 1)).toEqual([]);
    expect(await batches.step(id, fence, { file: "file-1", asked: true, lookMs: 5000 })).toBe(true);
    expect(await batches.step(id, fence, { state: "out", batch: "batch-1", done: 0 })).toBe(true);
    const [out] = await batches.open();
    expect(out).toMatchObject({ state: "out", file: "file-1", batch: "batch-1", cancelled: false });
    expect(out?.lookMs).toBeGreaterThan(3000);
    expect(await batches.names(ACCOUNT)).toEqual(["batch-1"]);
    const [sent] = await batches.ofCall("S", request.call);
    expect(sent).toEqual({ ...kept, state: "out", batch: "batch-1", sent_at: expect.any(Number) });
    expect(out?.madeMs).toBeGreaterThanOrEqual(0);
    expect(await batches.waits({ root: "S" })).toEqual([
      { ...OF, batch: "batch-1", state: "out", calls: 1, done: 0, since: sent?.sent_at, earlier: [] },
    ]);
    expect(await batches.answer(id, fence, [answerOf(0), answerOf(7)])).toBe(true);
    expect(await batches.end(id, fence, { kind: "again", otherwise: LOST })).toBe(true);
    expect(await batches.ofCall("S", request.call)).toEqual([{ ...sent, state: "answered", answer: OK }]);
    expect(await batches.keep({ ...request, body: 1 })).toMatchObject({ state: "answered", answer: OK });
    expect([await batches.open(), await batches.waits({ root: "S" })]).toEqual([[], []]);
    expect(await batches.step(id, fence, { done: 1 })).toBe(false);
    expect(await batches.names(ACCOUNT)).toEqual(["batch-1"]);
  });

  stored("the same key again replaces a request that waits, and no other", async (store) => {
    const { batches } = store;
    const { at } = await batches.keep(requestFor("S"));
    await batches.keep(requestFor("S", { k: 1 }));
    const other = { account: "other", model: "other/m", body: "other" };
    expect(await batches.keep(requestFor("S", other))).toMatchObject({ state: "waiting", account: "other", at });
    await batches.keep(requestFor("S"));
    const fence = await leased(store);
    const { id } = await closed(store, fence);
    expect(await batches.keep(requestFor("S", other))).toMatchObject({ state: "out", account: ACCOUNT });
    const bodies = (await batches.toSend(id, 0)).map(({ body }) => JSON.parse(body));
    expect(bodies).toEqual([requestFor("S").body, requestFor("S").body]);
    expect((await batches.ofCall("S", "call of S")).map(({ k }) => k)).toEqual([0, 1]);
  });

  stored("with another fence nothing changes, and one store has an account", async (store) => {
    const { batches } = store;
    await batches.keep(requestFor("S"));
    const fence = await leased(store);
    expect(await batches.lease(ACCOUNT)).toBeNull();
    expect(await batches.lease("another account")).not.toBeNull();
    expect(await batches.close(OF, fence - 1, ALL)).toBeNull();
    const { id } = await closed(store, fence);
    await batches.step(id, fence, { state: "out", batch: "b" });
    const before = await batches.open();
    const old = fence - 1;
    expect(await batches.step(id, old, { state: "doubt", done: 9 })).toBe(false);
    expect(await batches.answer(id, old, [answerOf(0)])).toBe(false);
    for (const kind of ["answered", "again", "refused"] as const) {
      const rest = { answer: OK, otherwise: OK, afterMs: 0, most: null };
      expect(await batches.end(id, old, { ...rest, kind })).toBe(false);
    }
    expect((await batches.open()).map(({ lookMs: _, closedMs: _c, madeMs: _m, ...one }) => one)).toEqual(
      before.map(({ lookMs: _, closedMs: _c, madeMs: _m, ...one }) => one),
    );
    expect(await batches.ofCall("S", "call of S")).toMatchObject([{ state: "out" }]);
    await batches.release(ACCOUNT);
    const next = await leased(store);
    expect(next).toBe(fence === 0 ? 0 : fence + 1);
    expect(await batches.answer(id, next, [answerOf(0)])).toBe(true);
    expect(await store.list({ after: null, limit: 9 })).toEqual([]);
  });

  stored("a job is woken exactly when its last request is answered, and is not parked after that", async (store) => {
    const { batches } = store;
    await runOf(store, 3);
    const fence = await leased(store);
    for (const n of [0, 1, 2]) {
      await begin(store, n);
      await batches.keep(requestFor(`R-${n}`, { run: "R" }));
      // A child's calls wait for its root.
      await batches.keep(requestFor(`R-${n}.child`, { run: "R", root: `R-${n}`, k: 1 }));
    }
    for (const n of [0, 1]) await park(store, n);
    const { id } = await closed(store, fence);
    const rows = await batches.toSend(id, 0);
    const numberOf = (session: string) => rows.find(({ body }) => body.includes(`"${session}"`))?.n ?? -1;
    const woken = async () => (await batches.delivered("q")).map(({ n }) => n);
    const answers = [0, 1, 2].map((n) => answerOf(numberOf(`R-${n}`)));
    expect(await batches.answer(id, fence, answers)).toBe(true);
    expect(await woken()).toEqual([]);
    expect(await store.jobs.counts("R")).toMatchObject({ parked: 2, running: 1 });
    expect(await batches.waits({ run: "R" })).toMatchObject([{ calls: 3, state: "closed" }]);
    await batches.answer(id, fence, [answerOf(numberOf("R-0.child")), answerOf(numberOf("R-2.child"))]);
    expect(await woken()).toEqual([0]);
    expect((await store.jobs.read(keyOf(0)))?.job).toMatchObject({ state: "waiting", why: "delivery" });
    // All that it would wait for came while it was about to be parked.
    expect(await park(store, 2)).toBe(true);
    expect(await woken()).toEqual([0, 2]);
    expect(await batches.end(id, fence, { kind: "answered", answer: LOST })).toBe(true);
    expect(await woken()).toEqual([0, 1, 2]);
    expect(await batches.delivered("other")).toEqual([]);
    expect(await batches.ofCall("R-1.child", "call of R-1.child")).toMatchObject([{ answer: LOST }]);
    expect(await batches.waits({ run: "R" })).toEqual([]);
  });

  stored("a request goes again as often as it may, and a refused batch does not count", async (store) => {
    const { batches } = store;
    const fence = await leased(store);
    for (const k of [0, 1, 2, 3]) await batches.keep(requestFor("S", { k }));
    const refused = await closed(store, fence);
    await batches.end(refused.id, fence, { kind: "refused", afterMs: 60_000, most: 2 });
    expect([await batches.groups(), await batches.close(OF, fence, ALL)]).toEqual([[], null]);
    const again = await Promise.all([0, 1, 2, 3].map((k) => batches.ofCall("S", "call of S").then((all) => all[k])));
    expect(again.map((one) => one?.state)).toEqual(["waiting", "waiting", "waiting", "waiting"]);
    await batches.giveUp({ root: "S" }, "unsent");
    for (const k of [0, 1, 2, 3]) await batches.keep(requestFor("S", { k }));
    await batches.end((await closed(store, fence)).id, fence, { kind: "refused", afterMs: 0, most: 2 });
    const halves = [await closed(store, fence), await closed(store, fence)];
    expect(halves.map(({ requests }) => requests)).toEqual([2, 2]);
    const [first, second] = halves;
    await batches.answer(first?.id ?? "", fence, [answerOf(0), answerOf(1, { status: 500, again: true })]);
    expect((await batches.groups())[0]?.requests).toBe(1);
    for (const one of [first, second]) await batches.end(one?.id ?? "", fence, { kind: "again", otherwise: LOST });
    expect((await batches.groups())[0]?.requests).toBe(3);
    const answers: unknown[] = [];
    for (let at = 0; at < 2; at++) {
      for (let left = await batches.close(OF, fence, ALL); left; left = await batches.close(OF, fence, ALL)) {
        await batches.answer(left.id, fence, [answerOf(0, { status: 429, again: true })]);
        await batches.end(left.id, fence, { kind: "again", otherwise: LOST });
      }
      answers.push((await batches.ofCall("S", "call of S")).map(({ answer }) => answer?.status));
    }
    expect(answers).toEqual([
      [200, 429, 0, 429],
      [200, 429, 0, 429],
    ]);
  });

  stored("a batch gets the oldest requests, within its bounds but at least one", async (store) => {
    const { batches } = store;
    const fence = await leased(store);
    for (const k of [0, 1, 2, 3, 4]) await batches.keep(requestFor("S", { k, body: `${k}`.repeat(98) }));
    await batches.keep(requestFor("T", { model: "openai/other" }));
    const numbers = async (most: typeof ALL) => {
      const { id, requests } = await closed(store, fence, most);
      const bodies = await batches.toSend(id, 0);
      expect(bodies.map(({ n }) => n)).toEqual(Array.from({ length: requests }, (_, n) => n));
      return bodies.map(({ body }) => Number(body[1]));
    };
    expect(await numbers({ requests: 9, bytes: 50 })).toEqual([0]);
    expect(await numbers({ requests: 1, bytes: 5000 })).toEqual([1]);
    expect(await numbers({ requests: 9, bytes: 250 })).toEqual([2, 3]);
    expect((await batches.groups()).map(({ model, requests }) => [model, requests])).toEqual([
      [MODEL, 1],
      ["openai/other", 1],
    ]);
  });

  stored("a group grows while a job of its open runs can go on without an answer", async (store) => {
    const { batches, jobs } = store;
    await runOf(store, 2);
    const grows = async () => (await batches.groups()).map((group) => group.grows);
    await batches.keep(requestFor("R-0", { run: "R" }));
    expect(await grows()).toEqual([true]);
    await begin(store, 1);
    expect(await grows()).toEqual([true]);
    await batches.keep(requestFor("R-1", { run: "R" }));
    expect(await grows()).toEqual([false]);
    const third = { id: "job-2", session: "R-2", input: "1", context: null };
    await jobs.add("R", [third]);
    expect(await grows()).toEqual([true]);
    await jobs.change("R", { to: "pause", why: null });
    expect(await grows()).toEqual([false]);
    await jobs.change("R", { to: "resume" });
    await batches.keep(requestFor("alone"));
    expect(await grows()).toEqual([false]);
  });

  stored("requests by batch go with the records of their calls, and those that are out are given up", async (store) => {
    const { batches } = store;
    await store.create(sessionOf("S"));
    const fence = await leased(store);
    for (const call of ["a", "b", "c"]) await batches.keep(requestFor("S", { call }));
    const { id } = await closed(store, fence);
    await batches.keep(requestFor("S", { call: "d" }));
    await batches.answer(id, fence, [answerOf(0)]);
    await store.commit("S", { records: [recordOf("E1", 1)], delivered: ["a", "b", "d"] });
    const left = await Promise.all(["a", "b", "c", "d"].map((call) => batches.ofCall("S", call)));
    expect(left.map((of) => of.length)).toEqual([0, 0, 1, 0]);
    expect(await batches.open()).toMatchObject([{ requests: 3, wanted: 1 }]);
    // They are requests of the batch all the same: it is known by their number.
    expect((await batches.toSend(id, 0)).map(({ n }) => n)).toEqual([1, 2]);
    expect(await batches.answer(id, fence, [answerOf(1)])).toBe(true);
    expect(await batches.keep(requestFor("S", { call: "b" }))).toMatchObject({ state: "out" });
    expect(await batches.open()).toMatchObject([{ wanted: 2 }]);
    await store.commit("S", { delivered: ["b"] });
    await batches.end(id, fence, { kind: "answered", answer: OK });
    expect(await batches.ofCall("S", "b")).toEqual([]);
    const before = await store.journal("S");
    await expect(
      store.commit("S", { delivered: ["c"], drop: ["none"], settle: [{ ...keyOf(0), call: "c", spent: NONE }] }),
    ).rejects.toThrow();
    expect([await batches.ofCall("S", "c"), await store.journal("S")]).toMatchObject([[{ state: "answered" }], before]);
  });

  stored("a hold by batch stays held from try to try, is taken over, and is settled with its call", async (store) => {
    const { jobs, batches } = store;
    await runOf(store, 1);
    await jobs.limit("R", { ...UNLIMITED, tokens: 100 });
    const { fence: own } = await store.create(sessionOf("R-0", { origin: "batch" }));
    await begin(store, 0, own);
    for (const [call, attempt] of [
      ["a", -1],
      ["b", 0],
      ["c", -1],
    ] as const) {
      expect(await jobs.reserve({ ...holdOf(0, call, attempt), amount: tokens(30) })).toBe("held");
    }
    // The process may have died before it kept the request of `a`: nothing was sent.
    await batches.keep(requestFor("R-0.child", { call: "c", run: "R", root: "R-0" }));
    await park(store, 0, own);
    await jobs.change("R", { to: "resume" });
    expect(await stateOf(store, 0)).toBe("parked");
    const fence = await leased(store);
    const { id } = await closed(store, fence);
    expect(await batches.end(id, fence, { kind: "answered", answer: OK })).toBe(true);
    await begin(store, 0, own);
    expect(await jobs.run("R")).toMatchObject({ held: tokens(60), doubtful: tokens(30) });
    expect(await jobs.reserve({ ...holdOf(0, "a", -1), amount: tokens(50) })).toBe("held");
    expect(await jobs.run("R")).toMatchObject({ held: tokens(60), doubtful: tokens(30) });
    await jobs.give(holdOf(0, "a", -1), tokens(10));
    const settle = [{ ...keyOf(0), call: "a", spent: tokens(10) }];
    await store.commit("R-0", { records: [recordOf("E1", 1)], settle, delivered: ["a"] });
    expect(await jobs.run("R")).toMatchObject({ spent: tokens(10), held: tokens(30), doubtful: tokens(30) });
    await jobs.finish(keyOf(0), own, { state: "failed", result: null, told: null });
    expect(await jobs.run("R")).toMatchObject({ spent: tokens(10), held: NONE, doubtful: tokens(60) });
    expect(await batches.ofCall("R-0.child", "c")).toEqual([]);
  });

  stored(
    "cancel, retry and replace give requests up: what was sent counts in full, the rest is free",
    async (store) => {
      const { jobs, batches } = store;
      await runOf(store, 4);
      const fence = await leased(store);
      const ask = async (n: number) => {
        await begin(store, n);
        await jobs.reserve({ ...holdOf(n, `call of R-${n}`, -1), amount: tokens(10) });
        await batches.keep(requestFor(`R-${n}`, { run: "R" }));
        await park(store, n);
      };
      for (const n of [0, 1]) await ask(n);
      const { id } = await closed(store, fence);
      for (const n of [2, 3]) await ask(n);
      expect(await jobs.run("R")).toMatchObject({ held: tokens(40), doubtful: NONE });
      await jobs.change("R", { to: "cancel", ids: ["job-0", "job-2"] });
      expect(await jobs.run("R")).toMatchObject({ held: tokens(20), doubtful: tokens(10) });
      expect(await batches.waits({ run: "R" })).toMatchObject([
        { calls: 1, state: "waiting", batch: null },
        { calls: 1, state: "closed" },
      ]);
      await jobs.change("R", { to: "retry", ids: ["job-1"], states: ["failed"], fresh: true });
      await jobs.replace("R", [{ id: "job-3", session: "new", input: "2", context: null }]);
      expect(await jobs.run("R")).toMatchObject({ held: NONE, doubtful: tokens(20) });
      expect([await batches.waits({ run: "R" }), await batches.groups()]).toEqual([[], []]);
      expect(await batches.open()).toMatchObject([{ requests: 2, wanted: 0 }]);
      expect(await batches.answer(id, fence, [answerOf(0), answerOf(1)])).toBe(true);
      await batches.end(id, fence, { kind: "again", otherwise: LOST });
      expect(await batches.groups()).toEqual([]);
    },
  );

  stored("requests that have not left are given up alone, and their jobs wait for a try", async (store) => {
    const { jobs, batches } = store;
    await runOf(store, 2);
    for (const n of [0, 1]) {
      await begin(store, n);
      await jobs.reserve({ ...holdOf(n, `call of R-${n}`, -1), amount: tokens(10) });
      await batches.keep(requestFor(`R-${n}`, { run: "R" }));
      await park(store, n);
    }
    const fence = await leased(store);
    const { id } = await closed(store, fence, { ...ALL, requests: 1 });
    expect(await batches.step(id, fence, { asked: true })).toBe(true);
    await batches.giveUp({ run: "R" }, "unsent");
    expect(await batches.delivered("q")).toMatchObject([{ run: "R", n: 1 }]);
    expect([await stateOf(store, 0), await stateOf(store, 1)]).toEqual(["parked", "waiting"]);
    expect(await jobs.run("R")).toMatchObject({ held: tokens(10), doubtful: NONE });
    await batches.giveUp({ root: "R-0" }, "all");
    expect(await jobs.run("R")).toMatchObject({ held: NONE, doubtful: tokens(10) });
  });

  stored(
    "a batch that was not asked for yet has not left: nobody can ask for it once it is given up",
    async (store) => {
      const { jobs, batches } = store;
      await runOf(store, 2);
      for (const n of [0, 1]) {
        await begin(store, n);
        await jobs.reserve({ ...holdOf(n, `call of R-${n}`, -1), amount: tokens(10) });
        await batches.keep(requestFor(`R-${n}`, { run: "R" }));
        await park(store, n);
      }
      await batches.keep(requestFor("S"));
      const fence = await leased(store);
      const { id, requests } = await closed(store, fence);
      expect(requests).toBe(3);
      await batches.step(id, fence, { file: "file-1" });
      await batches.giveUp({ run: "R" }, "unsent");
      expect(await batches.step(id, fence, { asked: true })).toBe(false);
      expect(await batches.open()).toEqual([]);
      expect((await batches.delivered("q")).map(({ n }) => n)).toEqual([0, 1]);
      expect(await jobs.run("R")).toMatchObject({ held: NONE, doubtful: NONE });
      // What another session asked for in it waits for another batch.
      expect(await batches.waits({ run: "R" })).toEqual([]);
      expect(await closed(store, fence)).toMatchObject({ requests: 1 });
      expect(await batches.waits({ root: "S" })).toMatchObject([{ calls: 1 }]);
    },
  );

  stored("a session or run with requests out is not removed or collected, unless they are discarded", async (store) => {
    const { jobs, batches } = store;
    await runOf(store, 1);
    for (const id of ["S", "R-0"]) await store.create(sessionOf(id, { name: id === "S" ? "mine" : null }));
    const fence = await leased(store);
    await batches.keep(requestFor("S.child", { root: "S" }));
    await batches.keep(requestFor("R-0", { run: "R" }));
    const { id } = await closed(store, fence);
    await batches.step(id, fence, { state: "out", batch: "batch-1" });
    for (const one of ["S", "R-0"]) await store.release(one);
    const busy = (of: string) => ({
      code: "session_busy",
      message: `${of} waits for 1 call in the batch batch-1`,
      suggestion: expect.stringContaining("discard: true"),
    });
    await expect(store.remove("S")).rejects.toMatchObject(busy("session mine"));
    await expect(jobs.remove("R")).rejects.toMatchObject(busy("the run run R"));
    expect(await store.find("S")).toMatchObject({ busy: false });
    expect((await store.gc(GC)).sessions).toEqual([]);
    await store.remove("S", { discard: true });
    await jobs.remove("R", { discard: true });
    expect([await store.find("S"), await store.find("R-0"), await jobs.run("R")]).toEqual([null, null, null]);
    expect(await batches.open()).toMatchObject([{ requests: 2, wanted: 0 }]);
    await batches.end(id, fence, { kind: "again", otherwise: LOST });
    const inDays = (days: number) => ({ ...GC, now: Date.now() + days * 86_400_000 });
    await store.gc(inDays(6));
    expect(await batches.names(ACCOUNT)).toEqual(["batch-1"]);
    await store.gc(inDays(8));
    expect(await batches.names(ACCOUNT)).toEqual([]);
  });

  stored("gc drops a batch that nobody wants and nobody has looked at for long", async (store) => {
    const { batches } = store;
    const fence = await leased(store);
    await batches.keep(requestFor("S"));
    const { id } = await closed(store, fence);
    await batches.step(id, fence, { state: "out", batch: "b" });
    await batches.giveUp({ root: "S" }, "all");
    const inDays = (days: number) => ({ ...GC, now: Date.now() + days * 86_400_000 });
    await store.gc(inDays(6));
    expect(await batches.open()).toHaveLength(1);
    await store.gc(inDays(8));
    expect(await batches.open()).toEqual([]);
  });

  stored("runs of an account are paused, and earlier batches say how long they took", async (store) => {
    const { jobs, batches } = store;
    for (const run of ["R", "Q"]) await runOf(store, 1, run);
    const fence = await leased(store);
    await batches.keep(requestFor("old"));
    const { id } = await closed(store, fence);
    await batches.step(id, fence, { state: "out", batch: "b" });
    await batches.end(id, fence, { kind: "answered", answer: OK });
    await batches.keep(requestFor("R-0", { run: "R" }));
    await batches.keep(requestFor("Q-0", { run: "Q", account: "other" }));
    expect(await batches.pause(ACCOUNT, ["other"], "doubt")).toBe(0);
    expect(await batches.pause(ACCOUNT, ["other", "q"], "doubt")).toBe(1);
    expect(await jobs.run("R")).toMatchObject({ state: "paused", why: "doubt" });
    expect(await jobs.run("Q")).toMatchObject({ state: "open" });
    expect((await batches.waits({ run: "R" }))[0]?.earlier).toEqual([expect.any(Number)]);
  });
});

/** A file and a server, opened twice. */
describe.each(EDITED)("requests by batch of a store $kind", (of) => {
  const edited = (name: string, work: (store: Store, other: Store, place: string) => Promise<void>) =>
    test(name, async ({ skip }) => {
      skip(of.skipped !== null, of.skipped ?? "");
      const place = await of.place();
      await using store = await openStore(place);
      await using other = await openStore(place);
      await work(store, other, place);
    });

  edited("an account goes from store to store, and the one that had it changes nothing more", async (store, other) => {
    await store.batches.keep(requestFor("S"));
    const fence = await leased(store);
    const { id } = await closed(store, fence);
    expect(await other.batches.lease(ACCOUNT)).toBeNull();
    await store.batches.release(ACCOUNT);
    const next = await leased(other);
    expect(await store.batches.step(id, fence, { file: "f" })).toBe(false);
    expect(await store.batches.answer(id, fence, [answerOf(0)])).toBe(false);
    expect(await store.batches.end(id, fence, { kind: "answered", answer: OK })).toBe(false);
    expect(await other.batches.step(id, next, { file: "g" })).toBe(true);
    expect(await store.batches.open()).toMatchObject([{ file: "g", wanted: 1 }]);
    // It is not a session: what nobody uses is collected all the same.
    await store.putContext(contextOf("unused"));
    expect(await store.gc(GC)).toMatchObject({ contexts: 1 });
    expect(await findingsIn(store)).toEqual([]);
  });

  edited("a lease that has lapsed is another store's, with a fence of its own", async (store, other, place) => {
    await store.batches.keep(requestFor("S"));
    const fence = await leased(store);
    const { id } = await closed(store, fence);
    if (of.kind === "in a folder") return;
    await of.change(place, "UPDATE STORE.leases SET until = now() - interval '1 s'");
    expect(await other.batches.lease(ACCOUNT)).toBe(fence + 1);
    expect(await store.batches.step(id, fence, { file: "f" })).toBe(false);
    expect(await store.batches.end(id, fence, { kind: "answered", answer: OK })).toBe(false);
    await store.batches.release(ACCOUNT);
    expect(await store.batches.lease(ACCOUNT)).toBeNull();
    expect(await other.batches.step(id, fence + 1, { file: "g" })).toBe(true);
  });

  edited("two that answer the last requests of a job at the same time wake it", async (store, other) => {
    await runOf(store, 20);
    const accounts = [ACCOUNT, "other account"];
    for (let n = 0; n < 20; n++) {
      await begin(store, n);
      for (const [k, account] of accounts.entries())
        await store.batches.keep(requestFor(`R-${n}`, { run: "R", k, account }));
      if (n % 2 === 0) await park(store, n);
    }
    const stores = await Promise.all(
      [store, other].map(async ({ batches }, at) => {
        const account = accounts[at] ?? "";
        const fence = (await batches.lease(account)) ?? -1;
        return { batches, fence, batch: await batches.close({ account, model: MODEL }, fence, ALL) };
      }),
    );
    await Promise.all([
      ...stores.map(async ({ batches, fence, batch }) => {
        for (let n = 0; n < 20; n++) {
          await batches.answer(batch?.id ?? "", fence, [answerOf(n)]);
        }
      }),
      (async () => {
        for (let n = 1; n < 20; n += 2) await park(other, n);
      })(),
    ]);
    expect(await store.jobs.counts("R")).toMatchObject({ waiting: 20 });
  });

  test.for([
    ["batch_requests", "model = 'other'", "request 0 of call call of S of session S is damaged"],
    ["batch_requests", "root = 'other'", "request 0 of call call of S of session S is damaged"],
    ["batch_requests", "BODY", "request 0 of call call of S of session S is damaged"],
    ["provider_batches", "batch = 'other'", "is damaged"],
  ] as const)("a changed row of %s (%s) is refused by name", async ([table, change, problem], { skip }) => {
    skip(of.skipped !== null, of.skipped ?? "");
    const place = await of.place();
    await using store = await openStore(place);
    const { batches } = store;
    await batches.keep(requestFor("S"));
    const fence = await leased(store);
    const { id } = await closed(store, fence);
    const body = of.kind === "in a folder" ? "body = '{}'" : "body = convert_to('{}', 'UTF8')";
    await of.change(place, `UPDATE STORE.${table} SET ${change === "BODY" ? body : change}`);
    const corrupt = { code: "store_corrupt", message: expect.stringContaining(problem) };
    if (table === "provider_batches") {
      await expect(batches.open()).rejects.toMatchObject(corrupt);
      await expect(batches.step(id, fence, { done: 1 })).rejects.toMatchObject(corrupt);
      await expect(batches.answer(id, fence, [answerOf(0)])).rejects.toMatchObject(corrupt);
    } else {
      await expect(batches.toSend(id, 0)).rejects.toMatchObject(corrupt);
      // An answer does not make it whole.
      if (change !== "BODY") {
        await batches.answer(id, fence, [answerOf(0)]);
        await expect(batches.ofCall("S", "call of S")).rejects.toMatchObject(corrupt);
      }
    }
    expect(await findingsIn(store)).toContainEqual(expect.stringContaining(problem));
    for (const root of ["S", "other"]) await batches.giveUp({ root }, "all");
    expect(await batches.open()).toHaveLength(table === "provider_batches" ? 0 : 1);
    expect(await batches.toSend(id, 0)).toEqual(table === "provider_batches" ? [expect.anything()] : []);
  });

  edited("an answer that was changed, or is another's, is refused by name", async (store, _other, place) => {
    const { batches } = store;
    for (const k of [0, 1]) await batches.keep(requestFor("S", { k }));
    const fence = await leased(store);
    const { id } = await closed(store, fence);
    await batches.answer(id, fence, [answerOf(0), answerOf(1, { body: { text: "no" } })]);
    expect(await batches.ofCall("S", "call of S")).toMatchObject([
      { answer: OK },
      { answer: { body: { text: "no" } } },
    ]);
    await of.change(
      place,
      "UPDATE STORE.batch_requests SET answer = (SELECT answer FROM STORE.batch_requests WHERE k = 1) WHERE k = 0",
    );
    const corrupt = { code: "store_corrupt", message: expect.stringContaining("request 0 of call call of S") };
    await expect(batches.ofCall("S", "call of S")).rejects.toMatchObject(corrupt);
    expect(await findingsIn(store)).toHaveLength(1);
  });

  edited("rows that do not fit their batch are findings", async (store, _other, place) => {
    await store.batches.keep(requestFor("S"));
    const { id } = await closed(store, await leased(store));
    await of.change(place, "UPDATE STORE.batch_requests SET provider_batch = 'none'");
    expect(await findingsIn(store)).toEqual(["request 0 of call call of S of session S does not fit its batch"]);
    await of.change(place, `UPDATE STORE.batch_requests SET provider_batch = '${id}', state = 'waiting'`);
    expect(await findingsIn(store)).toEqual(["request 0 of call call of S of session S does not fit its batch"]);
  });
});

const own = { now: 1, holding: () => sql`SELECT 1 AS n` };
const ENDED = { kind: "answered", answer: OK } as const;

test("10,000 requests take as many statements to be polled and closed as 1,000, and fewer than two each to be answered", async () => {
  const statementsFor = async (count: number) => {
    const database = openDatabase(null);
    database.exec(`INSERT INTO batch_requests (session, call, k, root, run, account, model, state, at, bytes, body_sum, sha256, body)
      WITH RECURSIVE c (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < ${count})
      SELECT 'S' || n, 'c', 0, 'S' || n, 'R', 'a', 'm', 'waiting', n, 2000, x'00', x'00', '1' FROM c;
      INSERT INTO jobs (run, n, id, state, why, rank, changed_at, session, input, asked)
        SELECT 'R', at, session, 'parked', 'delivery', 0, 0, session, '1', x'' FROM batch_requests;
      INSERT INTO runs (id, name, queue, share, spec, hash, state, created_at, first_rank)
        VALUES ('R', 'R', 'q', 1, '{}', 'h', 'open', 0, 0)`);
    let asked = 0;
    function* counting<T>(plan: Plan<T>): Plan<T> {
      let step = plan.next();
      for (; !step.done; asked++) step = plan.next(yield step.value);
      return step.value;
    }
    const perform = <T>(plan: Plan<T>): Promise<T> => database.perform(counting(plan));
    await perform(groupsOf(own));
    const id = (await perform(closeBatch({ account: "a", model: "m" }, 0, ALL, own)))?.id ?? "";
    await perform(openBatches(own));
    await perform(waitsOf({ run: "R" }));
    const polled = asked;
    for (let from = 0; from < count / 2; from += 500) {
      const answers = Array.from({ length: 500 }, (_, n) => answerOf(from + n));
      expect(await perform(answerRequests(id, 0, answers, own))).toBe(true);
    }
    const answered = asked - polled;
    expect(await perform(endBatch(id, 0, ENDED, own))).toBe(true);
    await database.close();
    return { polled, answered, ended: asked - polled - answered };
  };
  const few = await statementsFor(1000);
  const many = await statementsFor(10_000);
  expect(many.polled).toBe(few.polled);
  expect(many.answered).toBeLessThan(2 * 5000);
  expect(many.ended).toBeLessThan(40);
});

test("no statement on requests reads a table from end to end, or all requests of a batch for each of them", async () => {
  const database = openDatabase(null);
  const plans = new Map<string, readonly string[]>();
  const { prepare } = DatabaseSync.prototype;
  const prepared = vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (
    this: DatabaseSync,
    text: string,
  ) {
    if (/^(WITH|SELECT|UPDATE|DELETE)/.test(text)) {
      const plan = prepare.call(this, `EXPLAIN QUERY PLAN ${text}`).all();
      plans.set(
        text,
        plan.map(({ detail }) => String(detail)),
      );
    }
    return prepare.call(this, text);
  });
  database.exec(`INSERT INTO jobs (run, n, id, state, rank, changed_at, session, input, asked)
    VALUES ('R', 0, 'j', 'parked', 0, 0, 'S', '1', x'')`);
  for (const k of [0, 1, 2]) await database.perform(keepRequest(requestFor("S", { run: "R", k }), 1));
  await database.perform(groupsOf(own));
  const id = (await database.perform(closeBatch(OF, 0, ALL, own)))?.id ?? "";
  for (const asked of [{ run: "R" }, { root: "S" }]) await database.perform(waitsOf(asked));
  await database.perform(openBatches(own));
  await database.perform(requestsOf(id, 0));
  await database.perform(answerRequests(id, 0, [answerOf(0), answerOf(1, { again: true })], own));
  await database.perform(endBatch(id, 0, ENDED, own));
  for (const which of ["unsent", "all"] as const) await database.perform(giveUpWhich({ root: "S" }, which, 1));
  prepared.mockRestore();
  await database.close();
  // The rows of a list, and of a query that another one reads, are scanned once.
  const scans = [...plans.values()].flatMap((plan) =>
    plan.filter((line, at) => line.startsWith("SCAN") && !plan[at - 1]?.startsWith("LIST SUBQUERY")),
  );
  expect(
    [...new Set(scans)].filter((line) => !/^SCAN (CONSTANT ROW|ready|placed|g|\(subquery-\d+\))$/.test(line)),
  ).toEqual([
    "SCAN batch_requests USING COVERING INDEX batch_requests_waiting",
    "SCAN s USING INDEX provider_batches_open",
  ]);
  const byNumber = [...plans].filter(([text]) => /^UPDATE batch_requests/.test(text) && / n (=|IN) /.test(text));
  expect(byNumber.length).toBeGreaterThan(2);
  for (const [, plan] of byNumber) expect(plan[0]).toContain("batch_requests_by_batch (provider_batch=? AND n=?");
});
