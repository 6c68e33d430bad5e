import { expect, test } from "vitest";
import { hashOfRun, newSpec, readSpec } from "../../../src/runs/spec.ts";

const SCRIPT = { script: { name: "scan.js", source: "1" }, context: "none" } as const;

test("a specification gets its defaults, and reads back as it was", () => {
  const spec = newSpec({ ...SCRIPT, model: "p/m", sampling: { seed: 7, stop: ["END"] } });
  expect(spec).toMatchObject({ retries: 2, on_budget: "park", on_restart: "send", cache: false, rates: [] });
  expect(readSpec(JSON.parse(JSON.stringify(spec)))).toEqual(spec);
});

test("a run is another one if its script, model, limits or contexts differ, and the same for other settings", () => {
  const hash = (more: object) => hashOfRun(newSpec({ ...SCRIPT, ...more }));
  expect(hash({ script: { name: "moved.js", source: "1" } })).toBe(hash({}));
  expect(hash({ retries: 5, call_concurrency: 9, rates: [{ provider: "p", perMinute: 1, of: "tokens" }] })).toBe(
    hash({}),
  );
  expect(hash({ limits: { max_output_bytes: 5, max_execution_ms: 9 } })).toBe(
    hash({ limits: { max_execution_ms: 9, max_output_bytes: 5 } }),
  );
  const others = [
    { script: { name: "scan.js", source: "2" } },
    { model: "p/m" },
    { limits: { max_execution_ms: 9 } },
    { budget: { max_tokens: 9 } },
    { context: "each" },
    { decoding: { encoding: "latin1" } },
    { decoding: { lossy: true } },
    { sampling: { temperature: 0 } },
    { sampling: { temperature: 0, stop: "END" } },
  ];
  expect(new Set(others.map(hash).concat(hash({}))).size).toBe(10);
});

test("a hostile row grants nothing and is refused by the name of its field", () => {
  const kept = JSON.parse(JSON.stringify(newSpec(SCRIPT)));
  const read = (more: object) => () => readSpec({ ...kept, ...more });
  expect(readSpec({ ...kept, base_url: "http://evil", api_key_env: "KEY", roots: ["/"] })).toEqual(newSpec(SCRIPT));
  expect(read({ memory_mb: 1e9 })).toThrow("memory_mb is wrong");
  expect(read({ call_concurrency: -1 })).toThrow("call_concurrency is wrong");
  expect(read({ budget: { max_tokens: Number.NaN } })).toThrow("budget.max_tokens is wrong");
  expect(read({ budget: { max_cost_usd: -5 } })).toThrow("budget.max_cost_usd is wrong");
  expect(read({ script: { name: "a\nb", source: "" } })).toThrow("script.name is wrong");
  expect(read({ script: { name: "a", source: "x".repeat(300_000) } })).toThrow("script.source is wrong");
  expect(read({ rates: Array.from({ length: 101 }, () => ({ provider: "p", perMinute: 1, of: "tokens" })) })).toThrow(
    "rates",
  );
  expect(() => readSpec(null)).toThrow("cannot be read");
});
