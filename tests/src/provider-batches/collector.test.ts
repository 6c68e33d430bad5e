import { expect, test } from "vitest";
import { collect } from "../../../src/provider-batches/collector.ts";
import { type BatchClient, ProviderError } from "../../../src/provider-batches/providers/provider.ts";
import type { BatchStore, NewBatchRequest } from "../../../src/store/index.ts";
import { type Methods, wrapEach } from "../../../src/store/methods.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { simulatedClock, simulatedProvider } from "../../support/simulated-provider.ts";

// A collector that dies at any step, over a provider that loses, delays and refuses, and over the store as it is. Time is simulated.

const SEEDS = Number(process.env.BELAY_SEEDS ?? 2);
const ACCOUNT = "openai-completions http://p/v1 00000000";

test.each([
  ["with a fence", true],
  ["without one", false],
])(
  `no request is paid twice, and each is answered, over ${SEEDS} seeds of a provider %s`,
  async (_name, hasFence) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const twice = await play(seed, hasFence);
      expect({ seed, twice }).toEqual({ seed, twice: [] });
    }
  },
  600_000,
);

/** Plays one life of some requests. Returns what was paid more than once. */
async function play(seed: number, hasFence: boolean): Promise<string[]> {
  const random = seededRandom(seed);
  const clock = simulatedClock();
  const store = storeInTurns(clock.now);
  const provider = simulatedProvider(clock, random, hasFence);
  const requests = 1 + Math.floor(random() * 12);
  const keys = Array.from({ length: requests }, (_, at) => newRequest(at));
  const account = {
    ...{ id: ACCOUNT, api: "openai-completions" as const, baseUrl: "http://p/v1", model: "m", headers: {} },
    prove: () => "proof",
  };
  async function isOver(): Promise<boolean> {
    const requests = await Promise.all(keys.map(({ session, call }) => store["batches.ofCall"](session, call)));
    return requests.every(([request]) => request?.state === "answered");
  }

  /** A process: from some step on none of its requests and commits comes back. */
  function live(): { end(): void } {
    const stop = new AbortController();
    let left = random() < 0.8 ? Math.floor(random() * 40) : Number.POSITIVE_INFINITY;
    let isDead = false;
    const never = new Promise<never>(() => {});
    const dying =
      <A extends unknown[], T>(work: (...args: A) => T | Promise<T>) =>
      async (...args: A): Promise<T> => {
        if (isDead || left-- <= 0) {
          // It dies before the step, or after it.
          const isAfter = !isDead && random() < 0.5;
          if (!isDead) die();
          if (isAfter) await Promise.resolve(work(...args)).catch(() => {});
          return never;
        }
        const value = await work(...args);
        return isDead ? never : value;
      };
    const die = () => {
      isDead = true;
      clock.after(random() * 90_000, () => {
        void store["batches.release"](ACCOUNT)
          .then(isOver)
          .then((over) => {
            if (!over) current = live();
          });
      });
    };
    const batches = {
      ...(Object.fromEntries(
        METHODS.map((name) => [name, dying((...args: never[]) => Reflect.apply(store[`batches.${name}`], null, args))]),
      ) as unknown as BatchStore),
      // The answer of a store's server can be old when it comes.
      open: dying(async () => {
        const rows = await store["batches.open"]();
        await new Promise<void>((arrived) => clock.after(random() < 0.5 ? 0 : random() * 3000, arrived));
        return rows;
      }),
    };
    /** Without a fence all requests go with the create, which takes long if they are many. */
    const create: BatchClient["create"] = async (batch) => {
      if (!(await batch.asking())) throw new ProviderError("it was not sent", null);
      if (!hasFence && random() < 0.5) await new Promise<void>((sent) => clock.after(random() * 90_000, sent));
      return dying(provider.client.create)({ ...batch, asking: async () => true });
    };
    const { client } = provider;
    const mortal = Object.fromEntries(
      Object.entries(client).map(([name, work]) => [
        name,
        dying((...args: never[]) => Reflect.apply(work, client, args)),
      ]),
    ) as unknown as typeof client;
    const parts = {
      ...{ batches, clock, random, pace: 1, resendsDoubtful: false },
      accountOf: async () => account,
      clientOf: () => ({ ...mortal, create }),
      answered() {},
      hindered() {},
      failing() {},
    };
    void collect(parts, stop.signal);
    return { end: () => stop.abort() };
  }

  for (const request of keys) clock.after(random() * 400_000, () => void store["batches.keep"](request));
  let current = live();
  for (let steps = 0; !(await isOver()); steps++) {
    if (steps > 20_000 || !(await clock.advance())) throw new Error(`seed ${seed}: not over after ${steps} steps`);
  }
  current.end();
  // What is still on its way at the provider comes to its end too.
  while (await clock.advance());
  return [...provider.paid].filter(([, times]) => times > 1).map(([body]) => body);
}

/** A store in memory that carries out one request after the other, within one round of the event loop. */
function storeInTurns(now: () => number): Methods {
  const { methods } = openSqliteStore(null, { pid: 1, host: "test" }, now);
  let last: Promise<unknown> = Promise.resolve();
  return wrapEach(methods, (method) => (...args) => {
    const work = () => method(...args);
    const turn = last.then(work, work);
    last = turn;
    return turn;
  });
}

const METHODS = [
  ...(["groups", "lease", "release", "close", "open", "names"] as const),
  ...(["step", "toSend", "answer", "end", "pause"] as const),
];

function newRequest(at: number): NewBatchRequest {
  const session = `S${at}`;
  return {
    session,
    call: "1",
    k: 0,
    root: session,
    run: null,
    account: ACCOUNT,
    model: "p/m",
    body: { key: at },
    proof: "proof",
  };
}
