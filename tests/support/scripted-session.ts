import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Json } from "../../runtime/index.ts";
import type { Model, ModelAnswer, ModelRequest } from "../../src/models/index.ts";
import type { Host } from "../../src/session/env.ts";
import type { HostedOptions } from "../../src/session/index.ts";
import { type JournalRecord, readRecord } from "../../src/session/journal/records.ts";
import { openSessionWith } from "../../src/session/session.ts";
import { shareStore } from "../../src/store/index.ts";

type Script = (request: ModelRequest, signal: AbortSignal) => Promise<string | ModelAnswer> | string | ModelAnswer;

export const USAGE = { input: 10, output: 5, cache_read: 0, cache_write: 0, cost_usd: 0.001 };
export const promptOf = (request: ModelRequest) => {
  const last = request.messages.at(-1);
  return last && last.role !== "assistant" ? last.text : "";
};

/** A reply that uses one tool. */
export const using = (name: string, args: { readonly [name: string]: Json }, usage = USAGE): ModelAnswer => ({
  ...{ ok: true, usage, charged: true },
  turn: { text: "", toolUses: [{ id: "u", name, arguments: args }], stop: "tools", raw: null },
});

/** What requests wait for: so many are in flight at once. After that each lasts a turn of the event loop. */
export function meeting(width: number): () => Promise<void> {
  const full = Promise.withResolvers<void>();
  let arrived = 0;
  return async () => {
    if (++arrived === width) full.resolve();
    await full.promise;
    await setImmediate();
  };
}

/** A session with a scripted model; `prompts` are those that were sent, `peak` the most at once. */
export async function openScripted(
  script: Script,
  options: HostedOptions = {},
  price: Model["price"] = { input: 1, output: 2 },
  parts: Host = {},
) {
  const seen = { prompts: [] as string[], flying: 0, peak: 0 };
  const model: Model = {
    id: "test/scripted",
    caches: true,
    price,
    window: null,
    async complete(request, signal) {
      seen.prompts.push(promptOf(request));
      seen.peak = Math.max(seen.peak, ++seen.flying);
      const answer = await script(request, signal);
      seen.flying--;
      if (signal.aborted) {
        const error = { code: "cancelled", message: "aborted", suggestion: "", retriable: false } as const;
        return { ok: false, usage: USAGE, charged: false, error };
      }
      if (typeof answer !== "string") return answer;
      return { ok: true, usage: USAGE, charged: true, turn: { text: answer, toolUses: [], stop: "end", raw: null } };
    },
  };
  const store = await shareStore(null);
  const session = await openSessionWith(options, {
    store,
    models: { fallback: "test/scripted", resolve: () => model, price: () => model.price },
    random: () => 0,
    ...parts,
  });
  onTestFinished(() => session.close());
  const journal = async (): Promise<readonly JournalRecord[]> =>
    (await store.journal(session.id)).map(({ record }) => readRecord(record));
  return { session, store, seen, journal, model };
}
