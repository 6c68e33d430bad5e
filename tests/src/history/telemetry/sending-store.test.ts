import { expect, test } from "vitest";
import { sendingStore } from "../../../../src/history/telemetry/index.ts";
import { openSessionWith } from "../../../../src/session/index.ts";
import { openStore } from "../../../../src/store/index.ts";
import { startCollector } from "../../../support/otlp.ts";

const of = (url: string, warnings: string[] = []) => ({
  ...{ collector: { url, env: {} }, version: "1.0.0" },
  warn: (line: string) => void warnings.push(line),
});

test("every exec that has ended is sent once before the store is closed", async () => {
  await using collector = await startCollector();
  const warnings: string[] = [];
  const store = sendingStore(await openStore(null), of(collector.url, warnings));
  for (let number = 0; number < 5; number++) {
    const session = await openSessionWith({}, { store });
    await session.exec("1");
    await session.exec("2");
    await session.close();
  }
  await store[Symbol.asyncDispose]();
  expect(collector.taken()).toHaveLength(10);
  expect(new Set(collector.taken().map(({ spanId }) => spanId)).size).toBe(10);
  expect(warnings).toEqual([]);
});

test("sessions beyond a thousand that wait are not sent, and each kind of failure is told once", async () => {
  const real = await openStore(null);
  const warnings: string[] = [];
  let committed = 0;
  const never = () => new Promise<never>(() => {});
  const stuck = { ...real, find: never, list: never, commit: async () => ++committed };
  const store = sendingStore(stuck, of("http://127.0.0.1:9", warnings));
  const end = { record: "rlm_complete", exec_id: "exec", at: 0 };
  for (let number = 0; number < 1010; number++) await store.commit(`session-${number}`, { records: [end] });
  expect([committed, warnings]).toEqual([1010, ["too many sessions wait"]]);
  await store[Symbol.asyncDispose]();
  expect(warnings).toEqual(["too many sessions wait", "no answer in time"]);
});

test("a session that cannot be read is told, and the spans of the others are sent all the same", async () => {
  await using collector = await startCollector();
  const warnings: string[] = [];
  const real = await openStore(null);
  const session = await openSessionWith({}, { store: real });
  await session.exec("1");
  await session.close();
  const [start] = await real.journal(session.id);
  const store = sendingStore({ ...real, commit: async () => 0 }, of(collector.url, warnings));
  const end = { record: "rlm_complete", exec_id: start?.record.exec_id ?? "", at: 0 };
  await Promise.all([session.id, "nobody"].map((id) => store.commit(id, { records: [end] })));
  await store[Symbol.asyncDispose]();
  expect([collector.taken().map(({ name }) => name), warnings]).toEqual([
    ["execute_tool rlm_exec"],
    ["session_not_found"],
  ]);
});
