import { expect, test } from "vitest";
import type { SessionEvent } from "../../../../src/session/index.ts";
import { openScripted } from "../../../support/scripted-session.ts";

const SCRIPT = `console.error("begins");
const ask = (prompt, phase, label) => llm_query(prompt, { tools: [], phase, label }).catch(() => null);
const found = await Promise.all([ask("a", "Find", "file a"), ask("bad", "Find"), ask("c")]);
console.error("checks"); console.log("out");
await ask("d", "Verify");
console.error("ends");
found`;

const failed = {
  ok: false,
  usage: { input: 1, output: 1, cache_read: 0, cache_write: 0, cost_usd: 0 },
  charged: true,
  error: { code: "provider_error", message: "no", suggestion: "", retriable: false },
} as const;

async function told(workflow: boolean) {
  const events: SessionEvent[] = [];
  const onProgress = (event: SessionEvent) => void events.push(event);
  const { session } = await openScripted((request) => (JSON.stringify(request).includes("bad") ? failed : "yes"), {
    onProgress,
  });
  const envelope = await session.exec(SCRIPT, { workflow });
  return { events, envelope };
}

test("what a workflow prints is told when it waits, in pieces that make up the whole", async () => {
  const { events, envelope } = await told(true);
  const printed = events.filter((event) => event.kind === "printed");
  expect(printed.map(({ stdout, stderr }) => [stdout, stderr])).toEqual([
    ["", "begins\n"],
    ["out\n", "checks\n"],
    ["", "ends\n"],
  ]);
  expect(printed.map(({ stderr }) => stderr).join("")).toBe(envelope.stderr);
});

test("calls of a workflow are told by their phases, and each answer by itself", async () => {
  const { events } = await told(true);
  const progress = events.filter((event) => event.kind === "calls");
  const none = { running: 0, failed: 0 };
  expect(progress.at(-1)?.phases).toEqual([
    { ...none, phase: "Find", made: 2, done: 2, failed: 1 },
    { ...none, phase: null, made: 1, done: 1 },
    { ...none, phase: "Verify", made: 1, done: 1 },
  ]);
  expect(progress.some(({ phases }) => phases?.[0]?.running === 2)).toBe(true);
  const answers = events.filter((event) => event.kind === "call");
  expect(answers).toHaveLength(4);
  const labelled = answers.find(({ label }) => label !== null);
  expect(labelled).toMatchObject({
    label: "file a",
    phase: "Find",
    model: "test/scripted",
    error_code: null,
    cached: false,
    tokens: 15,
    cost_usd: 0.001,
  });
  expect(answers.filter(({ error_code }) => error_code === "provider_error")).toHaveLength(1);
});

test("other cells tell neither", async () => {
  const { events } = await told(false);
  expect(events.filter(({ kind }) => kind === "printed" || kind === "call")).toEqual([]);
  expect(events.some((event) => event.kind === "calls" && event.phases !== undefined)).toBe(false);
});
