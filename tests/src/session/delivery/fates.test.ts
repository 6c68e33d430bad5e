import { expect, test } from "vitest";
import type { BatchServerOptions } from "../../../support/batch-server/index.ts";
import { deliveryScene } from "../../../support/delivery.ts";

const CELL = `(await Promise.allSettled(["a", "b"].map((p) => llm_query(p, { tools: [] }))))
  .map((s) => s.value ?? [s.reason.code, s.reason.message])`;
const BOTH = <T>(one: T) => [one, one];

/** Answers with this status so many times, and then well. */
function failing(status: number, times: number): BatchServerOptions {
  const asked = new Map<string, number>();
  return {
    answer({ prompt }) {
      asked.set(prompt, (asked.get(prompt) ?? 0) + 1);
      return (asked.get(prompt) ?? 0) > times ? {} : { status };
    },
  };
}

test.each<readonly [string, BatchServerOptions, unknown, number]>([
  ["rows that are refused for their rate go again, twice at the most", failing(429, 2), BOTH("ok"), 3],
  ["rows that fail at the provider go again", failing(500, 1), BOTH("ok"), 2],
  [
    "rows that fail each time fail their calls as live ones",
    failing(500, 9),
    BOTH(["provider_error", expect.stringContaining("500")]),
    3,
  ],
  [
    "rows with another failure fail at once",
    failing(400, 9),
    BOTH([expect.any(String), expect.stringContaining("400")]),
    1,
  ],
  [
    "rows that were not run before the batch expired go again",
    { fate: ({ index }) => (index === 0 ? { expireAfter: 1 } : {}) },
    BOTH("ok"),
    2,
  ],
  [
    "rows of batches that expire each time time out",
    { fate: () => ({ expireAfter: 0 }) },
    BOTH(["timeout", expect.stringContaining("three of the provider's batches had no answer")]),
    3,
  ],
  [
    "answers that the provider does not keep are lost, and not asked for again",
    { fate: () => ({ forgotten: true }) },
    BOTH(["answer_lost", expect.stringContaining("paid for")]),
    1,
  ],
  [
    "a batch that is refused fails its calls in the provider's words",
    { fate: () => ({ refuse: "other" }) },
    BOTH(["provider_error", expect.stringContaining("not parseable as valid JSON")]),
    1,
  ],
  [
    "a batch whose file is gone is made again",
    { fate: ({ index }) => (index === 0 ? { refuse: "file" } : {}) },
    BOTH("ok"),
    2,
  ],
])("%s", async (_what, options, expected, batches) => {
  const { open, server, rows } = await deliveryScene(options);
  const session = await open();
  expect(await session.exec(CELL)).toMatchObject({ success: true, result_json: expected });
  expect(server.batches).toHaveLength(batches);
  expect(rows("SELECT state FROM batch_requests")).toEqual([]);
});

test("a create whose answer is lost is found, and paid once", async () => {
  const { open, server } = await deliveryScene({
    fault: ({ kind, n }) => (kind === "create" && n === 0 ? { lost: "response" } : undefined),
  });
  const session = await open();
  expect(await session.exec(CELL)).toMatchObject({ result_json: ["ok", "ok"] });
  expect([...server.paid().values()]).toEqual([1, 1]);
});

test("a provider that does not answer for a while is asked again", async () => {
  const { open, server } = await deliveryScene({
    fault: ({ kind, n }) => (kind !== "live" && n < 2 ? { status: n === 0 ? 503 : 429 } : undefined),
  });
  const session = await open();
  expect(await session.exec(CELL)).toMatchObject({ result_json: ["ok", "ok"] });
  expect([...server.paid().values()]).toEqual([1, 1]);
});
