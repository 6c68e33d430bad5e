import { setTimeout } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import type { Store } from "../../../../src/store/index.ts";
import { deliveryScene } from "../../../support/delivery.ts";

const CELL = 'await Promise.all(["a", "b"].map((p) => llm_query(p, { tools: [] })))';

test.each([
  ["answers of other calls", "answer = (SELECT answer FROM batch_requests q WHERE q.call <> batch_requests.call)"],
  ["a failure that no provider sent", `status = 0, answer = '{"code":"answer_lost","message":"","suggestion":""}'`],
  ["another status", "status = 500"],
  ["another account", "account = 'x'"],
  ["another model", "model = 'local/other'"],
  ["an answer that unpacks to gigabytes", "answer = x'28b52ffd00588b' || zeroblob(1000)"],
])("rows that were given %s are refused by name, and nothing is asked for again", async (_what, change) => {
  const { open, server, rows, store } = await deliveryScene({
    answer: ({ prompt }) => ({ text: prompt.toUpperCase() }),
  });
  const stop = new AbortController();
  const answer: Store["batches"]["answer"] = async (...args) => {
    const isKept = await store.batches.answer(...args);
    stop.abort();
    return isKept;
  };
  const first = await open({}, { store: { ...store, batches: { ...store.batches, answer } } });
  expect(await first.exec(CELL, { suspend: stop.signal })).toMatchObject({ resumable: true });
  await first.close();
  rows(`UPDATE batch_requests SET ${change}`);
  const steps = server.steps.length;
  const second = await open();
  expect(await second.resume()).toMatchObject({ envelope: { success: false, error_code: "store_corrupt" } });
  expect(server.steps).toHaveLength(steps);
});

test.each([
  ["a cell that is to stop", true, {}],
  ["a wait that is over", false, { wait_ms: 2000 }],
])("%s does not wait for a provider that never ends its answer", async (_what, stops, waiting) => {
  const never = Promise.withResolvers<void>();
  const { open, server } = await deliveryScene({
    fault: ({ kind }) => (kind === "results" ? { wait: never.promise } : undefined),
  });
  const session = await open();
  const stop = new AbortController();
  const running = session.exec(CELL, { suspend: stop.signal, ...waiting });
  await vi.waitFor(() => expect(server.steps.at(-1)?.kind).toBe("results"));
  if (stops) stop.abort();
  const late = setTimeout(20_000, "late");
  expect(await Promise.race([running, late])).toMatchObject({ success: false, resumable: true });
  never.resolve();
});
