import { expect, test } from "vitest";
import type { SessionFunction } from "../../../src/session/option-types.ts";
import { openSession } from "../../../src/session/session.ts";

const GOOD: SessionFunction = {
  ...{ description: "Looks up.", parameters: { type: "object" }, effects: "none" },
  run: () => null,
};

const opening = (functions: object) => {
  // What a program in JavaScript may pass.
  const options = JSON.parse("{}");
  return openSession(Object.assign(options, { functions }));
};

test.each([
  ["llm_query", "functions.llm_query has the name of a builtin or a global"],
  ["SubAgentError", "functions.SubAgentError has the name of a builtin or a global"],
  ["functions", "functions.functions has the name of a builtin or a global"],
  ["Promise", "functions.Promise has the name of a builtin or a global"],
  ["result", "functions.result has the name of a builtin or a global"],
  ["await", "functions.await is not an identifier"],
  ["let", "functions.let is not an identifier"],
  ["fetch-page", "functions.fetch-page is not an identifier"],
  ["a.b", "functions.a.b is not an identifier"],
  ["", "functions. is not an identifier"],
  ["x".repeat(65), `functions.${"x".repeat(65)} is not an identifier`],
  ["__proto__", "functions.__proto__ has the name of a builtin or a global"],
  ["valueOf", "functions.valueOf has the name of a builtin or a global"],
])("a function cannot be named %j", async (name, message) => {
  const functions = Object.fromEntries([[name, GOOD]]);
  await expect(opening(functions)).rejects.toMatchObject({
    code: "invalid_argument",
    message: `openSession(): ${message}`,
  });
});

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

test.each<[string, object, string]>([
  ["no effects", { ...GOOD, effects: undefined }, "functions.lookUp.effects must be one of none, idempotent, once"],
  ["no run", { ...GOOD, run: 1 }, "functions.lookUp.run must be a function, and is 1"],
  ["a misspelt option", { ...GOOD, timeout: 1 }, "unknown option functions.lookUp.timeout; did you mean timeoutMs?"],
  ["a wrong schema", { ...GOOD, parameters: { type: "url" } }, "functions.lookUp.parameters: schema is wrong at /type"],
  ["no plain data", { ...GOOD, parameters: cyclic }, "the parameters of a function are no JSON"],
])("%s is refused when the session is opened", async (_what, lookUp, message) => {
  await expect(opening({ lookUp })).rejects.toMatchObject({
    ...{ code: "invalid_argument", message: expect.stringContaining(message), suggestion: expect.any(String) },
  });
});

test("no function can have a name that a fresh guest has, and each other name can be used", async () => {
  const bare = await openSession();
  const { result_json } = await bare.exec("Object.getOwnPropertyNames(globalThis)");
  await bare.close();
  const names = (Array.isArray(result_json) ? result_json : []).map(String);
  expect(names.length).toBeGreaterThan(90);
  for (const name of names)
    await expect(opening({ [name]: GOOD }), name).rejects.toMatchObject({ code: "invalid_argument" });
  await using session = await openSession({ functions: { fetch: GOOD, $: GOOD, constructor_: GOOD } });
  expect(await session.exec("[await fetch({}), await $(), await constructor_({})]")).toMatchObject({
    result_json: [null, null, null],
  });
});
