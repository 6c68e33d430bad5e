import { expect, test } from "vitest";
import type { Model, Models } from "../../../../src/models/index.ts";
import { begin } from "../../../../src/session/ask/ask.ts";
import type { SessionParts } from "../../../../src/session/parts.ts";

/** Models of which each has this window. */
function modelsOf(window: number | null): Models {
  const resolve = (name: string | null): Model => {
    const complete = () => Promise.reject(new Error("nothing is sent"));
    return { id: name ?? "local/root", price: null, window, complete };
  };
  return { fallback: "local/sub", resolve, price: () => null };
}

const askModels = { sign: (models: object) => ({ ...models, by: "this user" }), foreign: () => null };
const sessionWith = (parts: object): SessionParts =>
  Object.assign(Object.create(null), {
    functions: [],
    env: { models: modelsOf(null) },
    rules: { depth: 0, maxDepth: 2 },
    answers: {},
    askModels,
    ...parts,
  });
const session = sessionWith({});
/** A session that is a child. */
const child = sessionWith({ rules: { depth: 1, maxDepth: 3 } });

test.each([
  [null, 400_000],
  [1_000_000, 400_000],
  [32_768, 65_536],
])("of a model with a window of %j tokens the conversation takes %i characters", async (window, history_chars) => {
  const settings = { history_chars };
  expect(await begin("Which?", {}, sessionWith({ env: { models: modelsOf(window) } }))).toMatchObject({ settings });
});

test.each([
  [{}, { depth: 0, max_depth: 2 }],
  [{ maxDepth: 0 }, { depth: 0, max_depth: 0 }],
  [{ maxDepth: 5 }, { depth: 0, max_depth: 5 }],
])("an ask with %j records its depth and how deep children may be", async (options, settings) => {
  expect(await begin("Which?", options, session)).toMatchObject({ settings });
});

test.each([
  [{}, { thinking: "off", turn_tokens: 16_000 }],
  [{ thinking: "medium" }, { thinking: "medium", turn_tokens: 16_000 }],
  [{ thinking: "high" }, { thinking: "high", turn_tokens: 32_384 }],
  [
    { thinking: "max", turnTokens: 9000 },
    { thinking: "max", turn_tokens: 9000 },
  ],
] as const)("an ask with %j records its level of thinking, and has room for it", async (options, settings) => {
  expect(await begin("Which?", options, session)).toMatchObject({ settings });
});

test("an ask that names no level of thinking takes the session's", async () => {
  expect(await begin("Which?", {}, sessionWith({ answers: { thinking: "low" } }))).toMatchObject({
    settings: { thinking: "low" },
  });
});

test("the ask of a child records the child's depth", async () => {
  const settings = { depth: 1, max_depth: 3 };
  expect(await begin("Which?", {}, child)).toMatchObject({ settings });
});

test("the models of an ask are signed; those of a child are not, since its caller has named them", async () => {
  const signed = { model: "local/a", sub_model: "local/sub", by: "this user" };
  expect(await begin("Which?", { model: "local/a" }, session)).toMatchObject({ signed });
  expect(await begin("Which?", {}, child)).not.toHaveProperty("signed");
});

test.each([
  [[], "the answer's schema is not an object"],
  [true, "the answer's schema is not an object"],
  [{ type: "nope" }, "the answer's schema is wrong at /type"],
  [{ $ref: "#/x" }, "the answer's schema has a $ref that does not lead to a schema in it: #/x"],
])("an ask does not begin with the schema %j", async (schema, problem) => {
  const refused = { code: "invalid_argument", message: expect.stringContaining(problem) };
  await expect(begin("Which?", { schema }, session)).rejects.toMatchObject(refused);
});
