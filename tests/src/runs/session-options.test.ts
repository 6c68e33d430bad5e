import { expect, test } from "vitest";
import type { Models } from "../../../src/models/index.ts";
import { jobOptions, onlyThese } from "../../../src/runs/job-session.ts";
import { newSpec } from "../../../src/runs/spec.ts";

const SCRIPT = { script: { name: "s.js", source: "1" }, model: "p/m", context: "none" } as const;

test("a job reads no files, and is lent nothing but turns", () => {
  const options = jobOptions(newSpec(SCRIPT), {
    models: null,
    cwd: "/w",
    subAgents: { maxTurns: 3, allowed_tool_overrides: ["bash"] },
  });
  expect(options).toMatchObject({ roots: [], cwd: "/w", model: "p/m", subAgents: { maxTurns: 3 } });
  expect(options.subAgents).toEqual({ maxTurns: 3 });
});

test("of each limit the lesser counts: what the run asks for, or what the worker allows", () => {
  const spec = newSpec({
    ...SCRIPT,
    ...{ memory_mb: 512, call_concurrency: 20, max_depth: 1 },
    budget: { max_tokens: 900, max_sub_calls: 5, max_cost_usd: null },
    limits: { max_execution_ms: 100 },
  });
  const own = {
    ...{ models: null, memoryMb: 256, concurrency: 50, maxDepth: 3 },
    budget: { max_tokens: 1000, max_cost_usd: 2 },
    limits: { max_execution_ms: 500, max_output_bytes: 7 },
  };
  expect(jobOptions(spec, own)).toMatchObject({
    ...{ memoryMb: 256, concurrency: 20, maxDepth: 1 },
    budget: { max_tokens: 900, max_sub_calls: 5, max_cost_usd: 2, max_time_ms: 3_600_000 },
    limits: { max_execution_ms: 100, max_output_bytes: 7 },
  });
});

test("a job waits 10 minutes for a server that is away, or as long as the worker says", () => {
  expect(jobOptions(newSpec(SCRIPT), { models: null })).toMatchObject({ waitForServerMs: 600_000 });
  expect(jobOptions(newSpec(SCRIPT), { models: null, waitForServerMs: 0 })).toMatchObject({ waitForServerMs: 0 });
});

test("a job has an hour, or what the run or the worker says", () => {
  const time = (run: object, worker: object) =>
    jobOptions(newSpec({ ...SCRIPT, budget: run }), { models: null, budget: worker }).budget?.max_time_ms;
  expect(time({}, {})).toBe(3_600_000);
  expect(time({ max_time_ms: 9_000_000 }, {})).toBe(9_000_000);
  expect(time({ max_time_ms: 9_000_000 }, { max_time_ms: 1000 })).toBe(1000);
});

test("models that are not allowed are refused by name, also as the one that calls without a name ask", () => {
  const asked: (string | null)[] = [];
  const models: Models = {
    fallback: "p/dear",
    resolve(name) {
      asked.push(name);
      return { id: "x", price: null, window: null, complete: () => Promise.reject(new Error("not asked")) };
    },
    price: () => null,
  };
  const some = onlyThese(models, ["p/m"]);
  expect(() => some.resolve(null)).toThrow("does not ask p/dear");
  expect(() => some.price("q/m")).toThrow("does not ask q/m");
  some.resolve("p/m");
  onlyThese(models, null).resolve(null);
  expect(asked).toEqual(["p/m", null]);
});
