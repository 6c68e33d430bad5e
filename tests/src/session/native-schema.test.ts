import { expect, onTestFinished, test } from "vitest";
import { openSession, type SessionOptions } from "../../../src/index.ts";
import { type ModelScript, type SeenRequest, startModelServer } from "../../support/model-server.ts";

const ASK = `result = await llm_query("How many?", { tools: [], schema: SCHEMA })`;
const SCHEMA = `{ type: "object", properties: { n: { type: "integer" } }, required: ["n"] }`;
const cell = (code: string) => code.replaceAll("SCHEMA", SCHEMA);

async function opened(script: ModelScript, options: SessionOptions = {}) {
  const server = await startModelServer(script);
  const session = await openSession({ model: "local/m", baseUrl: server.url, ...options });
  onTestFinished(async () => {
    await session.close();
    await server.close();
  });
  return { server, session };
}

const hasForm = ({ sent }: SeenRequest) => sent.includes('"response_format"');
const refusal = { status: 400, body: '{"error":{"message":"response_format is not supported"}}' };

test("a refused form costs nothing, and is asked for neither by other calls nor by other sessions of the process", async () => {
  const script: ModelScript = (request) => (hasForm(request) ? refusal : { text: '{"n":3}' });
  const { server, session } = await opened(script);
  const one = await session.exec(cell(ASK));
  expect(one).toMatchObject({ success: true, result_json: { n: 3 }, warnings: [] });
  expect(server.requests.map(hasForm)).toEqual([true, false]);
  await session.exec(cell(`await llm_query_batch(["a", "b"], { tools: [], schema: SCHEMA })`));
  const other = await openSession({ model: "local/m", baseUrl: server.url });
  await other.exec(cell(ASK));
  await other.close();
  expect(server.requests.slice(2).map(hasForm)).toEqual([false, false, false]);
  expect(session.budget()).toMatchObject({ remaining_sub_calls: expect.any(Number) });
});

test("calls that are under way when the form is refused are all sent again without it", async () => {
  const { server, session } = await opened((request) => (hasForm(request) ? refusal : { text: '{"n":3}' }));
  const prompts = cell(`result = (await llm_query_batch(["a", "b", "c"], { tools: [], schema: SCHEMA })).results`);
  expect(await session.exec(prompts)).toMatchObject({ result_json: [{ n: 3 }, { n: 3 }, { n: 3 }], warnings: [] });
  expect(server.requests.filter((request) => !hasForm(request))).toHaveLength(3);
});

test("a call with tools gets the form of a local server in its repair, which has no tools", async () => {
  const { server, session } = await opened([{ text: "three" }, { text: '{"n":3}' }]);
  const cellOf = cell(`result = await llm_query("How many?", { schema: SCHEMA })`);
  expect(await session.exec(cellOf)).toMatchObject({ result_json: { n: 3 } });
  expect(server.requests.map(hasForm)).toEqual([false, true]);
  expect(server.requests.map(({ body }) => body.tools?.length ?? 0)).toEqual([4, 0]);
});

test("a limit that white space has filled is asked for once more without the form", async () => {
  const { server, session } = await opened([
    { text: `{"n":${" \n".repeat(200)}`, finish: "length" },
    { text: '{"n":3}' },
  ]);
  expect(await session.exec(cell(ASK))).toMatchObject({ result_json: { n: 3 } });
  expect(server.requests.map(hasForm)).toEqual([true, false]);
  expect(server.requests[1]?.body.messages).toEqual(server.requests[0]?.body.messages);
});

test.each<[string, form: boolean]>([
  ["schema", false],
  ["cache, schema@local/m", false],
  ["schema@local/*", false],
  ["schema@local/other,cache", true],
  ["schema@openai/*", true],
])("leaveOut %s", async (leaveOut, form) => {
  const { server, session } = await opened([{ text: '{"n":3}' }], { leaveOut });
  expect(await session.exec(cell(ASK))).toMatchObject({ result_json: { n: 3 } });
  expect(server.requests.map(hasForm)).toEqual([form]);
});

test("what is not a part, and parts beside complete, are refused", async () => {
  for (const leaveOut of ["form", "schema@m", "schema,"])
    await expect(openSession({ model: "local/m", leaveOut })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^leaveOut: .* is not a part that can be left out$/),
      suggestion: expect.stringContaining("PART@PROVIDER/ID"),
    });
  await expect(openSession({ complete: async () => "", leaveOut: "schema" })).rejects.toMatchObject({
    message: "openSession(): leaveOut has no effect beside complete, which answers all requests",
  });
});
