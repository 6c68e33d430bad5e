import { expect, test } from "vitest";
import { systemClock } from "../../../runtime/index.ts";
import { advance } from "../../../src/provider-batches/advance.ts";
import { type BatchClient, type Look, ProviderError } from "../../../src/provider-batches/providers/provider.ts";
import { openStore, type Store } from "../../../src/store/index.ts";

const ACCOUNT = "openai-completions http://p/v1 00000000";

/** A batch with one request that has not left. */
async function closedIn({ batches }: Store) {
  const key = { session: "S", call: "1", k: 0, root: "S", run: null };
  await batches.keep({ ...key, account: ACCOUNT, model: "p/m", body: {}, proof: "proof" });
  const fence = (await batches.lease(ACCOUNT)) ?? 0;
  const closed = await batches.close({ account: ACCOUNT, model: "p/m" }, fence, { requests: 10, bytes: 1000 });
  return { fence, id: closed?.id ?? "" };
}

/** Has the only batch of a store take its next step. */
async function advanced({ batches }: Store, fence: number, client: BatchClient, clock = systemClock) {
  const [batch] = await batches.open();
  if (!batch) throw new Error("no batch is open");
  const account = { id: ACCOUNT, api: "openai-completions", baseUrl: "http://p/v1", model: "m", headers: {} } as const;
  const prove = () => "proof";
  const parts = {
    batches,
    client,
    account: { ...account, prove },
    fence,
    clock,
    random: () => 0,
    pace: 1,
    resendsDoubtful: false,
  };
  const told: string[] = [];
  await advance({ ...parts, answered() {}, hindered() {}, failing: ({ message }) => told.push(message) }, batch);
  return told;
}

/** A batch that is out, in a store of its own. Answers what its client is asked by the next look. */
async function lookedAt(seen: Look, before: (store: Store, id: string, fence: number) => Promise<unknown>) {
  await using store = await openStore(null);
  const { batches } = store;
  const { fence, id } = await closedIn(store);
  await batches.step(id, fence, { state: "out", batch: "b1", lookMs: 0, proof: "proof" });
  await before(store, id, fence);
  const asked: string[] = [];
  const client: BatchClient = {
    create: () => Promise.reject(new Error("it is made")),
    find: () => Promise.reject(new Error("it is known")),
    async look() {
      asked.push("look");
      return seen;
    },
    async results() {
      asked.push("results");
      return (async function* () {})();
    },
    async cancel() {
      asked.push("cancel");
    },
  };
  await advanced(store, fence, client);
  return { asked, open: await batches.open() };
}

test("a batch whose answers were kept by a process that died then is ended, and not cancelled", async () => {
  const answers = [{ n: 0, status: 200, body: {}, again: false }];
  const { asked, open } = await lookedAt({ state: "over" }, ({ batches }, id, fence) =>
    batches.answer(id, fence, answers),
  );
  expect([asked, open]).toEqual([["look", "results"], []]);
});

test("a batch that nobody waits for any more is cancelled once", async () => {
  const { asked, open } = await lookedAt({ state: "out", done: 0 }, ({ batches }) =>
    batches.giveUp({ root: "S" }, "all"),
  );
  expect(asked).toEqual(["look", "cancel"]);
  expect(open).toMatchObject([{ state: "out", cancelled: true }]);
});

const UNKNOWN: BatchClient = {
  create: () => Promise.reject(new ProviderError("the connection was lost", null)),
  find: async () => ({ kind: "none" }),
  look: () => Promise.reject(new Error("it is not known")),
  results: () => Promise.reject(new Error("it is not known")),
  cancel: () => Promise.reject(new Error("it is not known")),
};

test("a process that stood still after it kept that it asks does not send the create", async () => {
  for (const [stoodMs, isSent] of [
    [1000, true],
    [20_000, false],
  ] as const) {
    await using store = await openStore(null);
    const { fence } = await closedIn(store);
    const allowed: boolean[] = [];
    let now = 0;
    const clock = { ...systemClock, now: () => (now += stoodMs) };
    const client: BatchClient = {
      ...UNKNOWN,
      async create({ asking }) {
        allowed.push(await asking());
        throw new ProviderError("it was not sent", null);
      },
    };
    await advanced(store, fence, client, clock);
    expect(allowed).toEqual([isSent]);
    expect(await store.batches.open()).toMatchObject([{ state: "closed", asked_at: expect.any(Number) }]);
  }
});

test("a create that was lost is in doubt for a minute after it was first looked for, however old it is", async () => {
  await using store = await openStore(null);
  const { batches } = store;
  const { fence, id } = await closedIn(store);
  await batches.step(id, fence, { asked: true, proof: "proof" });
  await advanced(store, fence, UNKNOWN);
  const [doubt] = await batches.open();
  expect(doubt).toMatchObject({ state: "doubt", asked_at: expect.any(Number) });
  expect(doubt?.lookMs).toBeGreaterThan(59_000);
  // Another look within the minute changes nothing, nor does a provider that fails.
  await advanced(store, fence, UNKNOWN);
  await advanced(store, fence, { ...UNKNOWN, find: () => Promise.reject(new ProviderError("busy", 503)) });
  const [still] = await batches.open();
  expect(still).toMatchObject({ state: "doubt", asked_at: doubt?.asked_at });
  expect(still?.lookMs).toBeGreaterThan(58_000);
  await batches.step(id, fence, { lookMs: 0 });
  await advanced(store, fence, UNKNOWN);
  // It was not made, and is asked for anew.
  expect(await batches.open()).toMatchObject([{ state: "closed", asked_at: null, batch: null }]);
});

test("rows that differ for one request, and rows of others, are told", async () => {
  await using store = await openStore(null);
  const { batches } = store;
  const { fence, id } = await closedIn(store);
  await batches.step(id, fence, { state: "out", batch: "b1", lookMs: 0, proof: "proof" });
  const client: BatchClient = {
    ...UNKNOWN,
    look: async () => ({ state: "over" }),
    async results() {
      const rows = ["yes", "no"].map((said) => ({ custom_id: `${id}-0`, answer: { status: 200, body: { said } } }));
      return (async function* () {
        yield [...rows, { custom_id: "other-0", answer: null }];
      })();
    },
  };
  const told = "1 request of it got answers that differ, and 1 row of its results answer no request of it";
  expect(await advanced(store, fence, client)).toEqual([`the batch b1: ${told}`]);
  const [request] = await batches.ofCall("S", "1");
  expect(request?.answer).toEqual({ status: 200, body: { said: "yes", belay_other_rows: 1 } });
});
