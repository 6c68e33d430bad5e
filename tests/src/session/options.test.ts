import { inspect } from "node:util";
import { expect, expectTypeOf, test } from "vitest";
import {
  type AskOptions,
  type CollectOptions,
  type Completion,
  type ExecOptions,
  type LoadingOptions,
  type LoadPaths,
  openSession,
  openStore,
  type QueryOptions,
  type ReadingOptions,
  type RlmError,
  type SessionOptions,
  type SubAgentPolicy,
  type WaitOptions,
} from "../../../src/index.ts";
import {
  ASK_OPTIONS,
  DRY_RUN_OPTIONS,
  EXEC_OPTIONS,
  LOADING_OPTIONS,
  QUERY_OPTIONS,
  RESUME_OPTIONS,
  SESSION_OPTIONS,
} from "../../../src/session/options.ts";
import type { CallOptions, ToolsOptions } from "../../../src/tools/open-tools.ts";
import { folderWith } from "../../support/tree.ts";

/** The message of a refusal, which must be of the caller's mistake. */
async function refusalOf(asked: Promise<unknown>): Promise<string> {
  const error: Partial<RlmError> = await asked.then(
    () => ({ code: undefined, message: "it was taken" }),
    (thrown) => thrown,
  );
  return error.code === "invalid_argument" ? `${error.message} | ${error.suggestion}` : String(error.message);
}

/** What a program without types can pass. */
function untyped(value: unknown): object {
  return Object(value);
}

const WRONG: readonly [options: unknown, refusal: string | RegExp][] = [
  [{ session: "x" }, "openSession(): session names a session, but no store is given to keep it | Name a place: store."],
  [
    { stroe: "x" },
    /^openSession\(\): unknown option stroe; did you mean store\? \| Options here are roots, cwd, .*store/,
  ],
  [
    { model: "m" },
    "openSession(): model must be PROVIDER/ID, such as anthropic/claude-sonnet-5, and is another text | Correct it, or leave it out.",
  ],
  [{ somethingElse: 1 }, /^openSession\(\): unknown option somethingElse \|/],
  [
    { limits: { max_execution: 5 } },
    "openSession(): unknown option limits.max_execution; did you mean max_execution_ms? | Options here are max_execution_ms, max_output_bytes, max_result_bytes, max_find_results.",
  ],
  [{ limits: { max_execution_ms: -5 } }, /: limits.max_execution_ms must be a whole number from 1, and is -5 \|/],
  [{ limits: 5 }, /limits must be an object, and is 5 \|/],
  [{ budget: { max_token: 5 } }, /unknown option budget.max_token; did you mean max_tokens\? \|/],
  [{ budget: { max_tokens: "5" } }, /budget.max_tokens must be a whole number from 1, and is another text \|/],
  [{ budget: { max_cost_usd: 0 } }, /budget.max_cost_usd must be a number of dollars above 0, or null, and is 0 \|/],
  [{ subAgents: { maxTurn: 1 } }, /unknown option subAgents.maxTurn; did you mean maxTurns\? \|/],
  [{ subAgents: { tools: [{ name: "a" }] } }, /subAgents.tools.0.description must be given, and is undefined \|/],
  [{ concurrency: 101 }, /concurrency must be a whole number from 1 to 100, and is 101 \|/],
  [{ maxDepth: 6 }, /maxDepth must be a whole number from 0 to 5, and is 6 \|/],
  [{ maxContextMb: 16_385 }, /maxContextMb must be a whole number from 1 to 16384, and is 16385 \|/],
  [{ maxFiles: 0 }, /maxFiles must be a whole number from 1 to 1000000, and is 0 \|/],
  [{ memoryMb: "64" }, /memoryMb must be a number of MB, and is another text \|/],
  [{ store: "" }, /store must be a text that is not empty, and is empty \|/],
  [{ roots: "/" }, /roots must be a list of folders, and is another text \|/],
  [{ onRestart: "again" }, /onRestart must be one of send, fail, and is another text \|/],
  [{ onProgress: true }, /onProgress must be a function, and is true \|/],
];

test.each(WRONG)("openSession refuses %j", async (options, refusal) => {
  expect(await refusalOf(openSession(untyped(options)))).toMatch(refusal);
});

/** The same with every option undefined. Under `exactOptionalPropertyTypes` a type takes it only if each of its options may be. */
type Unset<T> = T extends unknown
  ? { readonly [key in keyof T]: undefined extends T[key] ? undefined : T[key] }
  : never;

test("the types take an option that is undefined", () => {
  expectTypeOf<Unset<SessionOptions>>().toExtend<SessionOptions>();
  expectTypeOf<Required<Unset<SessionOptions["limits"]>>>().toExtend<SessionOptions["limits"]>();
  expectTypeOf<Required<Unset<SessionOptions["budget"]>>>().toExtend<SessionOptions["budget"]>();
  expectTypeOf<Unset<SubAgentPolicy>>().toExtend<SubAgentPolicy>();
  expectTypeOf<Unset<ExecOptions>>().toExtend<ExecOptions>();
  expectTypeOf<Unset<AskOptions>>().toExtend<AskOptions>();
  expectTypeOf<Unset<QueryOptions>>().toExtend<QueryOptions>();
  expectTypeOf<Unset<ReadingOptions>>().toExtend<ReadingOptions>();
  expectTypeOf<Unset<LoadingOptions>>().toExtend<LoadingOptions>();
  expectTypeOf<Unset<LoadPaths>>().toExtend<LoadPaths>();
  expectTypeOf<Unset<WaitOptions>>().toExtend<WaitOptions>();
  expectTypeOf<Unset<CollectOptions>>().toExtend<CollectOptions>();
  expectTypeOf<Unset<Completion>>().toExtend<Completion>();
  expectTypeOf<Unset<CallOptions>>().toExtend<CallOptions>();
  expectTypeOf<Unset<ToolsOptions>>().toExtend<ToolsOptions>();
});

/** Every option that a schema knows, without a value. */
const unset = ({ entries }: { readonly entries: object }) =>
  Object.fromEntries(Object.keys(entries).map((option) => [option, undefined]));

test("options that have no value are those that are left out", async () => {
  const limits = { max_output_bytes: undefined, max_execution_ms: undefined, max_find_results: undefined };
  const budget = { max_tokens: undefined, max_sub_calls: undefined, max_time_ms: undefined, max_cost_usd: undefined };
  const complete = async () => "```js\nanswer('so')\n```";
  await using session = await openSession({ ...unset(SESSION_OPTIONS), limits, budget, complete });
  await using other = await openSession();
  expect(session.name).toBeNull();
  expect(session.budget()).toEqual(other.budget());
  const source = { name: "a.txt", text: "a" };
  await session.load(source, unset(LOADING_OPTIONS));
  const { limits_applied } = await session.exec("1", { ...unset(EXEC_OPTIONS), limits });
  expect(limits_applied).toEqual((await other.exec("1")).limits_applied);
  expect(await session.dryRun("1", { ...unset(DRY_RUN_OPTIONS), limits })).toMatchObject({
    envelope: { success: true },
  });
  expect(await session.resume(unset(RESUME_OPTIONS))).toMatchObject({ how: "replayed" });
  expect(await session.query("Why?", unset(QUERY_OPTIONS))).toMatchObject({ success: true });
  expect(await session.ask("Why?", { ...unset(ASK_OPTIONS), protocol: "fence" })).toMatchObject({ answer: "so" });
});

test("what a session is asked to do refuses options that it does not know, and values that mean nothing", async () => {
  await using session = await openSession();
  const refusals = [
    session.exec("1", untyped({ limit: {} })),
    session.exec("1", { limits: { max_execution_ms: -5 } }),
    session.exec("1", untyped({ limits: { max_find_result: 5 } })),
    session.exec("1", untyped({ signal: 5 })),
    session.dryRun("1", untyped({ limits: { max_execution_ms: 0.5 } })),
    session.query("what?", untyped({ maxSection: 3 })),
    session.query("what?", untyped({ searchStrategy: "best" })),
    session.load({ text: "a", name: "a" }, untyped({ root: ["/"] })),
    Reflect.apply(session.load, session, [{ text: "a" }]),
    session.resume(untyped({ signals: 1 })),
  ].map(refusalOf);
  expect(await Promise.all(refusals)).toEqual([
    expect.stringMatching(/^exec\(\): unknown option limit; did you mean limits\? \|/),
    expect.stringMatching(/^exec\(\): limits.max_execution_ms must be a whole number from 1, and is -5 \|/),
    expect.stringMatching(/^exec\(\): unknown option limits.max_find_result; did you mean max_find_results\? \|/),
    expect.stringMatching(/^exec\(\): signal must be an AbortSignal, and is 5 \|/),
    expect.stringMatching(/^dryRun\(\): limits.max_execution_ms must be a whole number from 1, and is 0.5 \|/),
    expect.stringMatching(/^query\(\): unknown option maxSection; did you mean maxSections\? \|/),
    expect.stringMatching(
      /^query\(\): searchStrategy must be one of regex, bm25, routing, auto, and is another text \|/,
    ),
    expect.stringMatching(/^load\(\): unknown option root; did you mean roots\? \|/),
    expect.stringMatching(
      /^load\(\): the argument must be a path, an object with text and name, or one with paths, and is of type object/,
    ),
    expect.stringMatching(/^resume\(\): unknown option signals; did you mean signal\? \|/),
  ]);
  expect(await session.exec("1")).toMatchObject({ success: true });
});

test.each([
  [{ maxTurn: 3 }, /^ask\(\): unknown option maxTurn; did you mean maxTurns\? \| Options here are model, subModel, /],
  [{ sub_model: "a/b" }, /^ask\(\): unknown option sub_model; did you mean subModel\?/],
  [{ maxTurns: 0 }, /^ask\(\): maxTurns must be a whole number from 1 to 100, and is 0 \|/],
  [{ maxTurns: 101 }, /^ask\(\): maxTurns must be a whole number from 1 to 100, and is 101 \|/],
  [{ turnTokens: "9" }, /^ask\(\): turnTokens must be a whole number from 1, and is another text \|/],
  [{ protocol: "fences" }, /^ask\(\): protocol must be one of auto, tools, fence, and is another text \|/],
  [{ model: "" }, /^ask\(\): model must be a text that is not empty, and is empty \|/],
  [{ maxDepth: 6 }, /^ask\(\): maxDepth must be a whole number from 0 to 5, and is 6 \|/],
  [{ suspend: true }, /^ask\(\): suspend must be an AbortSignal, and is true \|/],
  [{ trajectory: 1 }, /^ask\(\): trajectory must be true or false, and is 1 \|/],
])("ask refuses %j, and nothing is begun", async (options, refusal) => {
  await using session = await openSession();
  expect(await refusalOf(session.ask("Which?", untyped(options)))).toMatch(refusal);
  expect(await refusalOf(Reflect.apply(session.ask, session, [5]))).toBe("the question is number | Pass a text.");
  expect(session.unfinished()).toBeNull();
});

test("a store refuses options that it does not know", async () => {
  await using store = await openStore(folderWith());
  expect(await refusalOf(store.fork("a", untyped({ nane: "b" })))).toMatch(/^fork\(\): unknown option nane; did you/);
  expect(await refusalOf(store.collect(untyped({ dryrun: true })))).toMatch(
    /unknown option dryrun; did you mean dryRun/,
  );
  expect(await refusalOf(store.collect({ namedMs: -1 }))).toMatch(/namedMs must be a number of milliseconds from 0/);
});

test("the types refuse a name without a store, and options that there are not", () => {
  const calls = [
    // @ts-expect-error there is no store
    () => openSession({ session: "x" }),
    // @ts-expect-error it is called store
    () => openSession({ stroe: "x" }),
    // @ts-expect-error it is called max_execution_ms
    () => openSession({ limits: { max_execution: 5 } }),
    () => openSession({ store: "folder", session: "x" }),
    () => openSession({ store: "folder" }),
  ];
  expect(calls).toHaveLength(5);
});

test("an error of a caller that nobody catches prints its code, its message and its suggestion, and nothing of a guest's", async () => {
  const error = await openSession({ model: "m" }).catch((thrown: unknown) => thrown);
  const printed = inspect(error);
  expect(printed).toMatch(/^RlmError: openSession\(\): model must be/);
  expect(printed).toContain("code: 'invalid_argument'");
  expect(printed).toContain("suggestion: 'Correct it, or leave it out.'");
  expect(printed).not.toMatch(/guestName|retriable/);
});
