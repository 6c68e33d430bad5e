import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../runtime/index.ts";
import type { BatchAccount } from "../../../src/models/index.ts";
import { collect } from "../../../src/provider-batches/collector.ts";
import { clientOf } from "../../../src/provider-batches/providers/index.ts";
import { type BatchClient, ProviderError } from "../../../src/provider-batches/providers/provider.ts";
import { openStore } from "../../../src/store/index.ts";

const API = "openai-completions";
const ACCOUNT = `${API} http://p/v1 00000000`;
const REQUEST = { call: "1", k: 0, run: null, account: ACCOUNT, model: "openai/m", body: {}, proof: "proof" };
const prove = () => "proof";

const GIVE_UP = "or give the calls up with `discard: true`.";

test.each([
  [
    "another key",
    "http://p/v1 11111111",
    `Set OPENAI_API_KEY to the key whose SHA-256 begins with 00000000; ${GIVE_UP}`,
  ],
  [
    "another server",
    "http://q/v1 00000000",
    `Name that server again: set \`baseUrl\` for a server of your own; ${GIVE_UP}`,
  ],
])("with %s a process says what to set, once somebody waits for the calls", async (_, own, suggestion) => {
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const { batches } = store;
  await batches.keep({ ...REQUEST, session: "A", root: "A" });
  const fence = (await batches.lease(ACCOUNT)) ?? 0;
  await batches.close({ account: ACCOUNT, model: "openai/m" }, fence, { requests: 1, bytes: 1 });
  await batches.release(ACCOUNT);
  await batches.giveUp({ root: "A" }, "all");

  const over = new AbortController();
  const account = { id: `${API} ${own}`, api: API, baseUrl: "http://p/v1", model: "m", headers: {}, prove } as const;
  const accountOf = vi.fn(async () => account);
  const hindered = vi.fn();
  const waits = { clock: systemClock, pace: 0.001, random: Math.random, resendsDoubtful: false };
  const collecting = collect(
    { batches, accountOf, clientOf, hindered, failing() {}, answered() {}, ...waits },
    over.signal,
  );
  await vi.waitFor(() => expect(accountOf.mock.calls.length).toBeGreaterThan(1));
  expect(hindered).not.toHaveBeenCalled();

  await batches.keep({ ...REQUEST, session: "B", root: "B" });
  await vi.waitFor(() => expect(hindered).toHaveBeenCalled());
  expect(hindered).toHaveBeenCalledWith(ACCOUNT, expect.objectContaining({ code: "auth_failed", suggestion }), false);
  over.abort();
  await collecting;
});

const creating = (create: BatchClient["create"]): BatchClient => ({
  create,
  find: async () => ({ kind: "none" }),
  look: async () => ({ state: "out", done: null }),
  results: async () => null,
  cancel: async () => {},
});

test("a request that the end cuts off is no failure of its provider", async () => {
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const { batches } = store;
  await batches.keep({ ...REQUEST, session: "A", root: "A" });
  const account = { id: ACCOUNT, api: API, baseUrl: "http://p/v1", model: "m", headers: {}, prove } as const;
  const over = new AbortController();
  const create = vi.fn(async () => {
    over.abort();
    throw new ProviderError("got no answer: This operation was aborted", null);
  });
  const failing = vi.fn();
  const own = { clock: systemClock, pace: 0.001, random: Math.random, resendsDoubtful: false };
  const told = { hindered() {}, answered() {}, failing };
  await collect(
    { batches, accountOf: async () => account, clientOf: () => creating(create), ...own, ...told },
    over.signal,
  );
  expect(create).toHaveBeenCalledOnce();
  expect(failing).not.toHaveBeenCalled();
});

test("a provider that hangs keeps no other account", async () => {
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const { batches } = store;
  const models = ["hangs/m", "works/m"];
  for (const model of models) {
    await batches.keep({ ...REQUEST, session: model, root: model, account: `${API} ${model} 00000000`, model });
  }
  const accountOf = async (model: string) =>
    ({ id: `${API} ${model} 00000000`, api: API, baseUrl: "http://p", model, headers: {}, prove }) as const;
  const created = vi.fn((model: string) =>
    model === models[0] ? new Promise<string>(() => {}) : Promise.resolve("b"),
  );
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const ignored = { hindered() {}, failing() {}, answered() {} };
  const own = { clock: systemClock, pace: 0.001, random: Math.random, resendsDoubtful: false, ...ignored };
  const client = ({ model }: BatchAccount) => creating(() => created(model));
  void collect({ batches, accountOf, clientOf: client, ...own }, over.signal);
  await vi.waitFor(() => expect(created).toHaveBeenCalledTimes(2));
  // What comes later for the other account leaves too.
  await batches.keep({ ...REQUEST, session: "L", root: "L", account: `${API} works/m 00000000`, model: "works/m" });
  await vi.waitFor(() => expect(created).toHaveBeenCalledTimes(3));
});
