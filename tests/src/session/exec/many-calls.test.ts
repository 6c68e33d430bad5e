import { expect, test } from "vitest";
import { elapsedIn, giveUpCalls } from "../../../../src/session/exec/interrupted.ts";
import { begin } from "../../../../src/session/exec/loop.ts";
import { begun, callCount, callsFrom, type ExecRecords, grown } from "../../../../src/session/journal/exec-records.ts";
import { treeOf } from "../../../../src/session/journal/ledger.ts";
import { hashOf, type ToolCall } from "../../../../src/session/journal/records.ts";
import { openCache } from "../../../../src/session/sub-calls/cache.ts";
import { newState } from "../../../support/checkpoints.ts";
import { resultOf, startOf } from "../../../support/journals.ts";

// An exec may make any number of calls that its budget allows. More arguments than this overflow the stack of a function.
const MANY = 150_000;

const callOf = (number: number): ToolCall => ({
  ...{ record: "rlm_tool_call", exec_id: "x", call_id: `x.${number}`, checkpoint_id: "step", name: "llm_query" },
  ...{ args: ["p", { tools: [] }], args_hash: hashOf(["p", { tools: [] }]), call_count: number, output_bytes: 0 },
  at: 1,
});

const start = () => {
  const record = startOf("x", "cell");
  if (record.record !== "rlm_start") throw new Error("no start");
  return record;
};

test("how long an exec ran is known of any number of results", () => {
  const results = Array(MANY).fill({ ...resultOf("x", "x.1"), elapsed_ms: 7 });
  expect(elapsedIn({ ...begun(start()), results }, null)).toBe(7);
});

test("the tree of an exec has any number of children", () => {
  const child = { session: "s", sub_calls: 1, turns: 1, depth_reached: 3 };
  const results = Array(MANY).fill({ ...resultOf("x", "x.1"), child });
  expect(treeOf([{ results }], 1)).toEqual({ sub_calls: 2 * MANY, children: MANY, depth_reached: 3 });
});

test("at its end an exec looks at its results as often as it had one call", async () => {
  const looks = async (count: number) => {
    let seen = 0;
    const calls = Array.from({ length: count }, (_, n) => callOf(n));
    const records: ExecRecords = {
      ...begun(start()),
      calls,
      get results() {
        seen += 1;
        return calls.slice(1).map(({ call_id }) => ({ ...resultOf("x", call_id), name: "llm_query" }));
      },
    };
    await giveUpCalls(Object.assign(Object.create(null), { answers: {}, env: { clock: { now: () => 1 } } }), records);
    return seen;
  };
  expect(await looks(100)).toBe(await looks(1));
});

test("any number of calls that a guest made at once is given its recorded answers", async () => {
  const calls = Array.from({ length: MANY }, (_, n) => ({ id: `x.${n}`, name: "llm_query", args: [] }));
  const waiting = { kind: "waiting", state: newState(), image: null } as const;
  const machine = Object.assign(Object.create(null), { start: async () => ({ ...waiting, calls }) });
  const replay = [{ id: "x.7", name: "llm_query", args: [], settlement: { ok: true, value: "yes" } }] as const;
  const input = { source: "", state: newState(), facts: null };
  const signal = new AbortController().signal;
  const settle = async () => ({ ...waiting, calls: [] });
  const around = { signals: { signal }, stop: signal, image: () => null, settle };
  const slice = await begin(machine, { kind: "start", input, replay }, around);
  if (slice.kind === "over") throw new Error("it is over");
  expect(slice.calls).toHaveLength(MANY - 1);
});

test("the calls of an exec are counted and read from a place on without those before it", () => {
  let records = begun(start());
  for (let n = 0; n < 5; n++) records = grown(records, callOf(n));
  expect(callCount(records)).toBe(5);
  expect(callsFrom(records, 3).map(({ call_id }) => call_id)).toEqual(["x.3", "x.4"]);
});

test("a job's cache reads each call of an exec once", () => {
  let records = begun(start());
  const cache = openCache({
    store: { cached: async () => null, jobs: { reuse: async () => null } },
    models: { fallback: "p/m", resolve: () => expect.fail("no model is asked"), price: () => null },
    baseUrl: undefined,
    isShared: false,
    of: {
      job: { run: "R", n: 0 },
      maxDepth: 1,
      contextKey: () => null,
      running: () => Object.defineProperty(records, "calls", { get: () => expect.fail("all calls are read") }),
    },
  });
  const keys = new Set<number | undefined>();
  for (let n = 0; n < 5; n++) {
    records = grown(records, callOf(n));
    keys.add(cache.keyOf({ prompt: "p", tools: [] }, `x.${n}`, "off")?.answer?.k);
  }
  expect([...keys]).toEqual([0, 1, 2, 3, 4]);
});
