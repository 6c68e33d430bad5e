import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Machines, openMachines } from "../../../runtime/machines.ts";
import type { Json } from "../../../src/index.ts";
import type { ModelAnswer, ModelRequest } from "../../../src/model/port.ts";
import { openScripted, USAGE } from "../../support/scripted-session.ts";

const TOKENS = USAGE.input + USAGE.output;

/** A reply that runs this cell. */
const cell = (code: string): ModelAnswer => ({
  ok: true,
  usage: USAGE,
  charged: true,
  turn: { text: "", toolUses: [{ id: "u", name: "rlm_exec", arguments: { code } }], stop: "tools", raw: null },
});

/** The question of a request: the first line of its first message. */
function questionOf({ messages: [first] }: ModelRequest): string {
  return first?.role === "user" ? (first.text.split("\n", 1)[0] ?? "") : "";
}

/** Counts the guests that are alive, this session's included. */
function countedMachines() {
  // Threads that are used again: to start one takes longer than all that these children do.
  const inner = openMachines({ kept: 9 });
  const guests = { alive: 0, peak: 0 };
  const machines: Machines = {
    warm: (kind) => inner.warm(kind),
    async take(kind) {
      const { seat, baseline } = await inner.take(kind);
      guests.peak = Math.max(guests.peak, ++guests.alive);
      const leave = (reusable: boolean) => {
        guests.alive--;
        return seat.leave(reusable);
      };
      return { seat: { ...seat, leave }, baseline };
    },
  };
  return { guests, machines };
}

type Script = Parameters<typeof openScripted>[0];

/** A session over a short text, whose threads are used again. */
async function openTree(script: Script, options: Parameters<typeof openScripted>[1] = {}) {
  const { guests, machines } = countedMachines();
  const opened = await openScripted(script, options, undefined, { machines });
  await opened.session.load({ text: "0123456789", name: "digits" });
  return { ...opened, guests };
}

const eight = (call: string) => `(await Promise.all(Array.from({ length: 8 }, () => ${call})))`;
/** A call whose child has all of P. */
const child = (question: string, options = "") => `llm_query("${question}", { context: list_docs(), ${options} })`;
const codesOf = (value: Json) =>
  Array.isArray(value) ? value.map((one) => Object.assign({ code: "" }, one).code) : value;

test("8 x 8 children at concurrency 5 end, and at most 9 guests are alive", async () => {
  const outer = `answer(${eight(child("inner", "max_sub_calls: 0"))}.reduce((sum, n) => sum + Number(n), 0))`;
  const { session, seen, guests } = await openTree(
    (request) => cell(questionOf(request) === "inner" ? "answer(P.length)" : outer),
    { budget: { max_sub_calls: 100 }, concurrency: 5 },
  );
  const envelope = await session.exec(eight(child("outer", "max_sub_calls: 8")));
  expect(envelope).toMatchObject({ success: true, result_json: Array(8).fill("80") });
  expect(envelope.budget).toMatchObject({ remaining_sub_calls: 28, remaining_tokens: 500_000 - 72 * TOKENS });
  expect(seen.prompts).toHaveLength(72);
  expect(seen.peak).toBeLessThanOrEqual(5);
  expect(guests.peak).toBeLessThanOrEqual(9);
});

test("turns of children, sub-agents and plain calls share the places of the tree", async () => {
  const { session, seen } = await openTree(
    async (request) => {
      await setTimeout(5);
      if (questionOf(request) !== "child") return "plain";
      return cell('answer((await llm_query_batch(Array(4).fill("p"), { tools: [] })).results.length)');
    },
    { concurrency: 2 },
  );
  const calls = [child("child"), child("child"), 'llm_query("agent")', 'llm_query_batch(Array(6).fill("q"), [])'];
  const envelope = await session.exec(`(await Promise.all([${calls.join(", ")}])).slice(0, 3)`);
  expect(envelope).toMatchObject({ success: true, result_json: ["4", "4", "plain"] });
  expect(seen.peak).toBe(2);
});

test("of two children that race for the last sub-calls one is refused, and what the other does not use is given back", async () => {
  const { session } = await openTree(() => cell("answer(1)"), { budget: { max_sub_calls: 6 } });
  const call = child("child", "max_sub_calls: 3");
  const envelope = await session.exec(`(await Promise.allSettled([${call}, ${call}])).map((one) => one.reason ?? {})`);
  expect(codesOf(envelope.result_json)).toEqual(["", "budget_exceeded"]);
  expect(envelope.budget.remaining_sub_calls).toBe(5);
  expect(await session.exec(`await ${call}`)).toMatchObject({ result_json: "1", budget: { remaining_sub_calls: 4 } });
});

test("a child's sub-calls are those that its call allots, and count in the whole tree", async () => {
  const { session } = await openTree(
    (request) =>
      questionOf(request) === "child"
        ? cell(
            'answer((await Promise.allSettled(["a", "b", "c"].map((p) => llm_query(p, [])))).map((one) => one.status))',
          )
        : "ok",
    { budget: { max_sub_calls: 10 } },
  );
  const envelope = await session.exec(`[await ${child("child", "max_sub_calls: 2")}, budget().remaining_sub_calls]`);
  expect(envelope.result_json).toEqual(['["fulfilled","fulfilled","rejected"]', 7]);
});
