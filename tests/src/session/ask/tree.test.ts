import { expect, test } from "vitest";
import { systemClock } from "../../../../runtime/index.ts";
import { type Machines, openMachines } from "../../../../runtime/threads/machines.ts";
import type { Json } from "../../../../src/index.ts";
import type { ModelRequest } from "../../../../src/models/index.ts";
import { heldClock } from "../../../support/held-clock.ts";
import { meeting, openScripted, USAGE, using } from "../../../support/scripted-session.ts";

const TOKENS = USAGE.input + USAGE.output;

/** A reply that runs this cell. */
const cell = (code: string, usage = USAGE) => using("rlm_exec", { code }, usage);

/** The question of a request: the first line of its first message. */
function questionOf({ messages: [first] }: ModelRequest): string {
  return first?.role === "user" ? (first.text.split("\n", 1)[0] ?? "") : "";
}

/** Their threads serve all tests of this file: as many as guests are alive at most. */
const inner = openMachines({ kept: 9 });

/** Counts the guests that are alive, this session's included. */
function countedMachines() {
  const guests = { alive: 0, peak: 0 };
  const machines: Machines = {
    ...inner,
    async take(entry) {
      const { seat, baseline } = await inner.take(entry);
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
type Options = NonNullable<Parameters<typeof openScripted>[1]>;

/** A session over a short text, whose threads are used again. */
async function openTree(script: Script, options: Options = {}, clock = systemClock) {
  const { guests, machines } = countedMachines();
  const opened = await openScripted(script, options, undefined, { machines, clock });
  await opened.session.load({ text: "0123456789", name: "digits" });
  return { ...opened, guests };
}

const several = (count: number, call: string) => `(await Promise.all(Array.from({ length: ${count} }, () => ${call})))`;
const eight = (call: string) => several(8, call);
/** A call whose child has all of P. */
const child = (question: string, options = "") => `llm_query("${question}", { context: list_docs(), ${options} })`;
const codesOf = (value: Json) =>
  Array.isArray(value) ? value.map((one) => Object.assign({ code: "" }, one).code) : value;

test("8 children with 3 of their own each, at concurrency 5, end, and at most 9 guests are alive", {
  timeout: 90_000,
}, async () => {
  const outer = `answer(${several(3, child("inner", "max_sub_calls: 0"))}.reduce((sum, n) => sum + Number(n), 0))`;
  const { session, seen, guests } = await openTree(
    (request) => cell(questionOf(request) === "inner" ? "answer(P.length)" : outer),
    { budget: { max_sub_calls: 100 }, concurrency: 5 },
  );
  const envelope = await session.exec(eight(child("outer", "max_sub_calls: 3")));
  expect(envelope).toMatchObject({ success: true, result_json: Array(8).fill("30") });
  expect(envelope.budget).toMatchObject({ remaining_sub_calls: 68, remaining_tokens: 500_000 - 32 * TOKENS });
  expect(seen.prompts).toHaveLength(32);
  expect(seen.peak).toBeLessThanOrEqual(5);
  expect(guests.peak).toBeLessThanOrEqual(9);
});

test("turns of children, sub-agents and plain calls share the places of the tree", async () => {
  const met = meeting(2);
  const { session, seen } = await openTree(
    async (request) => {
      await met();
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

test("a child's own calls with context need no figures: they are allotted what is left to the child", async () => {
  const { session } = await openTree((request) =>
    questionOf(request) === "child"
      ? cell(
          'answer([await rlm_query("grandchild", { context: "a" }), await rlm_query("grandchild", { context: "b" })])',
        )
      : cell("answer(budget().remaining_sub_calls)"),
  );
  const envelope = await session.exec('await rlm_query("child", { context: "a b" })');
  expect(envelope).toMatchObject({ result_json: '["9","8"]', budget: { remaining_sub_calls: 47 } });
});

/** What a session has spent of its tokens, and what its models have charged. */
async function spending(script: Script, code: string, options: Options = {}, clock = systemClock) {
  let charged = 0;
  const charging: Script = async (request, signal) => {
    const answer = await script(request, signal);
    charged += signal.aborted || typeof answer === "string" ? TOKENS : answer.usage.input + answer.usage.output;
    return answer;
  };
  const { session, seen } = await openTree(charging, options, clock);
  const envelope = await session.exec(code);
  const { remaining_tokens } = session.budget();
  return { envelope, charged, spent: (options.budget?.max_tokens ?? 500_000) - remaining_tokens, seen };
}

/** Answers when the request is aborted. */
const hang = (signal: AbortSignal) =>
  new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("late"), { once: true }));

test.each([
  ["child", TOKENS],
  ["inner", 2 * TOKENS],
])("what a child that is over its time while %s asks has spent is charged to its call", async (asking, tokens) => {
  const { clock, pass } = heldClock((ms) => ms >= 50_000 && ms <= 60_000);
  const script: Script = (request, signal) => {
    if (questionOf(request) !== asking) return cell(`answer(await ${child("inner", "max_sub_calls: 0")})`);
    setImmediate(pass);
    return hang(signal);
  };
  const call = child("child", "timeout_ms: 60_000");
  const { envelope, charged, spent } = await spending(script, `await ${call}.catch((error) => error)`, {}, clock);
  expect(codesOf([envelope.result_json])).toEqual(["timeout"]);
  expect(charged).toBe(tokens);
  expect(spent).toBe(charged);
});

test.each([
  ["soon", systemClock],
  // The wait for the end of plain calls is over at once.
  ["late", { ...systemClock, after: (ms: number, run: () => void) => systemClock.after(ms === 1000 ? 0 : ms, run) }],
])("what a child has spent is charged too if its call is not awaited, and ends %s", async (_, clock) => {
  const asked = Promise.withResolvers<void>();
  const script: Script = async (request, signal) => {
    if (questionOf(request) === "child") {
      asked.resolve();
      return hang(signal);
    }
    await asked.promise;
    return "plain";
  };
  const code = `void ${child("child")}; await llm_query("wait", []); 1`;
  const { envelope, charged, spent } = await spending(script, code, {}, clock);
  expect(envelope).toMatchObject({ result_json: 1, warnings: ["unawaited_sub_calls: 1"] });
  expect(charged).toBe(2 * TOKENS);
  expect(spent).toBe(charged);
});

test("no request is sent once the tokens are spent, at whatever level, and all that was charged is in the ledger", async () => {
  const usage = { ...USAGE, input: 900, output: 100 };
  const { envelope, charged, spent, seen } = await spending(
    (request) => {
      const isInner = questionOf(request) === "inner";
      return cell(isInner ? `${request.messages.length}` : `await ${child("inner", "max_sub_calls: 0")}`, usage);
    },
    eight(child("outer", "max_sub_calls: 4").concat(".catch((error) => error)")),
    { budget: { max_tokens: 40_000, max_sub_calls: 50 } },
  );
  const codes = codesOf(envelope.result_json);
  expect(codes).toContain("budget_exceeded");
  expect(spent).toBe(charged);
  expect(spent).toBeLessThanOrEqual(40_000);
  expect(seen.prompts.length * 1000).toBe(spent);
});
